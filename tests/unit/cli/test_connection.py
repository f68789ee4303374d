"""The connection of a command: kept from reading to reading, and described in one line if it fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import (
    IllegalSaslStateError,
    InvalidReceiveError,
    KafkaConnectionError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
)

from kafka_assignors.cli import connection
from kafka_assignors.cli.connection import Connection, connection_error
from kafka_assignors.errors import BrokerError, LagUnreachableError

SETTINGS = {"bootstrap_servers": ["a:1", "b:2"]}


def test_command_that_reaches_no_broker_names_addresses_and_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> Any:
        raise LagUnreachableError("no broker answers: refused") from KafkaConnectionError("refused")

    monkeypatch.setattr(connection, "connect", connect)
    with pytest.raises(LagUnreachableError):
        Connection(SETTINGS).open(deadline=0)
    with pytest.raises(BrokerError) as failure:
        Connection(SETTINGS).reach()
    assert str(failure.value) == "no Kafka broker answers at a:1,b:2: KafkaConnectionError: refused"


class Links:
    """Makes links, and remembers how they end.  ``error``: why none of them can be refreshed."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.made: list[Any] = []
        self.ends: list[str] = []

    def connect(self, *_: object) -> Any:
        name = f"link {len(self.made)}"
        link = SimpleNamespace(
            run=self._refresh,
            shut=lambda: self.ends.append(f"shut {name}"),
            wait_shut=lambda _: self.ends.append(f"wait {name}"),
        )
        self.made.append(link)
        return link

    def _refresh(self, *_: object, **__: object) -> None:
        if self._error is not None:
            raise self._error


def test_link_is_kept_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    links = Links()
    monkeypatch.setattr(connection, "connect", links.connect)
    kept = Connection(SETTINGS)
    assert [kept.reach(), kept.reach(), kept.link] == [links.made[0]] * 3
    kept.close()
    kept.close()
    assert (kept.link, links.ends) == (None, ["shut link 0", "wait link 0"])
    assert kept.reach() is links.made[1]


def test_link_whose_refresh_fails_is_closed_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    links = Links(KafkaConnectionError("all brokers are down"))
    monkeypatch.setattr(connection, "connect", links.connect)
    kept = Connection(SETTINGS)
    assert [kept.reach(), kept.reach()] == links.made
    assert kept.link is links.made[1]
    assert links.ends == ["shut link 0", "wait link 0"]


@pytest.mark.parametrize(
    ("why", "answers"),
    [
        (IllegalSaslStateError(), True),
        (SaslAuthenticationFailedError("wrong password"), True),
        (KafkaConnectionError("Handshake failed: [SSL: CERTIFICATE_VERIFY_FAILED] no"), True),
        (KafkaConnectionError("ECONNREFUSED"), False),
        (KafkaTimeoutError("Unable to bootstrap"), False),
    ],
)
def test_refusing_broker_differs_from_a_missing_one(why: Exception, answers: bool) -> None:
    message = connection_error("h:1", why)
    kind = "the broker at h:1 refused the connection: " if answers else "no Kafka broker answers at h:1: "
    assert message.startswith(kind)
    assert "[Error" not in message


@pytest.mark.parametrize(
    ("why", "hint"),
    [
        (KafkaConnectionError("Handshake failed: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF"), "do not set SSL"),
        (InvalidReceiveError("Invalid frame length: 352518912"), "set security_protocol"),
    ],
)
def test_port_of_another_protocol_refuses_nothing_and_gives_a_hint(why: Exception, hint: str) -> None:
    message = connection_error("h:1", why)
    assert message.startswith("no Kafka broker answers at h:1: ")
    assert hint in message
