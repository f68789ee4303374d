"""A connection's settings as the connector of Spark takes them."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.connection import connection_settings
from kafka_assignors.pipeline.connector import connector_options

SECRET = "pa55word"  # noqa: S105  # of nobody
SERVERS = {"bootstrap_servers": ["a:1", "b:2"]}
SASL = {"security_protocol": "SASL_PLAINTEXT", "sasl_plain_username": "u", "sasl_plain_password": SECRET}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----\nBB==\n-----END PRIVATE KEY-----"
LOCKED = KEY.replace("PRIVATE", "ENCRYPTED PRIVATE")
FILES = {
    "cert": f"subject=/CN=c\n{CERTIFICATE}\n{CERTIFICATE}\n",
    "key": KEY + "\n",
    "locked": LOCKED,
    "both": f"{KEY}\n{CERTIFICATE}\n",
    "rsa": KEY.replace("PRIVATE", "RSA PRIVATE"),
    "ec": KEY.replace("PRIVATE", "EC PRIVATE"),
}


def read(path: str) -> str:
    try:
        return FILES[path]
    except KeyError:
        raise FileNotFoundError(2, "No such file or directory") from None


def options(**settings: Any) -> dict[str, str]:
    return connector_options({**SERVERS, **settings}, read)


def test_plaintext_without_login() -> None:
    assert options() == {"kafka.bootstrap.servers": "a:1,b:2", "kafka.security.protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("localhost", "localhost:9092"),
        (["::1", "[::1]:9093"], "[::1]:9092,[::1]:9093"),
        ("PLAINTEXT://a:1, b,", "a:1,b:9092"),
    ],
)
def test_addresses_that_kafka_python_takes_are_completed_for_java(servers: Any, expected: str) -> None:
    assert options(bootstrap_servers=servers)["kafka.bootstrap.servers"] == expected


@pytest.mark.parametrize("servers", [",", ":9092", [""], "https://"])
def test_addresses_without_any_host_are_refused(servers: Any) -> None:
    with pytest.raises(OptionError, match="bootstrap_servers"):
        options(bootstrap_servers=servers)


def test_properties_of_java_clients_round_trip() -> None:
    """A file for Java's clients comes out as it went in."""
    settings = connection_settings(
        "a:1",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": 'x.ScramLoginModule required username="u" password="p\\"w";',
            "ssl.endpoint.identification.algorithm": "",
        },
        {},
    )
    assert connector_options(settings) == {
        "kafka.bootstrap.servers": "a:1",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p\\"w";'
        ),
        "kafka.ssl.endpoint.identification.algorithm": "",
    }


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_user_and_password(mechanism: str, module: str) -> None:
    found = options(**SASL, sasl_mechanism=mechanism)
    assert found["kafka.sasl.mechanism"] == mechanism
    assert found["kafka.sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.{module} required username="u" password="{SECRET}";'
    )


@pytest.mark.parametrize(
    ("password", "quoted"),
    [('a"; x', r'"a\"; x"'), ("a\\", r'"a\\"'), ("a\nb\r", r'"a\nb\r"'), ("é'=#//", '"é\'=#//"')],
)
def test_special_characters_of_a_password_are_quoted(password: str, quoted: str) -> None:
    found = options(**{**SASL, "sasl_plain_password": password}, sasl_mechanism="PLAIN")
    assert found["kafka.sasl.jaas.config"].endswith(f" password={quoted};")


def test_kerberos_options_reach_the_connector() -> None:
    found = options(security_protocol="SASL_SSL", sasl_mechanism="GSSAPI", sasl_kerberos_service_name="k")
    assert found["kafka.sasl.kerberos.service.name"] == "k"
    assert "Krb5LoginModule required useTicketCache=true;" in found["kafka.sasl.jaas.config"]


def test_tls_with_certificate_and_key_in_two_files() -> None:
    found = options(security_protocol="SSL", ssl_cafile="ca", ssl_certfile="cert", ssl_keyfile="key")
    assert found == {
        **options(security_protocol="SSL"),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "ca",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": f"{CERTIFICATE}\n{CERTIFICATE}",
        "kafka.ssl.keystore.key": KEY,
    }


@pytest.mark.parametrize("files", [{"ssl_certfile": "both"}, {"ssl_certfile": "both", "ssl_keyfile": "both"}])
def test_key_in_the_certificate_file_is_not_an_option(files: dict[str, str]) -> None:
    found = options(security_protocol="SSL", **files)
    assert found["kafka.ssl.keystore.location"] == "both"
    assert "BB==" not in str(found)


def test_encrypted_key_needs_its_password() -> None:
    settings = {"security_protocol": "SSL", "ssl_certfile": "cert", "ssl_keyfile": "locked"}
    assert options(**settings, ssl_password=SECRET)["kafka.ssl.key.password"] == SECRET
    with pytest.raises(OptionError, match="encrypted") as caught:
        options(**settings)
    assert caught.value.option == "ssl_password"


def test_tls_settings_without_tls_are_ignored() -> None:
    """As kafka-python does with such settings: they have no effect."""
    assert options(ssl_cafile="ca", ssl_certfile="nowhere") == options()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"bootstrap_servers": []}, "bootstrap_servers"),
        ({"bootstrap_servers": "a:one"}, "bootstrap_servers"),
        ({"security_protocol": "TLS"}, "security_protocol"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"}, "sasl_mechanism"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}, "sasl_mechanism"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        ({**SASL, "sasl_mechanism": "PLAIN", "sasl_plain_username": ""}, "sasl_plain_username"),
        ({"sasl_kerberos_domain_name": "d"}, "sasl_kerberos_domain_name"),
        ({"ssl_crlfile": "crl"}, "ssl_crlfile"),
        ({"ssl_context": object()}, "ssl_context"),
        ({"proxy_url": f"http://u:{SECRET}@h"}, "proxy_url"),
        ({"socks5_proxy": f"socks5://u:{SECRET}@h"}, "socks5_proxy"),
        ({"ssl_keyfil": "typo"}, "ssl_keyfil"),
        ({"security_protocol": "SSL", "ssl_keyfile": "key"}, "ssl_certfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "cert"}, "ssl_certfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "key", "ssl_keyfile": "key"}, "ssl_certfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "cert", "ssl_keyfile": "cert"}, "ssl_keyfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "cert", "ssl_keyfile": "rsa"}, "ssl_keyfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "cert", "ssl_keyfile": "ec"}, "ssl_keyfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "nowhere", "ssl_keyfile": "key"}, "ssl_certfile"),
        ({"security_protocol": "SSL", "ssl_certfile": "cert", "ssl_keyfile": "nowhere"}, "ssl_keyfile"),
    ],
)
def test_error_names_the_unsupported_setting_without_secrets(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError) as caught:
        options(**settings)
    assert caught.value.option == named
    assert SECRET not in str(caught.value)
    assert "BB==" not in str(caught.value)
