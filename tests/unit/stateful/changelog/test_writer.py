"""``ChangelogWriter``: acknowledged, never late, and with nothing left to be sent."""

from __future__ import annotations

import gc
import time
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import (
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumberError,
    TopicAuthorizationFailedError,
    UnknownError,
)
from kafka.producer import kafka as producer_module

from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful.changelog import writer as changelog_writer
from kafka_assignors.stateful.changelog.writer import ChangelogWriter, WrittenRange, _Producer
from kafka_assignors.stateful.shutdown import Shutdown


class Producer:
    """A double of kafka-python's producer: records are pending until a flush.

    Args:
        raises: the error of each record's future, in turn; None: it is written.
        refuses: key -> error that ``send`` raises.
        stuck: it never reaches the cluster, and keeps its records.
    """

    def __init__(
        self, raises: list[Exception | None], refuses: dict[bytes, Exception], stuck: bool, config: Any
    ) -> None:
        self.config = config
        self.sent: list[tuple[int, bytes]] = []
        self.known: set[str] = set()  # topics whose metadata was waited for
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

    def partitions_for(self, topic: str) -> set[int]:
        self.known.add(topic)
        return {0, 1}

    def send(self, topic: str, value: bytes | None, key: bytes, partition: int) -> Any:
        assert not self.closed
        assert topic in self.known, "`send` would wait for the metadata, after `allowed`"
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
    shutdown: Shutdown | None = None,
) -> tuple[ChangelogWriter, list[Producer]]:
    made: list[Producer] = []
    errors = list(raises)

    def connect(**config: Any) -> Any:
        made.append(Producer(errors, refuses or {}, stuck, config))
        return made[-1]

    return ChangelogWriter({}, patience_s=patience_s, shutdown=shutdown, connect=connect), made


CHANGES = {TopicPartition("log", 0): {b"a": b"1", b"b": None}}


def test_end_of_a_producer_leaves_the_log_of_others() -> None:
    """kafka-python replaces the log of its module when a producer is collected."""
    before = producer_module.log
    producer = _Producer.__new__(_Producer)
    del producer
    gc.collect()
    assert producer_module.log is before


def test_no_retry_is_sent_later_than_the_patience() -> None:
    """The limit includes retries and the wait for metadata."""
    _, (producer,) = writer()
    config = producer.config
    assert config["acks"] == "all"
    assert config["delivery_timeout_ms"] + config["max_block_ms"] <= 4_000
    assert config["request_timeout_ms"] < config["delivery_timeout_ms"]


def test_write_returns_the_range_of_its_records() -> None:
    ours, _ = writer()
    (written,) = ours.write(CHANGES).values()
    assert (written, written.follows(0), written.follows(1)) == (WrittenRange(0, 2, 2), True, False)
    assert not WrittenRange(3, 2, 6).follows(3), "another writer's record is between them"


@pytest.mark.parametrize(("count", "size"), [(9, 1024 * 1024), (5_000, 1)], ids=["large", "many"])
def test_lease_is_asked_before_each_portion(count: int, size: int) -> None:
    """Passing all changes to the producer at once would outlast the lease."""
    ours, (producer,) = writer()
    allowed = iter([True, True, False])
    changes = {TopicPartition("log", 0): {b"%d" % n: b"x" * size for n in range(count)}}
    with pytest.raises(ChangelogUnreachableError, match="lease has run out"):
        ours.write(changes, lambda: next(allowed))
    assert 0 < len(producer.sent) < count


@pytest.mark.parametrize("error", [KafkaTimeoutError("away"), OutOfOrderSequenceNumberError()])
def test_write_after_a_passing_error_succeeds_with_a_new_producer(error: Exception) -> None:
    """The old producer's request may still be on its way, and would arrive behind the new one's."""
    ours, made = writer(error)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert made[0].closed
    assert ours.write(CHANGES)
    assert len(made) == 2


@pytest.mark.parametrize("error", [OSError("Too many open files"), RuntimeError("can't start new thread")])
def test_write_without_a_file_or_thread_for_a_connection_may_be_tried_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, made = writer(KafkaTimeoutError("away"))
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)

    def fail(**_: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(ours, "_connect", fail)
        with pytest.raises(ChangelogUnreachableError, match=str(error)):
            ours.write(CHANGES)
    assert ours.write(CHANGES)
    assert len(made) == 2


def test_flush_goes_on_after_a_batch_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, (producer,) = writer()
    really, errors = producer.flush, [UnknownError("Future not done")]

    def flush(timeout: float) -> None:
        if errors:
            raise errors.pop()
        really(timeout)

    monkeypatch.setattr(producer, "flush", flush)
    assert ours.write(CHANGES)
    assert not producer.closed


def test_connecting_takes_no_longer_than_the_shutdown_leaves() -> None:
    shutdown = Shutdown(1.0)
    ours, made = writer(KafkaTimeoutError("away"), shutdown=shutdown)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    shutdown.set()
    ours.write(CHANGES)
    assert made[0].config["bootstrap_timeout_ms"] == 3_000
    assert 0 < made[1].config["bootstrap_timeout_ms"] <= 600


def test_lease_is_asked_after_connecting() -> None:
    """A new producer may connect for as long as the lease lasts."""
    ours, made = writer(KafkaTimeoutError("away"))
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    with pytest.raises(ChangelogUnreachableError, match="lease has run out"):
        ours.write(CHANGES, lambda: len(made) < 2)
    assert (len(made), made[1].sent, made[1].known) == (2, [], {"log"})
    assert made[1].config["bootstrap_timeout_ms"] <= 4_000


@pytest.mark.parametrize("error", [MessageSizeTooLargeError(), TopicAuthorizationFailedError({"log"})])
def test_permanent_error_is_a_changelog_error(error: Exception) -> None:
    ours, _ = writer(error)
    with pytest.raises(ChangelogError) as caught:
        ours.write(CHANGES)
    assert not isinstance(caught.value, ChangelogUnreachableError)
    if isinstance(error, MessageSizeTooLargeError):
        assert "changelog_max_request_size" in str(caught.value), "the option to change"


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (MessageSizeTooLargeError(), False),
        (KafkaTimeoutError("no metadata"), True),
        (ValueError("Unrecognized partition 1 for topic log"), True),  # it was just added
    ],
    ids=str,
)
def test_refused_record_leaves_nothing_to_be_sent(error: Exception, passes: bool) -> None:
    """Earlier records would be sent later, behind those of the next owner."""
    ours, (producer,) = writer(refuses={b"b": error})
    with pytest.raises(ChangelogError) as caught:
        ours.write(CHANGES)
    assert str(error) in str(caught.value)
    assert isinstance(caught.value, ChangelogUnreachableError) is passes
    assert (producer.sent, producer.pending) == ([(0, b"a")], [])
    assert producer.closed is passes


@pytest.mark.parametrize("refuses", [{}, {b"b": KafkaTimeoutError("no metadata")}])
def test_records_not_flushed_in_time_are_dropped(
    refuses: dict[bytes, Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafka-python's ``close`` times out while records are pending, and its thread keeps sending them."""
    monkeypatch.setattr(changelog_writer, "_CHECK_EVERY_S", 0.05)
    ours, made = writer(refuses=refuses, stuck=True, patience_s=0.2)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert (made[0].pending, made[0].closed) == ([], True)
    assert 0 < made[0].waited_s <= 0.2, "no longer than the patience"
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert len(made) == 2, "a new producer tries again"


def test_caller_may_allow_less_time_than_the_patience() -> None:
    ours, made = writer(stuck=True, patience_s=10_000.0)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES, timeout_s=0.05)
    assert (made[0].pending, made[0].closed) == ([], True)
    assert made[0].waited_s <= 0.05


def test_records_not_flushed_before_the_shutdown_deadline_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if the shutdown starts during the flush."""
    monkeypatch.setattr(changelog_writer, "_CHECK_EVERY_S", 0.01)
    shutdown = Shutdown(0.05)
    ours, (producer,) = writer(stuck=True, patience_s=10_000.0, shutdown=shutdown)
    really = producer.flush

    def flush(timeout: float) -> None:
        shutdown.set()
        really(timeout)

    monkeypatch.setattr(producer, "flush", flush)
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert (producer.pending, producer.closed) == ([], True)


def test_closed_writer_sends_nothing() -> None:
    """Pending records are dropped, and later writes are refused."""
    ours, (producer,) = writer(stuck=True)
    producer.pending.append(b"left")
    ours.close()
    assert (producer.pending, producer.closed) == ([], True)
    with pytest.raises(ChangelogUnreachableError, match="closed"):
        ours.write(CHANGES)
    ours.close()


def test_producer_gets_the_options() -> None:
    made: list[dict[str, Any]] = []

    def connect(**config: Any) -> Any:
        made.append(config)

    ChangelogWriter({}, max_request_size=5_000_000, compression="gzip", connect=connect)
    assert (made[0]["max_request_size"], made[0]["compression_type"]) == (5_000_000, "gzip")
    client = made[0]["kafka_client"](bootstrap_servers="127.0.0.1:1")
    assert client.cluster.config["allow_auto_create_topics"] is False
    client.close()
