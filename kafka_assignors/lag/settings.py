"""The settings a lag fetcher takes from a consumer's configuration.  Pure: no connection, no name lookup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from socket import AF_INET6, inet_pton
from typing import Any

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.arithmetic import Reset
from kafka_assignors.validators import instance, is_port, number, one_of, positive, required, text, wrong

_CONNECTION = (
    *("bootstrap_servers", "client_id", "client_dns_lookup", "api_version", "proxy_url", "socks5_proxy"),
    *("request_timeout_ms", "retry_backoff_ms", "reconnect_backoff_ms", "reconnect_backoff_max_ms"),
    *("connections_max_idle_ms", "metadata_max_age_ms", "receive_message_max_bytes"),
    *("receive_buffer_bytes", "send_buffer_bytes", "socket_options", "selector"),
)
SECURITY = (
    *("security_protocol", "sasl_mechanism", "sasl_plain_username", "sasl_plain_password"),
    *("sasl_kerberos_name", "sasl_kerberos_service_name", "sasl_kerberos_domain_name"),
    *("sasl_oauth_token_provider", "ssl_context", "ssl_check_hostname", "ssl_cafile", "ssl_certfile"),
    *("ssl_keyfile", "ssl_password", "ssl_crlfile"),
)
_NOT_OF_CONNECTIONS = ("ssl_ciphers",)
"""Accepted by kafka-python's consumer, but unused by its connections."""

_SECRET = ("sasl_plain_password", "ssl_password", "proxy_url", "socks5_proxy")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_RESETS: dict[str, Reset] = {
    "earliest": "earliest",
    "smallest": "earliest",
    "none": "earliest",
    "latest": "latest",
    "largest": "latest",
}
_PROXIES = ("socks5", "socks5h", "http")
_ISOLATION = {"read_uncommitted": 0, "read_committed": 1}


class _Secret(str):
    """Text that kafka-python uses unchanged, but whose repr is hidden when it logs a configuration."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The settings of a lag fetcher."""

    client: Mapping[str, Any]  # keyword arguments for kafka-python's admin client; its repr hides secrets
    group_id: str  # the group whose commits are fetched
    reset: Reset  # where the group's consumers start without a commit; ``none`` counts as earliest
    isolation: int  # the end offset is the high watermark (0) or the last stable offset (1)
    request_timeout_ms: float  # longest time of a single request
    retry_backoff_ms: float  # pause before the first retry


def fetch_settings(
    consumer_config: Mapping[str, Any], group_id: str | None, auto_offset_reset: str | None
) -> FetchSettings:
    """Select the settings that concern lag from a consumer's configuration.

    Args:
        consumer_config: keyword arguments of ``KafkaConsumer``.  Settings that concern neither the connection
            nor the group are ignored.
        group_id: overrides the configuration's.
        auto_offset_reset: overrides the configuration's; ``earliest``, ``latest`` or ``none``.

    Raises:
        OptionError: a missing or invalid value.  Names the field, and never shows a secret.
    """
    given = dict(consumer_config)
    for name in given:
        instance("consumer_config", name, str, "names of settings")
        # Ignoring a misspelt setting would connect with less security than the user asked for.
        if name.startswith(("ssl_", "sasl_", "security_")) and name not in (*SECURITY, *_NOT_OF_CONNECTIONS):
            raise OptionError(name, "KafkaConsumer has no such setting")
    client = {name: given[name] for name in (*_CONNECTION, *SECURITY) if name in given}
    for name in _SECRET:
        if isinstance(client.get(name), str):
            client[name] = _Secret(client[name])
    check_servers(client.get("bootstrap_servers", "localhost"))
    for name in ("proxy_url", "socks5_proxy"):
        # kafka-python's error for an unknown scheme shows the whole URL, with its password.
        scheme = str(client.get(name) or "socks5://").partition("://")[0].lower()
        if scheme not in _PROXIES:
            schemes = ", ".join(f"{proxy}://" for proxy in _PROXIES)
            raise OptionError(name, f"expected to begin with one of {schemes}")
    check_security(client)
    return FetchSettings(
        client=client,
        group_id=_group_id(given.get("group_id") if group_id is None else group_id),
        # The default is kafka-python's own.
        reset=_reset(
            given.get("auto_offset_reset", "latest") if auto_offset_reset is None else auto_offset_reset
        ),
        isolation=_isolation(given.get("isolation_level", "read_uncommitted")),
        request_timeout_ms=positive(
            "request_timeout_ms", given.get("request_timeout_ms", 30_000), "milliseconds"
        ),
        retry_backoff_ms=number("retry_backoff_ms", given.get("retry_backoff_ms", 100), unit="milliseconds"),
    )


def _group_id(value: object) -> str:
    if value is None:
        raise OptionError("group_id", "missing: lag belongs to a group; set group_id")
    return text("group_id", value)


def _reset(value: Any) -> Reset:
    # kafka-python accepts any case.
    if (reset := _RESETS.get(str(value).lower())) is None:
        raise wrong("auto_offset_reset", "one of earliest, latest, none", value)
    return reset


def _isolation(value: object) -> int:
    if type(value) is int and value in _ISOLATION.values():
        return value
    return _ISOLATION[one_of("isolation_level", str(value).lower().replace("-", "_"), _ISOLATION)]


_IN_BRACKETS = re.compile(r"\[[^\[\]]+\](:[0-9]+)?")


def check_servers(value: object) -> None:
    """Check that kafka-python accepts the addresses.  Raises OptionError."""
    servers = value.split(",") if isinstance(value, str) else value
    if not isinstance(servers, (list, tuple, set, frozenset)) or not servers:
        raise wrong("bootstrap_servers", "HOST:PORT, or a list of these", value)
    for server in servers:
        address = server.rpartition("://")[2].strip() if isinstance(server, str) else ":"
        _, colon, port = address.rpartition(":")
        if (address.startswith("[") and not _IN_BRACKETS.fullmatch(address)) or (
            colon and "]" not in port and not is_port(port) and not _is_ipv6(address)
        ):
            raise wrong("bootstrap_servers", "HOST:PORT", server)


def _is_ipv6(address: str) -> bool:
    """Whether an address is IPv6 without brackets, so that it has no port."""
    with suppress(OSError, ValueError):
        return bool(inet_pton(AF_INET6, address))
    return False


def check_security(client: Mapping[str, Any]) -> None:
    """Check for errors that kafka-python would report as a failed connection.  Raises OptionError."""
    protocol = one_of("security_protocol", client.get("security_protocol", "PLAINTEXT"), PROTOCOLS)
    if not protocol.startswith("SASL"):
        return
    required(client, f"security_protocol {protocol}", "sasl_mechanism")
    mechanism = client["sasl_mechanism"]
    if mechanism in WITH_PASSWORD:
        required(client, f"sasl_mechanism {mechanism}", "sasl_plain_username", "sasl_plain_password")
    if mechanism == "OAUTHBEARER":
        required(client, f"sasl_mechanism {mechanism}", "sasl_oauth_token_provider")
