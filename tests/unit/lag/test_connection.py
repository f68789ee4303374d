"""The sources of connection settings, and the checks before a connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.connection import connection_settings, read_properties

HOST = {"bootstrap_servers": ["h:1"]}


def refused(**properties: str) -> tuple[str, str]:
    """Return the refused setting and the reason."""
    with pytest.raises(OptionError) as error:
        connection_settings("h:1", properties, {})
    return error.value.option, error.value.reason


def test_bootstrap_alone_is_enough() -> None:
    assert connection_settings("a:1, b:2", {}, {}) == {"bootstrap_servers": ["a:1", "b:2"]}


def test_command_line_overrides_environment_overrides_file() -> None:
    properties = {"bootstrap.servers": "file:1", "client.id": "file"}
    environment = {"KAFKA_ASSIGNORS_BOOTSTRAP_SERVERS": "env:1", "KAFKA_ASSIGNORS_CLIENT_ID": "env"}
    assert connection_settings("line:1", properties, environment) == {
        "bootstrap_servers": ["line:1"],
        "client_id": "env",
    }
    assert connection_settings(None, properties, environment)["bootstrap_servers"] == ["env:1"]
    assert connection_settings(None, properties, {})["bootstrap_servers"] == ["file:1"]


def test_missing_bootstrap_shows_how_to_set_it() -> None:
    with pytest.raises(OptionError, match="give --bootstrap HOST:PORT, or --config FILE"):
        connection_settings(None, {}, {})


@pytest.mark.parametrize("address", ["h", "h:", ":1", "h:x", "h:0", "h:65536", "h:1,", "h:²", ""])
def test_malformed_address_is_refused(address: str) -> None:
    with pytest.raises(OptionError, match="expected HOST:PORT, got"):
        connection_settings(address, {}, {})


def test_consumers_own_properties_file_works() -> None:
    """Entries that do not concern the connection are ignored."""
    assert connection_settings("h:1", {"group.id": "g", "auto.offset.reset": "latest"}, {}) == HOST


@pytest.mark.parametrize(
    "user_and_password",
    [
        r"""username="al" password="s\"3=;" """,
        r"""username='al' password='s"3=;'""",
        r"""username=al password='s\"3=;'""",
    ],
)
def test_javas_names_are_accepted(user_and_password: str) -> None:
    jaas = f"org.apache.kafka.common.security.plain.PlainLoginModule required {user_and_password};"
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas,
        "ssl.endpoint.identification.algorithm": "",
    }
    assert connection_settings("h:1", properties, {}) == HOST | {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "al",
        "sasl_plain_password": 's"3=;',
        "ssl_check_hostname": False,
    }


def test_librdkafkas_names_are_accepted(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    properties = {
        "security.protocol": "sasl_ssl",
        "ssl.endpoint.identification.algorithm": "none",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "al",
        "sasl.password": "s3cret",
        "ssl.ca.location": str(ca),
    }
    assert connection_settings("h:1", properties, {}) == HOST | {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "al",
        "sasl_plain_password": "s3cret",
        "ssl_cafile": str(ca),
        "ssl_check_hostname": False,
    }


@pytest.mark.parametrize(("text", "means"), [("true", True), ("False", False)])
def test_ssl_check_hostname_is_true_or_false(text: str, means: bool) -> None:
    assert connection_settings("h:1", {"ssl.check.hostname": text}, {})["ssl_check_hostname"] is means


@pytest.mark.parametrize(
    ("properties", "option", "reason"),
    [
        (
            {"security_protocol": "TLS"},
            "security_protocol",
            "expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, got 'TLS'",
        ),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism", "missing, security_protocol SASL_SSL needs it"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
            "sasl_mechanism",
            "expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI, AWS_MSK_IAM, got 'OAUTHBEARER'",
        ),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "al"},
            "sasl_plain_password",
            "missing, sasl_mechanism PLAIN needs it",
        ),
        ({"ssl_cafile": "/no/such/file"}, "ssl_cafile", "no readable file '/no/such/file'"),
        ({"ssl_cafile": ""}, "ssl_cafile", "no readable file ''"),
        ({"ssl_cafle": "ca.pem"}, "ssl_cafle", "unknown; choose one of security_protocol, sasl_mechanism, "),
        (
            {"ssl_check_hostname": "perhaps"},
            "ssl_check_hostname",
            "expected one of true, false, got 'perhaps'",
        ),
    ],
)
def test_wrong_security_is_refused_by_name(properties: dict[str, str], option: str, reason: str) -> None:
    """kafka-python would fail without a reason, or (an unknown protocol) connect without security."""
    name, why = refused(**properties)
    assert name == option
    assert why.startswith(reason)


def test_errors_show_no_secrets() -> None:
    name, why = refused(**{"sasl.password": "s3cret", "security.protocol": "s"})
    assert "s3cret" not in name + why


def test_key_in_place_of_its_file_is_not_shown() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "s3cret" * 1000  # longer than any name of a file
    assert refused(ssl_keyfile=key) == ("ssl_keyfile", "no readable file '-----BEGIN PRIVATE KEY-----'")


def test_tls_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python would fail with the connection, as if no broker answered."""
    key = tmp_path / "key.pem"
    key.touch()
    monkeypatch.setattr("os.access", lambda *_: False)  # tests may run as root
    assert refused(ssl_keyfile=str(key)) == ("ssl_keyfile", f"no readable file {str(key)!r}")


def test_properties_are_parsed_as_java_does() -> None:
    text = (
        "# comment\n! another\n\n"
        "a=1\nb: 2\nc 3\n  d  =  4 = four\n"
        "long = one, \\\n       two\n"
        "path=C\\:\\\\x\\u0041\\t.\nface=\\ud83d\\ude00\n"
        "a\\=b=c\nempty=\r\nsecret=\u2028s\x853\rend=\\\\\nlast=x"
    )
    assert read_properties(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "4 = four",
        "long": "one, two",
        "path": "C:\\xA\t.",
        "face": "\N{GRINNING FACE}",
        "a=b": "c",
        "empty": "",
        "secret": "\u2028s\x853",
        "end": "\\",
        "last": "x",
    }


def test_byte_order_mark_hides_no_setting() -> None:
    """Some editors of Windows write one.  A hidden security setting would mean a connection without it."""
    assert read_properties("\ufeffsecurity.protocol=SSL") == {"security.protocol": "SSL"}


def test_environment_is_as_strict_as_a_file() -> None:
    settings = connection_settings("h:1", {}, {"KAFKA_ASSIGNORS_SASL_USERNAME": "al"})
    assert settings == HOST | {"sasl_plain_username": "al"}
    with pytest.raises(OptionError, match="ssl_cafle"):
        connection_settings("h:1", {}, {"KAFKA_ASSIGNORS_SSL_CAFLE": "x"})
