"""A broker with a listener for passwords (PLAIN, SCRAM) and a listener for certificates."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from kafka_assignors.broker.ports import HOST
from tests.integration.own_broker import Ports, listener_settings, own_broker

USER, PASSWORD = "reader", "pa55word-of-the-reader"
AWKWARD = "pa55word-\"of\\n the'reader; é=//x"
"""Characters that a login configuration could read as an end, an escape, or a comment."""
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True)
class Secured:
    """A running broker, and the addresses of its listeners."""

    bootstrap: str
    sasl: str  # with passwords
    tls: str  # with certificates
    certificates: Path  # the folder with ``ca.pem``, ``client.pem`` and ``client.key``

    def login(self, mechanism: str, password: str) -> dict[str, Any]:
        """Return connection settings for the listener with passwords."""
        return {
            "bootstrap_servers": [self.sasl],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": mechanism,
            "sasl_plain_username": USER,
            "sasl_plain_password": password,
        }

    def certified(self) -> dict[str, Any]:
        """Return connection settings for the listener with certificates."""
        return {
            "bootstrap_servers": [self.tls],
            "security_protocol": "SSL",
            "ssl_cafile": str(self.certificates / "ca.pem"),
            "ssl_certfile": str(self.certificates / "client.pem"),
            "ssl_keyfile": str(self.certificates / "client.key"),
        }


@contextmanager
def secured_broker(certificates: Path) -> Iterator[Secured]:
    """Run a broker for the length of a ``with`` block; write its certificates to a folder."""
    _certify(certificates)
    stores = {"keystore": str(certificates / "server.both.pem"), "truststore": str(certificates / "ca.pem")}

    def properties(ports: Ports) -> dict[str, str]:
        advertised = {name: ports[name] for name in ("PLAINTEXT", "SASL", "TLS")}
        settings = {
            **listener_settings(ports, advertised, SASL="SASL_PLAINTEXT", TLS="SSL"),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "listener.name.sasl.plain.sasl.jaas.config": f'{_LOGIN} required user_{USER}="{PASSWORD}";',
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "listener.name.tls.ssl.client.auth": "required",
        }
        for store, path in stores.items():
            settings[f"listener.name.tls.ssl.{store}.type"] = "PEM"
            settings[f"listener.name.tls.ssl.{store}.location"] = path
        return settings

    with own_broker(("PLAINTEXT", "CONTROLLER", "SASL", "TLS"), properties) as ports:
        plain, sasl, tls = (f"{HOST}:{ports[door]}" for door in ("PLAINTEXT", "SASL", "TLS"))
        with KafkaAdminClient(bootstrap_servers=plain) as admin:
            admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion(USER, ScramMechanism.SCRAM_SHA_512, AWKWARD)]
            )
        yield Secured(plain, sasl, tls, certificates)


def _certify(folder: Path) -> None:
    """Create an authority, and its certificates for a server on loopback and for a client."""
    (folder / "names").write_text(f"subjectAltName=IP:{HOST},DNS:localhost\n", encoding="ascii")
    new = "req -newkey rsa:2048 -nodes"
    _openssl(folder, f"{new} -x509 -days 2 -subj /CN=ca -keyout ca.key -out ca.pem")
    signed = "-CA ca.pem -CAkey ca.key -CAcreateserial -extfile names"
    for who in ("server", "client"):
        _openssl(folder, f"{new} -subj /CN={who} -keyout {who}.key -out {who}.csr")
        _openssl(folder, f"x509 -req -days 2 -in {who}.csr -out {who}.pem {signed}")
        both = "".join((folder / f"{who}.{part}").read_text(encoding="ascii") for part in ("key", "pem"))
        (folder / f"{who}.both.pem").write_text(both, encoding="ascii")


def _openssl(folder: Path, words: str) -> None:
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
