"""``Tailing``: the steps of the changelog reader's thread.  Stores are real, the consumer is a double."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import LogTruncationError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.errors import StateDamagedError, StateError, StateFullError
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.changelog.end_offsets import EndOffsets
from kafka_assignors.stateful.changelog.rate_limit import RateLimit
from kafka_assignors.stateful.changelog.tailing import Tailing
from kafka_assignors.stateful.state.checkpoint import Position
from kafka_assignors.stateful.state.closed_copies import ClosedCopy
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.stateful.state.task_dir import TaskDir
from kafka_assignors.wire.stateful.task_section import Task
from tests.unit.stateful.changelogs import Consumer

S0, S1, S2 = ("s", 0), ("s", 1), ("s", 2)
LOG_0, LOG_1, LOG_2 = (TopicPartition("log", number) for number in range(3))
WAITER = object()


class Bench:
    """Tailed copies, without a cluster."""

    def __init__(self, root: Path, bytes_per_s: int | None = None) -> None:
        self.now = 0.0
        self.consumer = Consumer()
        self.restored: list[tuple[Copy, object]] = []
        self.failed: list[tuple[Task, StateError]] = []
        self.state_dir = StateDir(root, "g", clock=lambda: time.time() + self.now)
        self.stores = Stores()
        consumer: Any = self.consumer
        self.tailing = Tailing(
            consumer,
            EndOffsets(consumer, self.clock),
            RateLimit(bytes_per_s, self.clock),
            self.clock,
            on_restored=lambda copy, waiter: self.restored.append((copy, waiter)),
            on_failed=lambda task, error: self.failed.append((task, error)),
        )

    def clock(self) -> float:
        return self.now

    @property
    def copies(self) -> list[Copy]:
        return [tailed.copy for tailed in self.tailing.kept]

    def copy(self, task: Task, keeps_deletes_s: float | None = None) -> Copy:
        changelog = Changelog(OurPartition("log", task[1]), None, keeps_deletes_s)
        return Copy(task, changelog, self.state_dir, self.stores)

    def begin(self, task: Task, waiter: object = None) -> Copy:
        """Begin to tail a new copy."""
        copy = self.copy(task)
        self.tailing.begin(copy, waiter)
        return copy

    def close(self) -> None:
        for copy in [*self.copies, *(copy for copy, _ in self.restored)]:
            copy.drop()
        self.state_dir.close()

    def turn(self) -> None:
        self.now += 2.0
        self.tailing.read()
        self.tailing.update_lags()


@pytest.fixture
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(tmp_path, **getattr(request, "param", {}))
    yield bench
    bench.close()


def fail_once(monkeypatch: pytest.MonkeyPatch, error: Exception, of: Store | None = None) -> None:
    """Make the next write to a store, or to any, fail."""
    really, faults = Store.apply, [error]

    def apply(store: Store, changes: Any, position: int) -> None:
        if faults and of in (None, store):
            raise faults.pop()
        really(store, changes, position)

    monkeypatch.setattr(Store, "apply", apply)


def test_standby_follows_its_changelog_and_has_a_lag(bench: Bench) -> None:
    copy = bench.begin(S0)
    bench.consumer.write(0, b"a", b"b", b"a")
    bench.turn()
    assert dict(copy.store.range()) == {b"a": b"2", b"b": b"1"}
    assert (copy.position, bench.tailing.kept.lags, bench.tailing.applied) == (3, {S0: 0}, 3)
    assert bench.tailing.applied_to == {S0: 3}
    bench.consumer.held.add(LOG_0)
    bench.consumer.write(0, b"c")
    bench.now += 2.0
    bench.tailing.update_lags()
    assert bench.tailing.kept.lags == {S0: 1}
    assert bench.restored == []


def test_promoted_standby_asks_for_the_end_offset_again(bench: Bench) -> None:
    """The former owner wrote until it gave up the task."""
    copy = bench.begin(S0)
    bench.turn()
    bench.consumer.write(0, b"a")
    bench.tailing.set_waiter(S0, WAITER)
    bench.tailing.update_lags()
    assert bench.restored == []
    bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert copy.store.get(b"a") == b"0"


def test_restored_copy_is_returned_to_its_waiter_without_a_wait_for_compacted_records(bench: Bench) -> None:
    """The store's position is the end offset all the same, so that its next write follows."""
    bench.consumer.write(0, b"a", skip=5)
    copy = bench.begin(S0, WAITER)
    bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert (bench.copies, copy.position) == ([], 6)


def test_restore_logs_its_records_and_its_time(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a", b"b", b"a")
    bench.consumer.leaderless.add(LOG_1)
    for task in (S0, S1):
        bench.begin(task, WAITER)
    bench.tailing.update_lags()
    bench.turn()
    assert [line for line in caplog.messages if "task s_" in line] == [
        "task s_0: restoring at most 3 records from 0 on",
        "task s_0: ready after 2.0 s, applied 3 records",
    ]
    for _ in range(4):
        bench.turn()
    assert caplog.messages[-1] == (
        "restoring: 1 tasks wait, at most 0 records to go; without 1 tasks that are not counted yet"
    )


def test_progress_is_logged_every_ten_seconds(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Not in the first ten: most waits are over by then."""
    caplog.set_level(logging.INFO)
    bench.now = 1_000.0
    bench.consumer.write(0, *(b"%d" % n for n in range(7)))
    bench.begin(S0, WAITER)
    bench.begin(S1, WAITER)
    bench.consumer.held.add(LOG_0)  # nothing comes
    for _ in range(11):
        bench.now += 2.0
        bench.tailing.update_lags()
    assert [line for line in caplog.messages if "to go" in line] == [
        "restoring: 1 tasks wait, at most 7 records to go"
    ] * 2


def test_promotion_logs_the_lag_of_the_standby(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.begin(S0)
    bench.turn()
    assert "task s_0" not in caplog.text
    bench.consumer.write(0, b"d", b"e")
    bench.tailing.set_waiter(S0, WAITER)
    bench.turn()
    bench.begin(S1)
    bench.turn()
    bench.tailing.set_waiter(S1, WAITER)
    bench.turn()
    assert caplog.messages == [
        "task s_0: taking over its copy, at most 2 records to apply",
        "task s_0: took over its copy in 2.0 s, applied 2 records",
        "task s_1: took over its copy in 2.0 s, applied 0 records",
    ]


def test_progress_without_a_waiter_is_not_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a")
    bench.begin(S0, WAITER)
    bench.tailing.set_waiter(S0, None)
    bench.begin(S1, WAITER)
    taken = bench.tailing.kept.take_out(S1)
    for _ in range(7):
        bench.turn()
    assert caplog.messages == []
    assert taken is not None
    taken.drop()


def test_damaged_store_is_restored_from_the_beginning(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the standby is damaged, the task restores the whole changelog."""
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a", b"b")
    copy = bench.begin(S0)
    bench.turn()
    bench.consumer.write(0, b"c")
    bench.tailing.set_waiter(S0, WAITER)
    bench.tailing.update_lags()
    fail_once(monkeypatch, StateDamagedError("bytes are flipped"))
    bench.tailing.read()
    assert bench.consumer.positions == {LOG_0: 0}
    bench.tailing.update_lags()
    assert bench.restored == []
    bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"1", b"c": b"2"}
    assert [line for line in caplog.messages if line.startswith("task")] == [
        "task s_0: taking over its copy, at most 1 records to apply",
        "task s_0: state is damaged, restoring from the beginning: bytes are flipped",
        "task s_0: restoring at most 3 records from 0 on",
        "task s_0: ready after 2.0 s, applied 3 records",
    ]


@pytest.mark.parametrize(
    ("waiter", "paused", "value"), [(None, {LOG_0}, None), (WAITER, set(), b"1")], ids=["standby", "restore"]
)
@pytest.mark.parametrize("bench", [{"bytes_per_s": 1024}], indirect=True)
def test_standbys_pause_beyond_their_rate_and_restores_do_not(
    bench: Bench, waiter: object, paused: set[TopicPartition], value: bytes | None
) -> None:
    copy = bench.begin(S0, waiter)
    bench.consumer.write(0, b"x" * 10_000)
    bench.tailing.read()
    bench.consumer.write(0, b"y")
    bench.tailing.read()
    assert (bench.consumer.held, copy.store.get(b"y")) == (paused, value)
    bench.now += 60.0
    bench.tailing.read()
    assert copy.store.get(b"y") == b"1"


def test_standbys_pause_while_a_task_waits_for_its_state(bench: Bench) -> None:
    """Its records come sooner then.  A changelog without a leader pauses nothing."""
    standby, wanted = bench.begin(S0), bench.begin(S1, WAITER)
    bench.consumer.write(0, b"a")
    bench.consumer.write(1, b"b")
    bench.tailing.read()
    assert (standby.position, wanted.position) == (0, 1)
    bench.tailing.update_lags()
    assert bench.restored == [(wanted, WAITER)]
    bench.tailing.read()
    assert standby.position == 1

    bench.consumer.leaderless = {LOG_2}
    bench.begin(S2, WAITER)
    bench.turn()
    bench.consumer.write(0, b"c")
    bench.tailing.read()
    assert standby.position == 2


@pytest.mark.parametrize(
    ("position", "stale", "lag"), [(1, False, 2), (5, False, 3), (3, True, 0), (2, True, 3)]
)
def test_closed_copies_have_a_lag(bench: Bench, position: int, stale: bool, lag: int) -> None:
    """The whole changelog if the copy would be wiped."""
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.tailing.closed_copies = {S0: ClosedCopy(Changelog(OurPartition("log", 0)), position, stale)}
    bench.turn()
    assert bench.tailing.kept.lags == {S0: lag}


def test_store_damaged_again_during_its_restore_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.consumer.write(0, b"a", b"b")
    bench.begin(S0, WAITER)

    def apply(store: Store, changes: Any, position: int) -> None:
        raise StateDamagedError("bytes are flipped")

    monkeypatch.setattr(Store, "apply", apply)
    for _ in range(3):
        bench.turn()
    [(task, error)] = bench.failed
    assert (task, type(error)) == (S0, StateError)
    assert "damaged again before a commit: bytes are flipped" in str(error)


@pytest.mark.parametrize("waiter", [None, WAITER], ids=["standby", "restore"])
def test_flush_ends_the_doubt_after_a_wipe_only_for_a_standby(bench: Bench, waiter: object) -> None:
    """A restore may take longer than the time between flushes."""
    copy = bench.copy(S0)
    copy.in_doubt = True
    bench.consumer.write(0, b"a", skip=1)
    bench.tailing.begin(copy, waiter)
    bench.tailing.read()
    assert (copy.checkpointed, copy.in_doubt) == (0, True)
    bench.now += 31.0
    bench.tailing.read()
    assert (copy.checkpointed, copy.in_doubt) == (1, waiter is not None)


def test_each_of_many_copies_is_flushed_in_turn(bench: Bench) -> None:
    """With one flush a turn, the first copies are due again before the last ones had their turn."""
    copies = [bench.begin(task) for task in (S0, S1, S2)]
    for partition in range(3):
        bench.consumer.write(partition, b"a")
    bench.tailing.read()
    for _ in range(3):
        bench.now += 31.0
        bench.tailing.read()
    assert [copy.checkpointed for copy in copies] == [1, 1, 1]


def test_copy_without_room_does_not_stop_the_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = bench.begin(S0), bench.begin(S1)
    for partition in (0, 1):
        bench.consumer.write(partition, b"a")
    fail_once(monkeypatch, StateFullError("no room"), first.store)
    bench.turn()
    assert [task for task, _ in bench.failed] == [S0]
    assert (bench.copies, bench.tailing.applied, bench.tailing.applied_to) == ([second], 1, {S1: 1})
    assert second.store.get(b"a") == b"0"
    with bench.state_dir.claim(S0):
        pass  # the directory is released


def test_changelog_that_ends_before_the_copy_restarts_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    copy = bench.copy(S0)
    copy.apply([(b"old", b"1")], 100)
    bench.consumer.write(0, b"a")
    bench.tailing.begin(copy, WAITER)
    bench.tailing.reposition()
    assert "it was truncated or created again" in caplog.text
    bench.turn()
    assert dict(copy.store.range()) == {b"a": b"0"}


def lose(bench: Bench, partition: int, end: int) -> None:
    """Drop the records from ``end`` on, as an unclean election does."""
    at = TopicPartition("log", partition)
    bench.consumer.log[at] = [record for record in bench.consumer.log[at] if record[0] < end]
    bench.consumer.ends[at] = end


def test_end_offset_that_moves_back_ends_the_wait(bench: Bench) -> None:
    """The task would wait for records that never come."""
    bench.consumer.write(0, *(b"%d" % n for n in range(10)))
    bench.consumer.held.add(LOG_0)
    copy = bench.begin(S0, WAITER)
    bench.tailing.update_lags()
    assert bench.tailing.kept.lags == {S0: 10}
    lose(bench, 0, 6)
    bench.consumer.held.clear()
    for _ in range(2):
        bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert copy.position == 6


@pytest.mark.parametrize("wanted", [True, False])
def test_copy_ahead_of_its_changelog_is_restored_anew(
    bench: Bench, caplog: pytest.LogCaptureFixture, wanted: bool
) -> None:
    """Its last records are lost for all other members; a waiting task gets the others."""
    bench.consumer.write(0, *(b"%d" % n for n in range(10)))
    copy = bench.begin(S0)
    bench.turn()
    lose(bench, 0, 6)
    if wanted:
        bench.tailing.set_waiter(S0, WAITER)
    for _ in range(3):
        bench.turn()
    assert "ends at offset 6, before 10, the position of the copy" in caplog.text
    assert len(dict(copy.store.range())) == 6
    assert bench.restored == ([(copy, WAITER)] if wanted else [])


@pytest.mark.parametrize("wanted", [True, False])
def test_copy_restarts_in_a_changelog_that_was_deleted_and_created_again(
    bench: Bench, caplog: pytest.LogCaptureFixture, wanted: bool
) -> None:
    """The new topic may be longer than the position in the old one."""
    copy = Copy(S0, Changelog(OurPartition("log", 0), "id-1"), bench.state_dir, bench.stores)
    bench.consumer.topic_ids["log"] = "id-1"
    bench.consumer.write(0, b"a", b"old")
    bench.tailing.begin(copy, None)
    bench.turn()
    lose(bench, 0, 0)
    bench.consumer.topic_ids["log"] = "id-2"
    bench.consumer.write(0, b"a", b"b", b"c")
    if wanted:
        bench.tailing.set_waiter(S0, WAITER)
    for _ in range(3):
        bench.turn()
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"1", b"c": b"2"}
    assert bench.restored == ([(copy, WAITER)] if wanted else [])
    assert caplog.text.count("changelog log-0 was deleted and created again") == 1
    copy.flush()
    assert bench.state_dir.tasks() == {S0: {OurPartition("log", 0): Position(3, "id-2")}}


def test_ends_are_asked_for_once_a_second_and_for_new_copies_at_once(bench: Bench) -> None:
    bench.begin(S0)
    for _ in range(5):
        bench.tailing.update_lags()
    assert bench.consumer.asked == 1
    bench.begin(S1)
    bench.tailing.update_lags()
    assert bench.consumer.asked == 2
    bench.now += 1.0
    bench.tailing.update_lags()
    assert bench.consumer.asked == 3


# --- changelogs that do not answer


def test_changelog_without_a_leader_delays_no_other(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The others are restored and measured; it is asked again, and logged once."""
    bench.consumer.leaderless = {LOG_0}
    for partition in range(3):
        bench.consumer.write(partition, b"a")
    stuck, fine = bench.begin(S0, WAITER), bench.begin(S1, WAITER)
    bench.begin(S2)
    bench.tailing.closed_copies = {("s", 3): ClosedCopy(Changelog(OurPartition("log", 3)), 0)}
    bench.consumer.write(3, b"a", b"b")
    bench.turn()
    assert bench.restored == [(fine, WAITER)]
    bench.turn()
    assert bench.tailing.kept.lags == {S2: 0, ("s", 3): 2}
    assert caplog.text.count("changelog log-0: no offset (no leader)") == 1
    for _ in range(3):
        bench.turn()
    assert caplog.text.count("changelog log-0: no offset") == 1
    bench.consumer.leaderless = set()
    for _ in range(3):
        bench.turn()
    assert bench.restored == [(fine, WAITER), (stuck, WAITER)]


def test_silent_changelog_is_not_asked_every_turn(bench: Bench) -> None:
    bench.consumer.gone = {"log"}
    bench.begin(S0, WAITER)
    for _ in range(5):
        bench.tailing.update_lags()
    assert bench.consumer.asked == 1
    bench.now += 5.0
    bench.consumer.gone = set()
    bench.tailing.update_lags()
    assert bench.consumer.asked == 2
    assert bench.restored


def test_copies_of_a_deleted_changelog_keep_their_lags(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b")
    copy = bench.begin(S0)
    bench.turn()
    bench.consumer.gone = {"log"}
    bench.turn()
    bench.tailing.reposition()
    assert (bench.copies, bench.tailing.kept.lags, bench.failed) == ([copy], {S0: 0}, [])
    bench.tailing.set_waiter(S0, WAITER)
    bench.turn()
    assert bench.tailing.kept.lags == {S0: 0}, "no lag would count as the whole changelog"


def test_opened_copy_keeps_the_lag_of_the_closed_one(bench: Bench) -> None:
    copy = bench.copy(S0)
    copy.apply([(b"a", b"0")], 1)
    bench.consumer.write(0, b"a", b"b")
    bench.tailing.closed_copies = {S0: ClosedCopy(Changelog(OurPartition("log", 0)), 1)}
    bench.tailing.update_lags()
    bench.consumer.gone = {"log"}
    bench.tailing.closed_copies = {}
    bench.tailing.begin(copy, None)
    bench.now += 2.0
    bench.tailing.update_lags()
    assert bench.tailing.kept.lags == {S0: 1}


# --- no record is skipped


def test_copy_with_an_unexpected_error_is_read_again_and_delays_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer is past its records, and the copy must not be returned without them."""
    for partition in (0, 1):
        bench.consumer.write(partition, b"a", b"b")
    first, second = bench.begin(S0, WAITER), bench.begin(S1, WAITER)
    fail_once(monkeypatch, ValueError("unexpected"), first.store)
    with pytest.raises(ValueError, match="unexpected"):
        bench.tailing.read()
    bench.tailing.update_lags()
    assert bench.restored == [(second, WAITER)]
    bench.turn()
    assert bench.restored == [(second, WAITER), (first, WAITER)]
    assert dict(first.store.range()) == {b"a": b"0", b"b": b"1"}


@pytest.mark.parametrize(
    ("divergent", "restarts"),
    [(OffsetAndMetadata(2, "", 1), True), (None, True), (OffsetAndMetadata(3, "", 1), False)],
)
def test_copy_beyond_a_divergent_offset_restarts(
    bench: Bench, caplog: pytest.LogCaptureFixture, divergent: OffsetAndMetadata | None, restarts: bool
) -> None:
    """After an unclean election other records took these offsets."""
    bench.consumer.write(0, b"a", b"b", b"never")
    copy = bench.begin(S0)
    bench.turn()
    bench.consumer.log[LOG_0][2] = (2, b"c", b"2")
    bench.consumer.write(0, b"d")
    bench.tailing.on_truncation(LogTruncationError({LOG_0: divergent, TopicPartition("log", 7): None}))
    assert ("an out-of-sync replica became leader" in caplog.text) == restarts
    assert bench.tailing.kept.lags == ({} if restarts else {S0: 0}), "the member may report it at any time"
    bench.turn()
    assert (copy.store.get(b"never") is None) == restarts
    assert copy.store.get(b"d") == b"3"
    assert bench.tailing.kept.lags == {S0: 0}


def _old_copy(bench: Bench) -> Copy:
    """A copy at offset 2, older than its changelog keeps deletes."""
    copy = bench.copy(S0, keeps_deletes_s=100.0)
    copy.apply([(b"a", b"0"), (b"deleted", b"1")], 2)
    copy.close()
    file = bench.state_dir.path / "s_0" / "checkpoint"
    os.utime(file, (0, 0))
    return bench.copy(S0, keeps_deletes_s=100.0)


def _compact_a_delete_away(bench: Bench) -> None:
    """The changelog of `_old_copy` gets a delete and a newer record; compaction removes the delete."""
    bench.consumer.write(0, b"a", b"deleted", skip=1)
    bench.consumer.write(0, b"b")
    del bench.consumer.log[LOG_0][1]


def test_old_copy_with_newer_records_in_its_changelog_restarts(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Compaction has removed a delete that it has not seen."""
    copy = _old_copy(bench)
    _compact_a_delete_away(bench)
    bench.tailing.begin(copy, WAITER)
    bench.turn()
    assert bench.restored == []
    assert "may have compacted deletes away" in caplog.text
    bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"3"}


def test_old_copy_without_newer_records_in_its_changelog_is_used(bench: Bench) -> None:
    """The whole application was stopped."""
    copy = _old_copy(bench)
    bench.consumer.write(0, b"a", b"deleted")
    bench.tailing.begin(copy, WAITER)
    assert bench.state_dir.unconfirmed_s(S0) > 100, "opening does not confirm the checkpoint"
    copy.flush()
    assert bench.state_dir.unconfirmed_s(S0) > 100
    bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert copy.store.get(b"deleted") == b"1"
    copy.flush()
    assert bench.state_dir.unconfirmed_s(S0) < 100


def test_old_copy_that_was_read_without_its_end_known_restarts_when_it_is_opened_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """It has all records, but not the delete that compaction has removed."""
    copy = _old_copy(bench)
    _compact_a_delete_away(bench)
    copy.apply([(b"b", b"3")], 4)
    copy.close()
    bench.tailing.begin(bench.copy(S0, keeps_deletes_s=100.0), WAITER)
    bench.turn()
    assert "may have compacted deletes away" in caplog.text
    bench.turn()
    [(restored, _)] = bench.restored
    assert dict(restored.store.range()) == {b"a": b"0", b"b": b"3"}


@pytest.mark.parametrize("away_s", [50.0, 500.0])
@pytest.mark.parametrize("fails", ["poll", "all"])
def test_standby_out_of_touch_for_long_restarts_if_its_changelog_has_newer_records(
    bench: Bench, away_s: float, fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Compaction may have removed deletes, although the process was not restarted."""
    bench.tailing.begin(copy := bench.copy(S0, keeps_deletes_s=100.0), None)
    bench.consumer.write(0, b"a", b"deleted")
    bench.turn()
    if fails == "all":  # else the process is suspended
        bench.consumer.leaderless = {LOG_0}
        for _ in range(10):
            bench.now += away_s / 10
            bench.tailing.read()
            bench.tailing.update_lags()
    else:
        bench.now += away_s
    assert copy.stale == (away_s > 100)
    bench.consumer.write(0, b"compacted", b"b")
    del bench.consumer.log[LOG_0][2]
    if away_s > 100:
        del bench.consumer.log[LOG_0][1]
    bench.consumer.leaderless = set()
    bench.now += 40.0
    for _ in range(2):
        bench.turn()
    assert ("may have compacted deletes away" in caplog.text) == (away_s > 100)
    assert (copy.store.get(b"deleted") is None) == (away_s > 100)
    assert copy.store.get(b"b") == b"3"
    assert not copy.stale


def test_standby_out_of_touch_for_long_goes_on_if_its_changelog_has_nothing_newer(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.tailing.begin(copy := bench.copy(S0, keeps_deletes_s=100.0), None)
    bench.consumer.write(0, b"a")
    for _ in range(2):
        bench.turn()
        bench.now += 500.0
    assert copy.checkpointed == 1, "flushed, because it had read nothing since it was in touch"
    assert bench.state_dir.unconfirmed_s(S0) > 400
    for _ in range(2):
        bench.turn()
    assert "may have compacted deletes away" not in caplog.text
    copy.flush()
    assert bench.state_dir.unconfirmed_s(S0) < 100


def test_standby_that_reads_on_is_in_touch_although_its_end_is_not_known(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """One partition without an answer keeps the ends of its whole topic unknown."""
    bench.tailing.begin(copy := bench.copy(S0, keeps_deletes_s=100.0), None)
    bench.turn()
    bench.consumer.gone = {"log"}
    for _ in range(60):
        bench.consumer.write(0, b"a")
        bench.turn()
    bench.consumer.gone = set()
    for _ in range(5):
        bench.turn()
    assert copy.position == 60
    assert "may have compacted deletes away" not in caplog.text


def test_copy_on_disk_is_stale_after_the_shortest_time(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """The minimum of a minute is for a copy in use, which a busy thread may confirm late."""
    copy = bench.copy(S0, keeps_deletes_s=0.1)
    copy.apply([(b"a", b"0"), (b"deleted", b"1")], 2)
    copy.close()
    bench.now += 45.0
    _compact_a_delete_away(bench)
    bench.tailing.begin(bench.copy(S0, keeps_deletes_s=0.1), WAITER)
    for _ in range(2):
        bench.turn()
    assert "may have compacted deletes away" in caplog.text
    [(restored, _)] = bench.restored
    assert dict(restored.store.range()) == {b"a": b"0", b"b": b"3"}


def test_task_does_not_get_a_copy_that_was_out_of_touch_for_long_before_the_end_is_heard(
    bench: Bench,
) -> None:
    copy = bench.copy(S0, keeps_deletes_s=100.0)
    copy.apply([(b"a", b"0"), (b"deleted", b"1")], 2)
    _compact_a_delete_away(bench)
    bench.tailing.begin(copy, WAITER)
    bench.tailing.update_lags()
    bench.now += 500.0
    bench.tailing.read()
    bench.consumer.gone = {"log"}
    bench.tailing.update_lags()
    assert (copy.position, bench.restored) == (4, [])
    bench.consumer.gone = set()
    for _ in range(2):
        bench.now += 10.0
        bench.turn()
    assert bench.restored == [(copy, WAITER)]
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"3"}


def test_old_copy_of_an_empty_changelog_does_not_restart(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """It has no key whose delete it could have missed."""
    bench.copy(S0, keeps_deletes_s=100.0).close()
    os.utime(bench.state_dir.path / "s_0" / "checkpoint", (0, 0))
    bench.tailing.begin(bench.copy(S0, keeps_deletes_s=100.0), WAITER)
    bench.consumer.write(0, b"a")
    bench.turn()
    assert [copy.position for copy, _ in bench.restored] == [1]
    assert caplog.messages == []


@pytest.mark.parametrize("keeps_deletes_s", [0.0, None])
def test_standby_of_a_changelog_that_keeps_deletes_shortly_does_not_restart_again_and_again(
    bench: Bench, keeps_deletes_s: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    bench.tailing.begin(bench.copy(S0, keeps_deletes_s=keeps_deletes_s), None)
    for _ in range(3):
        bench.consumer.write(0, b"a")
        bench.turn()
    assert caplog.messages == []


def test_copy_that_was_given_up_is_not_wiped_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its directory is released, so another copy of the task may be in it."""
    copy = _old_copy(bench)
    copy.apply([(b"b", b"3")], 4)
    bench.consumer.write(0, b"a", b"b", b"c")
    wiped: list[Task] = []

    def wipe(directory: TaskDir) -> None:
        wiped.append(directory.task)
        raise StateFullError("no room")

    monkeypatch.setattr(TaskDir, "wipe", wipe)
    bench.tailing.begin(copy, WAITER)
    bench.tailing.update_lags()
    assert [task for task, _ in bench.failed] == [S0]
    assert wiped == [S0]


# --- cost


def test_positions_are_read_for_ten_lagging_copies_at_a_time(bench: Bench) -> None:
    """kafka-python walks over all partitions for each."""
    bench.begin(S0)
    bench.consumer.write(0, b"a")
    bench.turn()
    bench.turn()
    assert bench.consumer.positions_asked == 0, "the copy is at the end offset"
    partitions = range(1, 26)
    for partition in partitions:
        bench.begin(("s", partition), WAITER)
        bench.consumer.ends[TopicPartition("log", partition)] = 5  # compaction removed all records
    counts = []
    for _ in range(3):
        bench.turn()
        counts.append(bench.consumer.positions_asked)
    assert counts == [10, 20, 25]
    assert {copy.task[1] for copy, _ in bench.restored} == {*partitions}


def test_each_lagging_copy_gets_its_turn(bench: Bench) -> None:
    """Ten copies whose brokers are away do not keep an eleventh waiting."""
    stuck = {TopicPartition("log", partition) for partition in range(10)}
    for partition in range(11):
        bench.consumer.ends[TopicPartition("log", partition)] = 5
        bench.begin(("s", partition), WAITER)
    bench.tailing.update_lags()
    bench.consumer.leaderless = stuck
    for _ in range(2):
        bench.turn()
    assert [copy.task for copy, _ in bench.restored] == [("s", 10)]


def test_lags_are_updated_ten_times_a_second_while_a_task_waits(bench: Bench) -> None:
    """Once a second otherwise."""
    bench.begin(S0)
    bench.turn()
    noted = bench.tailing.kept.lags
    bench.now += 0.5
    bench.tailing.update_lags()
    assert bench.tailing.kept.lags is noted
    bench.consumer.leaderless = {LOG_0}
    bench.tailing.set_waiter(S0, WAITER)
    bench.tailing.update_lags()
    noted = bench.tailing.kept.lags
    bench.now += 0.05
    bench.tailing.update_lags()
    assert bench.tailing.kept.lags is noted
    bench.now += 0.06
    bench.tailing.update_lags()
    assert bench.tailing.kept.lags is not noted
