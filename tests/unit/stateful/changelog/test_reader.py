"""``ChangelogReader``: copies handed to its thread and back.  The consumer is a double."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from kafka.errors import KafkaConnectionError, LogTruncationError, OffsetOutOfRangeError
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateFullError
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.changelog import reader as changelog_reader
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.shutdown import Shutdown
from kafka_assignors.stateful.state.closed_copies import ClosedCopy
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.wire.stateful.task_section import Task
from tests.support.waiting import until
from tests.unit.stateful.changelogs import Consumer

S0, S1, S2 = ("s", 0), ("s", 1), ("s", 2)
WAITER = object()

T = TypeVar("T")


class Gated(Consumer):
    """A consumer whose polls the test can block."""

    def __init__(self) -> None:
        super().__init__()
        self.polling = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.ends_thread = False

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        if not self.go_on.is_set():
            self.polling.set()
            assert self.go_on.wait(60)
        if self.ends_thread:
            raise SystemExit
        return super().poll(timeout_ms)


def only_one(take: Callable[[], list[T]]) -> T:
    """Wait until there is an item to take."""
    items: list[T] = []

    def is_there() -> bool:
        items.extend(take())
        return bool(items)

    until(is_there)
    (item,) = items
    return item


class Bench:
    """A running reader, without a cluster."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.consumer = Gated()
        self.settings: dict[str, Any] = {}

        def consumer(**settings: Any) -> Gated:
            self.settings = settings
            return self.consumer

        monkeypatch.setattr(changelog_reader, "KafkaConsumer", consumer)
        monkeypatch.setattr(changelog_reader, "_IDLE_S", 0.001)
        monkeypatch.setattr(changelog_reader, "_AGAIN_S", 0.001)
        self.state_dir = StateDir(root, "g")
        self.stores = Stores()
        self.mine: list[Copy] = []
        self.shutdown = Shutdown()
        self.reader = ChangelogReader(
            {"bootstrap_servers": "b:1"}, fetch_max_bytes=4096, shutdown=self.shutdown
        )

    def keep(self, task: Task, waiter: object = None) -> Copy:
        """Hand a new copy to the reader."""
        copy = Copy(task, Changelog(OurPartition("log", task[1])), self.state_dir, self.stores)
        self.mine.append(copy)
        self.reader.keep(copy, waiter)
        return copy

    def restored(self) -> tuple[Copy, object]:
        """Wait for the next restored copy."""
        return only_one(self.reader.restored)

    def close(self) -> None:
        self.consumer.go_on.set()
        self.reader.close()
        for copy in self.mine:
            copy.drop()
        self.state_dir.close()

    def stop_in_poll(self) -> None:
        """Block the reader's thread in a poll."""
        self.consumer.polling.clear()  # first, because a poll sets it only while go_on is cleared
        self.consumer.go_on.clear()
        assert self.consumer.polling.wait(60)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    bench = Bench(tmp_path, monkeypatch)
    yield bench
    bench.close()


def test_consumer_has_no_group_and_no_offset_reset(bench: Bench) -> None:
    assert bench.settings == {
        **bench.settings,
        "bootstrap_servers": "b:1",
        "group_id": None,
        "auto_offset_reset": "none",
        "enable_auto_commit": False,
        "fetch_max_bytes": 4096,
        "max_partition_fetch_bytes": 4096,
    }
    client = bench.settings["kafka_client"](bootstrap_servers="127.0.0.1:1")
    assert client.cluster.config["allow_auto_create_topics"] is False
    client.close()


def test_restored_copies_are_returned_and_standbys_stay(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b")
    bench.consumer.write(1, b"c")
    first, second = bench.keep(S0, WAITER), bench.keep(S1)
    assert bench.restored() == (first, WAITER)
    until(lambda: bench.reader.lags.get(S1) == 0)
    assert bench.reader.applied == 3
    bench.reader.set_waiter(S1, WAITER)
    assert bench.restored() == (second, WAITER)


def test_copies_given_back_together_are_read_no_more(bench: Bench) -> None:
    copies = [bench.keep(task) for task in (S0, S1, S2)]
    assert bench.reader.give_back([S0, S1, ("s", 9)]) == copies[:2]
    assert bench.consumer.positions.keys() == {TopicPartition("log", 2)}
    assert bench.reader.give_back([S0]) == []
    bench.consumer.write(0, b"a")
    bench.consumer.write(2, b"a")
    until(lambda: copies[2].position == 1)
    assert copies[0].position == 0


def test_copy_is_given_back_after_the_readers_step(bench: Bench) -> None:
    """A store has one user at a time."""
    copy = bench.keep(S0)
    bench.stop_in_poll()
    bench.consumer.write(0, b"a")
    given_back: list[Copy] = []
    asking = threading.Thread(target=lambda: given_back.extend(bench.reader.give_back([S0])))
    asking.start()
    asking.join(0.05)
    assert asking.is_alive()
    bench.consumer.go_on.set()
    asking.join()
    assert given_back == [copy]
    assert copy.position == 1


def test_reader_that_hangs_gives_copies_back_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that does not answer must not stop the member, or its shutdown."""
    copy = bench.keep(S0)
    bench.stop_in_poll()
    with monkeypatch.context() as patch:
        patch.setattr(bench.shutdown, "left_s", lambda _most: 0.0)
        assert bench.reader.give_back([S0]) == []
    assert "busy, copies of 1 tasks are closed later" in caplog.text
    bench.consumer.go_on.set()
    assert bench.restored() == (copy, None)
    assert bench.reader.give_back([S0]) == []


def test_reader_with_a_dead_thread_returns_copies_only_when_closed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller does not wait forever, and no copy is lost."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(changelog_reader, "_ANSWER_S", 0.001)
    copy = bench.keep(S0)
    bench.stop_in_poll()
    bench.consumer.ends_thread = True
    bench.consumer.go_on.set()
    assert bench.reader.give_back([S0]) == []
    assert bench.reader.close() == [copy]


def test_reader_that_does_not_end_in_time_keeps_its_copies(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller does not wait forever, and no store is closed while in use."""
    copy = bench.keep(S0)
    bench.stop_in_poll()
    assert bench.reader.close(0.001) == []
    assert not bench.reader.has_ended
    assert not bench.consumer.closed
    assert "still busy at the end of the shutdown" in caplog.text
    bench.consumer.go_on.set()
    assert bench.reader.close() == [copy]
    assert bench.reader.has_ended


def test_wait_for_lags_ends_with_the_member(bench: Bench) -> None:
    bench.keep(S0)
    bench.stop_in_poll()
    looked: list[bool] = []
    waiting = threading.Thread(target=lambda: looked.append(bench.reader.wait_for_lags(10_000.0)))
    waiting.start()
    bench.shutdown.set()
    waiting.join()
    bench.consumer.go_on.set()
    assert looked == [False]


def test_measurement_of_lags_that_has_begun_before_the_wait_does_not_end_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may not cover a copy that was closed just now."""
    begun, go_on = threading.Event(), threading.Event()
    end_offsets = bench.consumer.end_offsets

    def blocked(*args: Any, **settings: Any) -> dict[TopicPartition, int]:
        begun.set()
        assert go_on.wait(60)
        return end_offsets(*args, **settings)

    closed = {S1: ClosedCopy(Changelog(OurPartition("log", 1)), 0)}
    bench.consumer.write(1, b"a", b"b")
    monkeypatch.setattr(bench.consumer, "end_offsets", blocked)
    bench.keep(S0)
    assert begun.wait(60)
    bench.reader.watch_closed(closed)
    seen: list[Any] = []

    def wait() -> None:
        seen.extend([bench.reader.wait_for_lags(60), bench.reader.lags])

    looked = threading.Event()

    def is_set() -> bool:  # asked in each turn of the wait
        looked.set()
        return False

    monkeypatch.setattr(bench.shutdown, "is_set", is_set)
    waiting = threading.Thread(target=wait)
    waiting.start()
    assert looked.wait(60)
    go_on.set()
    waiting.join()
    assert seen == [True, {S0: 0, S1: 2}]


def test_orders_still_queued_at_the_end_lose_no_copy(bench: Bench) -> None:
    """An order may hold a copy."""
    first = bench.keep(S0)
    bench.stop_in_poll()
    copies: list[Copy] = []
    closing = threading.Thread(target=lambda: copies.extend(bench.reader.close()))
    closing.start()
    second = bench.keep(S1)
    bench.consumer.go_on.set()
    closing.join()
    assert copies == [first, second]
    assert bench.consumer.closed


def test_close_returns_restored_copies_that_were_not_taken(bench: Bench) -> None:
    copy = bench.keep(S0, WAITER)
    until(lambda: bench.reader.lags == {S0: 0})
    assert bench.consumer.positions == {}
    assert bench.reader.close() == [copy]


def test_failed_order_does_not_stop_the_others(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    plain = Copy(("own", 0), None, bench.state_dir, bench.stores)
    bench.mine.append(plain)
    bench.reader.keep(plain)
    copy = bench.keep(S0)
    assert bench.reader.give_back([S0]) == [copy]
    assert "task own_0 has no changelog" in caplog.text


def test_poll_that_raises_is_logged_and_the_reader_goes_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """It measures lags and returns restored copies all the same."""
    bench.consumer.write(0, b"a")
    bench.consumer.raised = [KafkaConnectionError("away"), ValueError("unexpected")]
    copy = bench.keep(S0, WAITER)
    assert bench.restored() == (copy, WAITER)
    assert "changelog reader: KafkaConnectionError: away; going on" in caplog.text
    assert "changelog reader: a step failed" in caplog.text


def test_lags_are_measured_while_every_poll_raises(bench: Bench) -> None:
    bench.consumer.raised = [KafkaConnectionError("away")] * 100_000
    bench.keep(S0)
    bench.consumer.write(1, b"a", b"b")
    bench.reader.watch_closed({S1: ClosedCopy(Changelog(OurPartition("log", 1)), 0)})
    bench.reader.watch({S1: Changelog(OurPartition("log", 1))})
    assert bench.reader.wait_for_lags(60)
    until(lambda: bench.reader.lags == {S0: 0, S1: 2})
    until(lambda: bench.reader.ends == {S1: 2})
    bench.consumer.raised = []


def test_copy_out_of_range_is_repositioned(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    at = TopicPartition("log", 0)
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.consumer.begins = {at: 2}
    bench.consumer.raised = [OffsetOutOfRangeError({at: 0})]
    copy = bench.keep(S0)
    until(lambda: copy.position == 3)
    assert "lost records 0 to 1" in caplog.text
    assert bench.reader.give_back([S0]) == [copy]
    assert dict(copy.store.range()) == {b"c": b"2"}


def test_copy_of_a_truncated_changelog_restarts(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    at = TopicPartition("log", 0)
    bench.consumer.write(0, b"a", b"b")
    copy = bench.keep(S0)
    until(lambda: copy.position == 2)
    bench.stop_in_poll()
    bench.consumer.raised = [LogTruncationError({at: None})]
    bench.consumer.go_on.set()
    until(lambda: "an out-of-sync replica became leader" in caplog.text)
    until(lambda: bench.reader.applied == 4)


def test_copy_without_room_is_given_up_and_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(store: Store, changes: Any, position: int) -> None:
        raise StateFullError("no room")

    monkeypatch.setattr(Store, "apply", apply)
    bench.consumer.write(0, b"a")
    bench.keep(S0)
    task, error = only_one(bench.reader.failed)
    assert (task, str(error)) == (S0, "no room")
    assert bench.reader.give_back([S0]) == []
