"""A connection's settings as Spark's Kafka connector takes them: Java's names for kafka-python's.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_assignors.errors import OptionError

__all__ = ["connector_options"]

_LOGIN = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;"
_NOT_IN_JAVA = ("proxy_url", "socks5_proxy", "ssl_crlfile", "sasl_kerberos_domain_name")


def connector_options(settings: Mapping[str, Any]) -> dict[str, str]:
    """Options for ``format("kafka")``.

    Certificates go as what they are, PEM: Java takes them so, and no key store has to be made.  Spark shows
    none of these options in plans or logs, and writes none to a checkpoint.

    Args:
        settings: as ``connection_settings`` makes them.

    Raises:
        OptionError: a setting that Java's client has no counterpart for.
    """
    for name in _NOT_IN_JAVA:
        if settings.get(name):
            raise OptionError(name, "Spark's Kafka connector, which runs Java's client, has no such setting")
    servers = settings["bootstrap_servers"]
    options = {
        "bootstrap.servers": servers if isinstance(servers, str) else ",".join(servers),
        "security.protocol": settings.get("security_protocol", "PLAINTEXT"),
    }
    if "client_id" in settings:
        options["client.id"] = settings["client_id"]
    if options["security.protocol"].endswith("SSL"):
        options |= _tls(settings)
    if options["security.protocol"].startswith("SASL"):
        options |= _sasl(settings)
    return {f"kafka.{name}": value for name, value in options.items()}


def _tls(settings: Mapping[str, Any]) -> dict[str, str]:
    options = {}
    if settings.get("ssl_check_hostname") is False:
        options["ssl.endpoint.identification.algorithm"] = ""
    if authority := settings.get("ssl_cafile"):
        options |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": _read("ssl_cafile", authority),
        }
    if certificate := settings.get("ssl_certfile"):
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _read("ssl_certfile", certificate),
            # OpenSSL's clients also take the key out of the certificate's file.
            "ssl.keystore.key": _read("ssl_keyfile", settings.get("ssl_keyfile") or certificate),
        }
        if password := settings.get("ssl_password"):
            options["ssl.key.password"] = str(password)
    return options


def _sasl(settings: Mapping[str, Any]) -> dict[str, str]:
    mechanism = settings["sasl_mechanism"]
    options = {"sasl.mechanism": mechanism}
    if mechanism in _LOGIN:
        user, password = (_quoted(settings[f"sasl_plain_{name}"]) for name in ("username", "password"))
        options["sasl.jaas.config"] = f"{_LOGIN[mechanism]} required username={user} password={password};"
    elif mechanism == "GSSAPI":
        options["sasl.kerberos.service.name"] = settings.get("sasl_kerberos_service_name", "kafka")
        options["sasl.jaas.config"] = _KERBEROS
    else:
        raise OptionError("sasl_mechanism", f"{mechanism} is not there for Spark's Kafka connector")
    return options


def _quoted(text: str) -> str:
    """A value in a JAAS line, where a quote or a backslash would end it early."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(name, f"cannot read {path!r} as PEM") from error
