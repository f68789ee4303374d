"""``ChangelogReader``: a thread that others give copies to, and take them from.  The consumer is doubled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, LogTruncationError, OffsetOutOfRangeError
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateError, StateFullError
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.changelog import reader as changelog_reader
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.on_disk import Resting
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.stateful.topology import Task
from tests.support.waiting import until
from tests.unit.stateful.changelogs import Consumer

S0, S1, S2 = ("s", 0), ("s", 1), ("s", 2)
GOAL = object()


class Gated(Consumer):
    """A consumer whose polls can be made to last."""

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


class Bench:
    """A reader that runs, without a cluster."""

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
        self.ending = Ending()
        self.reader = ChangelogReader({"bootstrap_servers": "b:1"}, fetch_max_bytes=4096, ending=self.ending)

    def copy(self, task: Task) -> Copy:
        copy = Copy(task, Changelog(OurPartition("log", task[1])), self.state_dir, self.stores)
        self.mine.append(copy)
        return copy

    def restored(self) -> tuple[Copy, object]:
        """The one that is handed out next."""
        found: list[tuple[Copy, object]] = []

        def one_is_there() -> bool:
            found.extend(self.reader.restored())
            return bool(found)

        until(one_is_there)
        (one,) = found
        return one

    def close(self) -> None:
        self.consumer.go_on.set()
        self.reader.close()
        for copy in self.mine:
            copy.drop()
        self.state_dir.close()

    def stop_in_poll(self) -> None:
        """Have its thread in the middle of a poll."""
        self.consumer.polling.clear()  # first: it is set only by who finds the other one cleared
        self.consumer.go_on.clear()
        assert self.consumer.polling.wait(60)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    bench = Bench(tmp_path, monkeypatch)
    yield bench
    bench.close()


def test_it_belongs_to_no_group_and_never_guesses_where_to_begin(bench: Bench) -> None:
    assert bench.settings == {
        **bench.settings,
        "bootstrap_servers": "b:1",
        "group_id": None,
        "auto_offset_reset": "none",
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "fetch_max_bytes": 4096,
        "max_partition_fetch_bytes": 4096,
    }


def test_what_is_waited_for_is_handed_out_and_what_stands_by_stays(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b")
    bench.consumer.write(1, b"c")
    one, other = bench.copy(S0), bench.copy(S1)
    bench.reader.keep(one, GOAL)
    bench.reader.keep(other)
    assert bench.restored() == (one, GOAL)
    until(lambda: bench.reader.lags.get(S1) == 0)
    assert bench.reader.applied == 3
    bench.reader.aim(S1, GOAL)
    assert bench.restored() == (other, GOAL)


def test_copies_are_given_back_together_and_read_no_more(bench: Bench) -> None:
    copies = [bench.copy(task) for task in (S0, S1, S2)]
    for copy in copies:
        bench.reader.keep(copy)
    assert bench.reader.give_back([S0, S1, ("s", 9)]) == copies[:2]
    assert bench.consumer.at.keys() == {TopicPartition("log", 2)}
    assert bench.reader.give_back([S0]) == []
    bench.consumer.write(0, b"a")
    bench.consumer.write(2, b"a")
    until(lambda: copies[2].position == 1)
    assert copies[0].position == 0


def test_a_copy_is_given_back_when_the_reader_is_done_with_it(bench: Bench) -> None:
    """Not in the middle of a step: a store has one user."""
    copy = bench.copy(S0)
    bench.reader.keep(copy)
    bench.stop_in_poll()
    bench.consumer.write(0, b"a")
    found: list[Copy] = []
    asking = threading.Thread(target=lambda: found.extend(bench.reader.give_back([S0])))
    asking.start()
    asking.join(0.05)
    assert asking.is_alive()
    bench.consumer.go_on.set()
    asking.join()
    assert found == [copy]
    assert copy.position == 1


def test_a_reader_whose_thread_has_ended_gives_nothing_back_but_at_its_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for without end, and no copy is lost."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    copy = bench.copy(S0)
    bench.reader.keep(copy)
    bench.stop_in_poll()
    bench.consumer.ends_thread = True
    bench.consumer.go_on.set()
    assert bench.reader.give_back([S0]) == []
    assert bench.reader.close() == [copy]


def test_a_reader_that_does_not_end_keeps_what_it_has(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for it for ever, nor closes a store under its hands."""
    copy = bench.copy(S0)
    bench.reader.keep(copy)
    bench.stop_in_poll()
    assert bench.reader.close(0.001) == []
    assert not bench.reader.has_ended
    assert not bench.consumer.closed
    assert "does not end" in caplog.text
    bench.consumer.go_on.set()
    assert bench.reader.close() == [copy]
    assert bench.reader.has_ended


def test_who_waits_for_a_look_ends_with_the_member(bench: Bench) -> None:
    bench.reader.keep(bench.copy(S0))
    bench.stop_in_poll()
    looked: list[bool] = []
    waiting = threading.Thread(target=lambda: looked.append(bench.reader.look(10_000.0)))
    waiting.start()
    bench.ending.set()
    waiting.join()
    bench.consumer.go_on.set()
    assert looked == [False]


def test_orders_that_were_not_heard_at_the_end_are_not_lost(bench: Bench) -> None:
    """A copy may be in one of them."""
    first = bench.copy(S0)
    bench.reader.keep(first)
    bench.stop_in_poll()
    copies: list[Copy] = []
    closing = threading.Thread(target=lambda: copies.extend(bench.reader.close()))
    closing.start()
    second = bench.copy(S1)
    bench.reader.keep(second)
    bench.consumer.go_on.set()
    closing.join()
    assert copies == [first, second]
    assert bench.consumer.closed


def test_what_was_handed_out_and_not_taken_is_given_back_at_the_end(bench: Bench) -> None:
    copy = bench.copy(S0)
    bench.reader.keep(copy, GOAL)
    until(lambda: bench.reader.lags == {S0: 0})
    assert bench.consumer.at == {}
    assert bench.reader.close() == [copy]


def test_an_order_that_fails_is_no_end_of_the_others(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    plain = Copy(("own", 0), None, bench.state_dir, bench.stores)
    bench.mine.append(plain)
    copy = bench.copy(S0)
    bench.reader.keep(plain)
    bench.reader.keep(copy)
    assert bench.reader.give_back([S0]) == [copy]
    assert "task own_0 has no changelog" in caplog.text


def test_what_a_poll_raises_is_said_and_the_rest_goes_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Lags are looked at, and copies are handed out, however often it raises."""
    bench.consumer.write(0, b"a")
    bench.consumer.raised = [KafkaConnectionError("away"), ValueError("nobody thought of it")]
    copy = bench.copy(S0)
    bench.reader.keep(copy, GOAL)
    assert bench.restored() == (copy, GOAL)
    assert "changelogs cannot be read: KafkaConnectionError: away; trying again" in caplog.text
    assert "reading changelogs failed" in caplog.text


def test_lags_are_looked_at_while_every_poll_raises(bench: Bench) -> None:
    bench.consumer.raised = [KafkaConnectionError("away")] * 100_000
    bench.reader.keep(bench.copy(S0))
    bench.consumer.write(1, b"a", b"b")
    bench.reader.rest({S1: Resting(Changelog(OurPartition("log", 1)), 0)})
    bench.reader.watch({S1: Changelog(OurPartition("log", 1))})
    assert bench.reader.look(60)
    until(lambda: bench.reader.lags == {S0: 0, S1: 2})
    until(lambda: bench.reader.ends == {S1: 2})
    bench.consumer.raised = []


def test_a_copy_out_of_range_is_repositioned(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    at = TopicPartition("log", 0)
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.consumer.log[at] = bench.consumer.log[at][2:]
    bench.consumer.begins = {at: 2}
    bench.consumer.raised = [OffsetOutOfRangeError({at: 0})]
    copy = bench.copy(S0)
    bench.reader.keep(copy)
    until(lambda: copy.position == 3)
    assert "lost records 0 to 1" in caplog.text


def test_a_copy_of_a_changelog_that_was_cut_off_begins_anew(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    at = TopicPartition("log", 0)
    bench.consumer.write(0, b"a", b"b")
    copy = bench.copy(S0)
    bench.reader.keep(copy)
    until(lambda: copy.position == 2)
    bench.stop_in_poll()
    bench.consumer.raised = [LogTruncationError({at: None})]
    bench.consumer.go_on.set()
    until(lambda: "a broker that lacked some of it leads" in caplog.text)
    until(lambda: bench.reader.applied == 4)


def test_a_copy_without_room_is_given_up_and_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(store: Store, changes: Any, position: int) -> None:
        raise StateFullError("no room")

    monkeypatch.setattr(Store, "apply", apply)
    bench.consumer.write(0, b"a")
    bench.reader.keep(bench.copy(S0))
    failed: list[tuple[Task, StateError]] = []

    def one_failed() -> bool:
        failed.extend(bench.reader.failed())
        return bool(failed)

    until(one_failed)
    assert [(task, str(error)) for task, error in failed] == [(S0, "no room")]
    assert bench.reader.give_back([S0]) == []
