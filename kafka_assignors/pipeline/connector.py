"""Connection settings as options of Spark's Kafka connector: kafka-python's names in, ``kafka.*`` out.

Rules:
- A security setting that the connector cannot take is an error.  Ignoring it would connect with less security
  than requested.
- Error messages contain no secrets.
- Kafka hides options with secrets in its log, and Spark redacts them in plans (see ``session.STREAMING``).
- The options contain a private key only if key and certificate are in different files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka.cluster import collect_hosts

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.settings import PROTOCOLS, SECURITY, check_servers
from kafka_assignors.validators import one_of, required, wrong

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ADMIN_LIMITS = {"default.api.timeout.ms": "30000", "request.timeout.ms": "10000"}
_LOGIN = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_UNMAPPED = {
    "ssl_crlfile": "Kafka's Java client checks no revocation list",
    "ssl_context": "only kafka-python has it: give ssl_cafile, ssl_certfile and ssl_keyfile",
    "proxy_url": "Kafka's Java client knows no proxy",
    "socks5_proxy": "Kafka's Java client knows no proxy",
    "sasl_kerberos_name": "only kafka-python has it: give sasl_kerberos_service_name",
    "sasl_kerberos_domain_name": "Kafka's Java client always takes the broker's host name",
    "sasl_oauth_token_provider": "only kafka-python has it",
}
_UNUSED = "ssl_ciphers"  # kafka-python's connections do not use it either, so ignoring it loses no security
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})  # in sasl.jaas.config
_CERTIFICATE = re.compile(r"-----BEGIN ([A-Z0-9 ]*)CERTIFICATE-----.*?-----END \1CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(r"-----BEGIN ((?:[A-Z0-9]+ )*)PRIVATE KEY-----.*?-----END \1PRIVATE KEY-----", re.DOTALL)


def _text_of(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def connector_options(settings: Mapping[str, Any], read: Callable[[str], str] = _text_of) -> dict[str, str]:
    """Return the options for ``spark.read.format("kafka")``, and for its streams and sinks.

    Args:
        settings: settings of ``KafkaConsumer``, or the result of ``connection_settings``.  Settings that are
            not about the connection are ignored.
        read: returns the text of a file.

    Raises:
        OptionError: a setting is missing or invalid, a file cannot be used, or the connector cannot take a
            setting.  The message names it, and contains no secret.
    """
    for name in sorted(name for name, value in settings.items() if value is not None):
        if name in _UNMAPPED:
            raise OptionError(name, f"Spark's Kafka connector has no such setting: {_UNMAPPED[name]}")
        if name.startswith(("ssl_", "sasl_", "security_")) and name not in (*SECURITY, _UNUSED):
            raise OptionError(name, "Spark's Kafka connector has no such setting")
    protocol = one_of("security_protocol", settings.get("security_protocol") or "PLAINTEXT", PROTOCOLS)
    options = {"bootstrap.servers": _servers(settings), "security.protocol": protocol}
    if settings.get("client_id"):
        options["client.id"] = str(settings["client_id"])
    if protocol.startswith("SASL"):
        options |= _sasl(settings)
    if protocol.endswith("SSL"):
        options |= _ssl(settings, read)
    return {f"kafka.{name}": value for name, value in options.items()}


@contextmanager
def admin_client(spark: SparkSession, kafka_options: Mapping[str, str]) -> Iterator[Any]:
    """Open an admin client in Spark's JVM with options of the connector.  A call waits up to 30 s."""
    jvm: Any = spark.sparkContext._jvm
    given = {name[6:]: value for name, value in kafka_options.items() if name.startswith("kafka.")}
    admin = jvm.org.apache.kafka.clients.admin.Admin.create({**_ADMIN_LIMITS, **given})
    try:
        yield admin
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(5))


def _servers(settings: Mapping[str, Any]) -> str:
    """Return the addresses as Java needs them: each with a port, and IPv6 in brackets."""
    required(settings, "the connection", "bootstrap_servers")
    check_servers(settings["bootstrap_servers"])
    hosts = collect_hosts(settings["bootstrap_servers"], randomize=False)
    servers = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port, _ in hosts if host]
    if not servers:
        raise wrong("bootstrap_servers", "HOST:PORT, or a list of these", settings["bootstrap_servers"])
    return ",".join(servers)


def _sasl(settings: Mapping[str, Any]) -> dict[str, str]:
    mechanism: Any = settings.get("sasl_mechanism")
    if mechanism == "GSSAPI":
        return {
            "sasl.mechanism": mechanism,
            "sasl.kerberos.service.name": settings.get("sasl_kerberos_service_name") or "kafka",
            "sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;",
        }
    one_of("sasl_mechanism", mechanism, (*_LOGIN, "GSSAPI"))
    required(settings, f"sasl_mechanism {mechanism}", "sasl_plain_username", "sasl_plain_password")
    user = str(settings["sasl_plain_username"]).translate(_ESCAPED)
    password = str(settings["sasl_plain_password"]).translate(_ESCAPED)
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{_LOGIN[mechanism]} required username="{user}" password="{password}";',
    }


def _ssl(settings: Mapping[str, Any], read: Callable[[str], str]) -> dict[str, str]:
    options = {}
    if settings.get("ssl_check_hostname") is False:
        options["ssl.endpoint.identification.algorithm"] = ""
    if cafile := settings.get("ssl_cafile"):
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(cafile)}
    if certfile := settings.get("ssl_certfile"):
        options |= _keystore(settings, str(certfile), read)
    elif settings.get("ssl_keyfile"):
        required(settings, "ssl_keyfile", "ssl_certfile")
    return options


def _keystore(settings: Mapping[str, Any], certfile: str, read: Callable[[str], str]) -> dict[str, str]:
    keyfile = str(settings.get("ssl_keyfile") or certfile)
    key_setting = "ssl_keyfile" if settings.get("ssl_keyfile") else "ssl_certfile"
    chain = [match[0] for match in _CERTIFICATE.finditer(_read("ssl_certfile", certfile, read))]
    if not chain:
        raise OptionError("ssl_certfile", f"there is no certificate in {certfile!r}")
    key = _KEY.search(_read(key_setting, keyfile, read))
    if key is None:
        raise OptionError(key_setting, f"there is no private key in {keyfile!r}")
    if key[1] not in ("", "ENCRYPTED "):
        raise OptionError(
            key_setting,
            f"the key in {keyfile!r} has to be PKCS#8: openssl pkcs8 -topk8 -in KEY -out NEW converts it",
        )
    options = {"ssl.keystore.type": "PEM"}
    if keyfile == certfile:
        options["ssl.keystore.location"] = certfile
    else:
        options |= {"ssl.keystore.certificate.chain": "\n".join(chain), "ssl.keystore.key": key[0]}
    if key[1]:  # with a password, Kafka tries to decrypt any key
        required(settings, f"the encrypted key in {keyfile!r}", "ssl_password")
        options["ssl.key.password"] = str(settings["ssl_password"])
    return options


def _read(name: str, path: str, read: Callable[[str], str]) -> str:
    try:
        return read(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text file"
        raise OptionError(name, f"cannot read {path!r}: {why}") from error
