from __future__ import annotations

from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer
from kafka.cluster import collect_hosts

from kafka_assignors.errors import OptionError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.lag import settings as module
from kafka_assignors.lag.settings import FetchSettings, fetch_settings

SECRET = "hunter2" + "-and-more"


def read(config: dict[str, Any], group_id: str | None = None, reset: str | None = None) -> FetchSettings:
    return fetch_settings({"group_id": "g", **config}, group_id, reset)


def test_fetch_settings_take_connection_settings() -> None:
    others = {
        "max_poll_records": 5,
        "value_deserializer": bytes.decode,
        "partition_assignment_strategy": [object],
        "ssl_ciphers": "ALL",
        "metric_reporters": [object],
    }
    connection = {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "me",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "u",
        "sasl_plain_password": SECRET,
        "ssl_cafile": "ca.pem",
        "api_version": (3, 0),
    }
    client = read({**connection, **others}).client
    assert dict(client) == connection
    assert isinstance(client["sasl_plain_password"], str), "kafka-python joins and encodes it"


def test_defaults_are_the_consumers() -> None:
    settings = read({})
    assert (settings.reset, settings.isolation) == (KafkaConsumer.DEFAULT_CONFIG["auto_offset_reset"], 0)
    assert settings.request_timeout_ms == KafkaConsumer.DEFAULT_CONFIG["request_timeout_ms"]
    assert settings.retry_backoff_ms == KafkaConsumer.DEFAULT_CONFIG["retry_backoff_ms"]


def test_each_setting_exists_in_consumer_and_admin_client() -> None:
    """Pins kafka-python: a name that one of them drops would stop every fetch."""
    names = {*module._CONNECTION, *module.SECURITY}
    assert names <= set(KafkaAdminClient.DEFAULT_CONFIG)
    assert names <= set(KafkaConsumer.DEFAULT_CONFIG)
    security = {n for n in KafkaConsumer.DEFAULT_CONFIG if n.startswith(("ssl_", "sasl_", "security_"))}
    assert security == {*module.SECURITY, *module._NOT_OF_CONNECTIONS}


def test_arguments_override_the_configuration() -> None:
    settings = read({"auto_offset_reset": "latest"}, "other", "earliest")
    assert (settings.group_id, settings.reset) == ("other", "earliest")


@pytest.mark.parametrize(
    ("option", "given", "field", "value"),
    [
        ("auto_offset_reset", "earliest", "reset", "earliest"),
        ("auto_offset_reset", "EARLIEST", "reset", "earliest"),
        ("auto_offset_reset", "smallest", "reset", "earliest"),
        ("auto_offset_reset", "none", "reset", "earliest"),
        ("auto_offset_reset", "largest", "reset", "latest"),
        ("auto_offset_reset", "Latest", "reset", "latest"),
        ("isolation_level", "read_committed", "isolation", 1),
        ("isolation_level", 1, "isolation", 1),
        ("isolation_level", "READ_UNCOMMITTED", "isolation", 0),
        ("isolation_level", "read-committed", "isolation", 1),
        ("retry_backoff_ms", 0, "retry_backoff_ms", 0),
    ],
)
def test_consumers_values_by_all_their_names(option: str, given: object, field: str, value: object) -> None:
    assert getattr(read({option: given}), field) == value


SASL = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_password": SECRET}


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"group_id": None}, "group_id"),
        ({"group_id": ""}, "group_id"),
        ({"group_id": 3}, "group_id"),
        ({"auto_offset_reset": "middle"}, "auto_offset_reset"),
        ({"auto_offset_reset": ["latest"]}, "auto_offset_reset"),
        ({"isolation_level": "some"}, "isolation_level"),
        ({"isolation_level": True}, "isolation_level"),
        ({"request_timeout_ms": 0}, "request_timeout_ms"),
        ({"request_timeout_ms": "30"}, "request_timeout_ms"),
        ({"retry_backoff_ms": float("inf")}, "retry_backoff_ms"),
        ({"retry_backoff_ms": -1}, "retry_backoff_ms"),
        ({"bootstrap_servers": []}, "bootstrap_servers"),
        ({"bootstrap_servers": 9092}, "bootstrap_servers"),
        ({"bootstrap_servers": "host:port"}, "bootstrap_servers"),
        ({"bootstrap_servers": ["host:1", None]}, "bootstrap_servers"),
        ({"bootstrap_servers": "host:70000"}, "bootstrap_servers"),
        ({"bootstrap_servers": "2001:db8::a::b"}, "bootstrap_servers"),
        ({"bootstrap_servers": "[::1"}, "bootstrap_servers"),
        ({"bootstrap_servers": "[::1]9092"}, "bootstrap_servers"),
        ({"bootstrap_servers": "[]:1"}, "bootstrap_servers"),
        ({"security_protocol": "TLS"}, "security_protocol"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        (SASL, "sasl_plain_username"),
        ({**SASL, "sasl_mechanism": "OAUTHBEARER"}, "sasl_oauth_token_provider"),
        ({"sasl_passwort": SECRET}, "sasl_passwort"),
        ({"ssl_ca": "x"}, "ssl_ca"),
        ({"proxy_url": f"me:{SECRET}@proxy"}, "proxy_url"),
        ({"proxy_url": f"://me:{SECRET}@proxy:1"}, "proxy_url"),
        ({"proxy_url": f"socks_5://me:{SECRET}@proxy:1"}, "proxy_url"),
        ({3: 4}, "consumer_config"),
    ],
)
def test_invalid_setting_is_refused_by_name(config: dict[Any, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        LagFetcher({"group_id": "g", **config})
    assert caught.value.option == field
    assert SECRET not in str(caught.value)


def test_scheme_of_a_proxy_may_be_in_capitals() -> None:
    """As for kafka-python."""
    assert read({"proxy_url": "SOCKS5://proxy:1080"}).client["proxy_url"] == "SOCKS5://proxy:1080"


@pytest.mark.parametrize(
    "servers",
    [
        *("localhost", "a:1,b:2", ["a:1"], "[::1]:9092", "[::1]", "SASL_SSL://a:1", ("a", "b:5")),
        *("a:9092 , b:9092", "2001:db8::a", "SASL_SSL://a", ["SSL://2001:db8::a "]),
    ],
)
def test_addresses_are_accepted_as_by_kafka_python(servers: Any) -> None:
    assert read({"bootstrap_servers": servers}).client["bootstrap_servers"] == servers
    assert all(0 < port < 65536 for _, port, _ in collect_hosts(servers))


def test_repr_of_settings_hides_secrets() -> None:
    config = {
        **SASL,
        "sasl_plain_username": "u",
        "ssl_password": SECRET,
        "proxy_url": f"socks5://u:{SECRET}@p:1",
    }
    settings = read(config)
    fetcher = LagFetcher(config, group_id="g")
    texts = [repr(settings), str(settings), repr(dict(settings.client)), f"{settings.client}", repr(fetcher)]
    assert SECRET not in " ".join(texts)


def test_passed_configuration_is_not_changed() -> None:
    config = {**SASL, "sasl_plain_username": "u", "group_id": "g"}
    before = dict(config)
    LagFetcher(config)
    assert config == before
    assert type(config["sasl_plain_password"]) is str
