"""``Tailing``: what the changelog reader's thread does.  Stores are real, the consumer is doubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateDamagedError, StateError, StateFullError
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.copy import Changelog, Copy
from kafka_assignors.stateful.pace import Pace
from kafka_assignors.stateful.store import Store
from kafka_assignors.stateful.tailing import Tailing
from kafka_assignors.stateful.topology import Task

S0, S1 = ("s", 0), ("s", 1)
GOAL = object()


class Consumer:
    """Reads logs that are lists of (offset, key, value): compaction leaves gaps."""

    def __init__(self) -> None:
        self.log: dict[TopicPartition, list[tuple[int, bytes, bytes | None]]] = {}
        self.begins: dict[TopicPartition, int] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.at: dict[TopicPartition, int] = {}
        self.held: set[TopicPartition] = set()
        self.asked = 0
        self.broken = False

    def write(self, partition: int, *keys: bytes, skip: int = 0) -> None:
        at = TopicPartition("log", partition)
        for key in keys:
            end = self.ends.get(at, 0)
            self.log.setdefault(at, []).append((end, key, b"%d" % end))
            self.ends[at] = end + 1
        self.ends[at] = self.ends.get(at, 0) + skip

    def assign(self, some: list[TopicPartition]) -> None:
        self.at = {at: self.at.get(at, -1) for at in some}
        self.held &= set(some)

    def seek(self, at: TopicPartition, offset: int) -> None:
        self.at[at] = offset

    def position(self, at: TopicPartition, timeout_ms: int) -> int:
        return self.at[at]

    def pause(self, *some: TopicPartition) -> None:
        self.held |= set(some)

    def resume(self, *some: TopicPartition) -> None:
        self.held -= set(some)

    def paused(self) -> set[TopicPartition]:
        return set(self.held)

    def end_offsets(self, some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        self.asked += 1
        if self.broken:
            raise KafkaTimeoutError("no answer")
        return {at: self.ends.get(at, 0) for at in some}

    def beginning_offsets(self, some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        return {at: self.begins.get(at, 0) for at in some}

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        found = {}
        for at in self.at.keys() - self.held:
            records = [
                SimpleNamespace(
                    offset=o, key=k, value=v, serialized_key_size=len(k), serialized_value_size=len(v or b"")
                )
                for o, k, v in self.log.get(at, [])
                if o >= self.at[at]
            ]
            if records:
                found[at] = records
            self.at[at] = max(self.at[at], self.ends.get(at, 0))
        return found


class Bench:
    """Copies that are tailed, without a cluster."""

    def __init__(self, root: Path, bytes_per_s: int | None = None) -> None:
        self.now = 0.0
        self.consumer = Consumer()
        self.restored: list[tuple[Copy, object]] = []
        self.failed: list[tuple[Task, StateError]] = []
        self.state_dir = StateDir(root, "g")
        self.stores = Stores()
        consumer: Any = self.consumer
        self.tailing = Tailing(
            consumer,
            Pace(bytes_per_s, self.clock),
            self.clock,
            lambda copy, goal: self.restored.append((copy, goal)),
            lambda task, error: self.failed.append((task, error)),
        )

    def clock(self) -> float:
        return self.now

    def copy(self, task: Task) -> Copy:
        return Copy(task, Changelog(OurPartition("log", task[1])), self.state_dir, self.stores)

    def turn(self) -> None:
        self.now += 2.0
        self.tailing.read()
        self.tailing.look_at_ends()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for copy in [*bench.tailing.copies, *(copy for copy, _ in bench.restored)]:
        copy.drop()
    bench.state_dir.close()


def test_a_standby_follows_and_tells_how_far_it_is(bench: Bench) -> None:
    copy = bench.copy(S0)
    bench.tailing.begin(copy, None)
    bench.consumer.write(0, b"a", b"b", b"a")
    bench.turn()
    assert dict(copy.store.range()) == {b"a": b"2", b"b": b"1"}
    assert (copy.position, bench.tailing.lags, bench.tailing.applied) == (3, {S0: 0}, 3)
    assert bench.tailing.applied_to == {S0: 3}
    bench.consumer.held.add(TopicPartition("log", 0))
    bench.consumer.write(0, b"c")
    bench.now += 2.0
    bench.tailing.look_at_ends()
    assert bench.tailing.lags == {S0: 1}
    assert bench.restored == []


def test_the_ends_of_all_changelogs_are_known_and_looked_at_now_and_then(bench: Bench) -> None:
    """Of tasks that are not here, too; and what was known stays while the cluster does not answer."""
    bench.tailing.changelogs = {task: Changelog(OurPartition("log", task[1])) for task in (S0, S1)}
    bench.consumer.write(1, b"a", b"b")
    bench.tailing.look_at_all_ends()
    assert bench.tailing.ends == {S0: 0, S1: 2}
    bench.consumer.write(0, b"c")
    bench.now += 5.0
    bench.tailing.look_at_all_ends()
    assert bench.tailing.ends == {S0: 0, S1: 2}
    assert bench.consumer.asked == 1
    bench.now += 5.0
    bench.consumer.broken = True
    with pytest.raises(KafkaTimeoutError):
        bench.tailing.look_at_all_ends()
    bench.tailing.look_at_all_ends()  # not again at once: tailing goes on
    assert bench.tailing.ends == {S0: 0, S1: 2}
    bench.now += 10.0
    bench.consumer.broken = False
    bench.tailing.look_at_all_ends()
    assert bench.tailing.ends == {S0: 1, S1: 2}


def test_what_is_waited_for_is_handed_out_when_it_is_there(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b")
    copy = bench.copy(S0)
    bench.tailing.begin(copy, GOAL)
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert bench.tailing.copies == []


def test_a_promotion_looks_at_the_end_anew(bench: Bench) -> None:
    """The one that was active wrote until it let go."""
    copy = bench.copy(S0)
    bench.tailing.begin(copy, None)
    bench.turn()
    bench.consumer.write(0, b"a")
    bench.tailing.aim(S0, GOAL)
    bench.tailing.look_at_ends()
    assert bench.restored == []
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert copy.store.get(b"a") == b"0"


def test_records_that_compaction_took_are_not_waited_for(bench: Bench) -> None:
    """The store ends up at the end all the same: what it writes next follows."""
    bench.consumer.write(0, b"a", skip=5)
    copy = bench.copy(S0)
    bench.tailing.begin(copy, GOAL)
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert copy.position == 6


def test_standbys_wait_where_they_had_their_share_and_what_is_restored_does_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bytes_per_s=1024)
    standby, wanted = bench.copy(S0), bench.copy(S1)
    bench.tailing.begin(standby, None)
    bench.tailing.begin(wanted, GOAL)
    bench.consumer.write(0, b"x" * 10_000)
    bench.tailing.read()
    bench.consumer.write(0, b"y")
    bench.consumer.write(1, b"z")
    bench.tailing.read()
    assert bench.consumer.held == {TopicPartition("log", 0)}
    assert (standby.store.get(b"y"), wanted.store.get(b"z")) == (None, b"0")
    bench.now += 60.0
    bench.tailing.read()
    assert standby.store.get(b"y") == b"1"
    for copy in bench.tailing.copies:
        copy.drop()
    bench.state_dir.close()


def test_copies_at_rest_have_a_lag_too(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.tailing.resting = {S0: (Changelog(OurPartition("log", 0)), 1)}
    bench.turn()
    assert bench.tailing.lags == {S0: 2}


def test_a_store_that_is_damaged_is_restored_from_the_beginning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.consumer.write(0, b"a", b"b")
    copy = bench.copy(S0)
    bench.tailing.begin(copy, GOAL)
    really, faults = Store.apply, [StateDamagedError("bytes are flipped")]

    def apply(store: Store, changes: Any, position: int) -> None:
        if faults:
            raise faults.pop()
        really(store, changes, position)

    monkeypatch.setattr(Store, "apply", apply)
    bench.tailing.read()
    assert (bench.restored, bench.consumer.at) == ([], {TopicPartition("log", 0): 0})
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"1"}


def test_no_room_for_one_copy_is_no_fault_of_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = bench.copy(S0), bench.copy(S1)
    for copy, partition in ((one, 0), (other, 1)):
        bench.consumer.write(partition, b"a")
        bench.tailing.begin(copy, None)
    broken, really = one.store, Store.apply

    def apply(store: Store, changes: Any, position: int) -> None:
        if store is broken:
            raise StateFullError("no room")
        really(store, changes, position)

    monkeypatch.setattr(Store, "apply", apply)
    bench.turn()
    assert [task for task, _ in bench.failed] == [S0]
    assert bench.tailing.copies == [other]
    assert other.store.get(b"a") == b"0"
    with bench.state_dir.claim(S0):
        pass  # it has let go of the directory


def test_a_changelog_that_begins_later_is_said_and_read_from_there(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.consumer.write(0, b"a", b"b", b"c")
    copy = bench.copy(S0)
    bench.tailing.begin(copy, GOAL)
    bench.consumer.begins[TopicPartition("log", 0)] = 2
    bench.tailing.reposition()
    assert "lost records 0 to 1" in caplog.text
    bench.turn()
    assert dict(copy.store.range()) == {b"c": b"2"}


def test_a_changelog_that_ends_sooner_is_another_one(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    copy = bench.copy(S0)
    copy.apply([(b"old", b"1")], 100)
    bench.consumer.write(0, b"a")
    bench.tailing.begin(copy, GOAL)
    bench.tailing.reposition()
    assert "it was cut off or made again" in caplog.text
    bench.turn()
    assert dict(copy.store.range()) == {b"a": b"0"}


def test_a_copy_that_was_taken_out_gets_nothing_more(bench: Bench) -> None:
    copy = bench.copy(S0)
    bench.tailing.begin(copy, None)
    assert bench.tailing.take_out(S0) is copy
    assert bench.tailing.take_out(S0) is None
    bench.consumer.write(0, b"a")
    assert not bench.tailing.read()
    assert copy.store.get(b"a") is None
    copy.drop()


def test_ends_are_asked_for_once_a_second_and_for_new_copies_at_once(bench: Bench) -> None:
    bench.tailing.begin(bench.copy(S0), None)
    for _ in range(5):
        bench.tailing.look_at_ends()
    assert bench.consumer.asked == 1
    bench.tailing.begin(bench.copy(S1), None)
    bench.tailing.look_at_ends()
    assert bench.consumer.asked == 2
    bench.now += 1.0
    bench.tailing.look_at_ends()
    assert bench.consumer.asked == 3
