"""What is written to changelogs: acknowledged, never late, and with nothing left to be sent afterwards."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import (
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumberError,
    TopicAuthorizationFailedError,
)

from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful.changelog import writer as changelog_writer
from kafka_assignors.stateful.changelog.writer import ChangelogWriter, Written
from kafka_assignors.stateful.ending import Ending


class Producer:
    """A producer of kafka-python's, as far as it is used: what is sent is pending until it is flushed.

    Args:
        raises: what becomes of each record, in turn: nothing, or an error its future has.
        refuses: raised by ``send`` for the record with that key.
        stuck: it never hears of the cluster, and keeps what it has.
    """

    def __init__(
        self, raises: list[Exception | None], refuses: dict[bytes, Exception], stuck: bool, config: Any
    ) -> None:
        self.config = config
        self.sent: list[tuple[int, bytes]] = []
        self.pending: list[bytes] = []
        self.closed = False
        self.dropped = False
        self.waited_s = 0.0
        self._raises, self._refuses, self._stuck = raises, refuses, stuck

    @property
    def _sender(self) -> Any:
        return SimpleNamespace(force_close=self._drop, join=lambda _: None)

    def _drop(self) -> None:
        self.dropped = True
        self.pending.clear()

    def send(self, topic: str, value: bytes | None, key: bytes, partition: int) -> Any:
        assert not self.closed
        if key in self._refuses:
            raise self._refuses[key]
        self.sent.append((partition, key))
        self.pending.append(key)
        offset, error = len(self.sent) - 1, self._raises.pop(0) if self._raises else None

        def get(timeout: float) -> Any:
            if error is not None:
                raise error
            return SimpleNamespace(offset=offset)

        return SimpleNamespace(get=get)

    def flush(self, timeout: float) -> None:
        if self._stuck and self.pending:
            self.waited_s += timeout
            time.sleep(timeout)
            raise KafkaTimeoutError("Timeout waiting for future")
        self.pending.clear()

    def close(self, timeout: float) -> None:
        self.flush(timeout)
        self.closed = True


def writer(
    *raises: Exception | None,
    refuses: dict[bytes, Exception] | None = None,
    stuck: bool = False,
    patience_s: float = 4.0,
    ending: Ending | None = None,
) -> tuple[ChangelogWriter, list[Producer]]:
    made: list[Producer] = []
    errors = list(raises)

    def connect(**config: Any) -> Any:
        made.append(Producer(errors, refuses or {}, stuck, config))
        return made[-1]

    return ChangelogWriter({}, patience_s=patience_s, ending=ending, connect=connect), made


CHANGES = {OurPartition("log", 0): {b"a": b"1", b"b": None}}


def test_nothing_is_sent_later_than_patience_allows() -> None:
    """Neither by a retry, nor after waiting for metadata."""
    _, (producer,) = writer()
    config = producer.config
    assert config["acks"] == "all"
    assert config["delivery_timeout_ms"] + config["max_block_ms"] <= 4_000
    assert config["request_timeout_ms"] < config["delivery_timeout_ms"]


def test_a_write_says_where_its_records_are() -> None:
    ours, _ = writer()
    (found,) = ours.write(CHANGES).values()
    assert (found, found.follows(0), found.follows(1)) == (Written(0, 2, 2), True, False)
    assert not Written(3, 2, 6).follows(3), "somebody's record is between them"


def test_large_changes_are_asked_for_again_and_again_whether_they_are_allowed() -> None:
    ours, (producer,) = writer()
    allowed = iter([True, False])
    large = {OurPartition("log", 0): {b"%d" % n: b"x" * 1024 * 1024 for n in range(9)}}
    with pytest.raises(ChangelogUnreachableError, match="gone on without"):
        ours.write(large, lambda: next(allowed))
    assert 0 < len(producer.sent) < 9


def test_what_may_go_by_is_tried_again_by_a_new_producer_where_the_old_one_is_broken() -> None:
    ours, made = writer(KafkaTimeoutError("away"), None, OutOfOrderSequenceNumberError())
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert len(made) == 1
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert made[0].closed
    assert ours.write(CHANGES)
    assert len(made) == 2


@pytest.mark.parametrize("error", [MessageSizeTooLargeError(), TopicAuthorizationFailedError({"log"})])
def test_what_will_never_be_taken_is_said_to_be_so(error: Exception) -> None:
    ours, _ = writer(error)
    with pytest.raises(ChangelogError) as caught:
        ours.write(CHANGES)
    assert not isinstance(caught.value, ChangelogUnreachableError)
    if isinstance(error, MessageSizeTooLargeError):
        assert "changelog_max_request_size" in str(caught.value), "what there is to be done about it"


@pytest.mark.parametrize("error", [MessageSizeTooLargeError(), KafkaTimeoutError("no metadata")])
def test_nothing_is_left_to_be_sent_when_a_record_is_refused(error: Exception) -> None:
    """Those before it would be sent later, behind what the next owner wrote."""
    ours, (producer,) = writer(refuses={b"b": error})
    with pytest.raises(ChangelogError):
        ours.write(CHANGES)
    assert (producer.sent, producer.pending) == ([(0, b"a")], [])


@pytest.mark.parametrize("refuses", [{}, {b"b": KafkaTimeoutError("no metadata")}])
def test_what_cannot_be_flushed_in_time_is_dropped(
    refuses: dict[bytes, Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafka-python's own ``close`` gives up where something is pending, and goes on sending."""
    monkeypatch.setattr(changelog_writer, "_LOOK_S", 0.05)
    ours, made = writer(refuses=refuses, stuck=True, patience_s=0.2)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert (made[0].pending, made[0].closed) == ([], True)
    assert 0 < made[0].waited_s <= 0.2, "as long as it may be written, and no longer"
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert len(made) == 2, "a new one tries again"


def test_what_cannot_be_flushed_while_there_is_time_to_end_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the end begins while it is waited for."""
    monkeypatch.setattr(changelog_writer, "_LOOK_S", 0.01)
    ending = Ending(0.05)
    ours, (producer,) = writer(stuck=True, patience_s=10_000.0, ending=ending)
    really = producer.flush

    def flush(timeout: float) -> None:
        ending.set()
        really(timeout)

    monkeypatch.setattr(producer, "flush", flush)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert (producer.pending, producer.closed) == ([], True)


def test_nothing_is_sent_by_a_writer_that_is_closed() -> None:
    """Neither what it still had, nor what somebody asks for afterwards."""
    ours, (producer,) = writer(stuck=True)
    producer.pending.append(b"left")
    ours.close()
    assert (producer.pending, producer.closed) == ([], True)
    with pytest.raises(ChangelogUnreachableError, match="closed"):
        ours.write(CHANGES)
    ours.close()


def test_many_small_changes_are_sent_some_at_a_time() -> None:
    """Whether they are allowed is asked often enough: to hand over all would take longer than it is for."""
    ours, (producer,) = writer()
    asked: list[int] = []

    def allowed() -> bool:
        asked.append(len(producer.sent))
        return True

    ours.write({OurPartition("log", 0): {b"%d" % n: b"x" for n in range(5_000)}}, allowed)
    assert asked == [0, 2_000, 4_000]


def test_the_producer_is_made_as_the_options_say() -> None:
    made: list[dict[str, Any]] = []

    def connect(**config: Any) -> Any:
        made.append(config)

    ChangelogWriter({}, max_request_size=5_000_000, compression="gzip", connect=connect)
    assert (made[0]["max_request_size"], made[0]["compression_type"]) == (5_000_000, "gzip")
