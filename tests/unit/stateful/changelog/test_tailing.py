"""``Tailing``: what the changelog reader's thread does.  Stores are real, the consumer is doubled."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import LogTruncationError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.errors import StateDamagedError, StateError, StateFullError
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.changelog.ends import Ends
from kafka_assignors.stateful.changelog.pace import Pace
from kafka_assignors.stateful.changelog.tailing import Tailing
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.on_disk import Resting
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.stateful.topology import Task
from tests.unit.stateful.changelogs import Consumer

S0, S1, S2 = ("s", 0), ("s", 1), ("s", 2)
GOAL = object()


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
            Ends(consumer, self.clock),
            Pace(bytes_per_s, self.clock),
            self.clock,
            on_restored=lambda copy, goal: self.restored.append((copy, goal)),
            on_failed=lambda task, error: self.failed.append((task, error)),
        )

    def clock(self) -> float:
        return self.now

    def copy(self, task: Task, keeps_deletes_s: float | None = None) -> Copy:
        changelog = Changelog(OurPartition("log", task[1]), None, keeps_deletes_s)
        return Copy(task, changelog, self.state_dir, self.stores)

    def close(self) -> None:
        for copy in [*self.tailing.copies, *(copy for copy, _ in self.restored)]:
            copy.drop()
        self.state_dir.close()

    def turn(self) -> None:
        self.now += 2.0
        self.tailing.read()
        self.tailing.look_at_ends()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def fail_once(monkeypatch: pytest.MonkeyPatch, error: Exception, of: Store | None = None) -> None:
    """The next change that is written to a store, or to any, is an error; then all is well."""
    really, faults = Store.apply, [error]

    def apply(store: Store, changes: Any, position: int) -> None:
        if faults and of in (None, store):
            raise faults.pop()
        really(store, changes, position)

    monkeypatch.setattr(Store, "apply", apply)


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


def test_what_is_restored_says_how_much_that_is_and_how_long_it_took(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a", b"b", b"a")
    bench.consumer.leaderless.add(TopicPartition("log", 1))
    for task in (S0, S1):
        bench.tailing.begin(bench.copy(task), GOAL)
    bench.tailing.look_at_ends()
    bench.turn()
    assert [said for said in caplog.messages if "task s_" in said] == [
        "task s_0 restores 3 records, from 0 on",
        "task s_0 is ready after 2.0 s: applied 3 records",
    ]
    for _ in range(4):
        bench.turn()
    assert caplog.messages[-1] == (
        "tasks that wait for their state: 1; records to go: 0, and what 1 of them lack"
    )


def test_progress_is_told_every_ten_seconds(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, *(b"%d" % n for n in range(7)))
    bench.tailing.begin(bench.copy(S0), GOAL)
    bench.tailing.begin(bench.copy(S1), GOAL)
    bench.consumer.held.add(TopicPartition("log", 0))  # nothing comes
    for _ in range(11):
        bench.now += 2.0
        bench.tailing.look_at_ends()
    assert [said for said in caplog.messages if "to go" in said] == [
        "tasks that wait for their state: 1; records to go: 7"
    ] * 2


def test_the_first_ten_seconds_of_a_wait_are_not_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Most are over by then, however long nobody had to wait before."""
    caplog.set_level(logging.INFO)
    bench.now = 1_000.0
    bench.consumer.write(0, b"a")
    bench.tailing.begin(bench.copy(S0), GOAL)
    bench.consumer.held.add(TopicPartition("log", 0))
    for _ in range(4):
        bench.now += 2.0
        bench.tailing.look_at_ends()
    assert "to go" not in caplog.text
    bench.now += 2.0
    bench.tailing.look_at_ends()
    assert "to go" in caplog.text


def test_who_takes_over_from_a_standby_says_so(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.tailing.begin(bench.copy(S0), None)
    bench.turn()
    assert "task s_0" not in caplog.text
    bench.consumer.write(0, b"d", b"e")
    bench.tailing.aim(S0, GOAL)
    bench.turn()
    bench.tailing.begin(bench.copy(S1), None)
    bench.turn()
    bench.tailing.aim(S1, GOAL)
    bench.turn()
    assert caplog.messages == [
        "task s_0 takes over from its standby, which lacks 2 records",
        "task s_0 is ready after 2.0 s, from its standby: applied 2 records",
        "task s_1 is ready after 2.0 s, from its standby: applied 0 records",
    ]


def test_what_nobody_waits_for_any_more_is_not_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a")
    bench.tailing.begin(bench.copy(S0), GOAL)
    bench.tailing.aim(S0, None)
    bench.tailing.begin(bench.copy(S1), GOAL)
    taken = bench.tailing.take_out(S1)
    for _ in range(7):
        bench.turn()
    assert caplog.messages == []
    assert taken is not None
    taken.drop()


def test_what_is_restored_once_more_says_so_again(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was to take over from a standby has the whole changelog to read, when that is damaged."""
    caplog.set_level(logging.INFO)
    bench.consumer.write(0, b"a", b"b")
    bench.tailing.begin(bench.copy(S0), None)
    bench.turn()
    bench.consumer.write(0, b"c")
    bench.tailing.aim(S0, GOAL)
    bench.tailing.look_at_ends()
    fail_once(monkeypatch, StateDamagedError("bytes are flipped"))
    bench.tailing.read()
    bench.tailing.look_at_ends()
    bench.turn()
    assert [said for said in caplog.messages if said.startswith("task")] == [
        "task s_0 takes over from its standby, which lacks 1 records",
        "task s_0 restores 3 records, from 0 on",
        "task s_0 is ready after 2.0 s: applied 3 records",
    ]


def test_standbys_wait_where_they_had_their_share(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bytes_per_s=1024)
    standby = bench.copy(S0)
    bench.tailing.begin(standby, None)
    bench.consumer.write(0, b"x" * 10_000)
    bench.tailing.read()
    bench.consumer.write(0, b"y")
    bench.tailing.read()
    assert bench.consumer.held == {TopicPartition("log", 0)}
    assert standby.store.get(b"y") is None
    bench.now += 60.0
    bench.tailing.read()
    assert standby.store.get(b"y") == b"1"
    bench.close()


def test_what_is_restored_waits_for_no_rate(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bytes_per_s=1024)
    wanted = bench.copy(S1)
    bench.tailing.begin(wanted, GOAL)
    bench.consumer.write(1, b"x" * 10_000)
    bench.tailing.read()
    bench.consumer.write(1, b"z")
    bench.tailing.read()
    assert (bench.consumer.held, wanted.store.get(b"z")) == (set(), b"1")
    bench.close()


def test_standbys_wait_while_a_task_waits_for_its_state(bench: Bench) -> None:
    """Its records come sooner for it; and not for a changelog that nobody can read now."""
    standby, wanted = bench.copy(S0), bench.copy(S1)
    bench.tailing.begin(standby, None)
    bench.tailing.begin(wanted, GOAL)
    bench.consumer.write(0, b"a")
    bench.consumer.write(1, b"b")
    bench.tailing.read()
    assert (standby.position, wanted.position) == (0, 1)
    bench.tailing.look_at_ends()
    assert bench.restored == [(wanted, GOAL)]
    bench.tailing.read()
    assert standby.position == 1

    bench.consumer.leaderless = {TopicPartition("log", 2)}
    bench.tailing.begin(bench.copy(S2), GOAL)
    bench.turn()
    bench.consumer.write(0, b"c")
    bench.tailing.read()
    assert standby.position == 2


def test_copies_at_rest_have_a_lag_too(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b", b"c")
    bench.tailing.resting = {S0: Resting(Changelog(OurPartition("log", 0)), 1)}
    bench.turn()
    assert bench.tailing.lags == {S0: 2}


def test_a_store_that_is_damaged_is_restored_from_the_beginning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.consumer.write(0, b"a", b"b")
    copy = bench.copy(S0)
    bench.tailing.begin(copy, GOAL)
    fail_once(monkeypatch, StateDamagedError("bytes are flipped"))
    bench.tailing.read()
    assert (bench.restored, bench.consumer.at) == ([], {TopicPartition("log", 0): 0})
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"1"}


def test_a_store_that_is_damaged_again_as_it_is_restored_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.consumer.write(0, b"a", b"b")
    bench.tailing.begin(bench.copy(S0), GOAL)

    def apply(store: Store, changes: Any, position: int) -> None:
        raise StateDamagedError("bytes are flipped")

    monkeypatch.setattr(Store, "apply", apply)
    for _ in range(3):
        bench.turn()
    [(task, error)] = bench.failed
    assert (task, type(error)) == (S0, StateError)
    assert "this came again: bytes are flipped" in str(error)


def test_a_standby_that_was_saved_since_it_was_wiped_is_of_use(bench: Bench) -> None:
    copy = bench.copy(S0)
    copy.in_doubt = True
    bench.tailing.begin(copy, None)
    bench.consumer.write(0, b"a")
    bench.turn()
    assert copy.in_doubt
    bench.now += 31.0
    bench.turn()
    assert not copy.in_doubt


def test_what_is_saved_while_somebody_waits_for_it_has_been_of_no_use_yet(bench: Bench) -> None:
    """A restore may take longer than it takes until it is saved."""
    copy = bench.copy(S0)
    copy.in_doubt = True
    bench.consumer.write(0, b"a", skip=1)
    bench.tailing.begin(copy, GOAL)
    bench.now += 31.0
    bench.tailing.read()
    assert (copy.saved, copy.in_doubt) == (1, True)


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


def lose(bench: Bench, partition: int, end: int) -> None:
    """Records from there on are lost, as by an unclean election."""
    at = TopicPartition("log", partition)
    bench.consumer.log[at] = [record for record in bench.consumer.log[at] if record[0] < end]
    bench.consumer.ends[at] = end


def test_an_end_that_moves_back_while_a_task_waits_for_it_is_the_end(bench: Bench) -> None:
    """Else it would wait for records that never come."""
    bench.consumer.write(0, *(b"%d" % n for n in range(10)))
    bench.consumer.held.add(TopicPartition("log", 0))
    copy = bench.copy(S0)
    bench.tailing.begin(copy, GOAL)
    bench.tailing.look_at_ends()
    assert bench.tailing.lags == {S0: 10}
    lose(bench, 0, 6)
    bench.consumer.held.clear()
    for _ in range(2):
        bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert copy.position == 6


@pytest.mark.parametrize("wanted", [True, False])
def test_a_copy_that_is_ahead_of_its_changelog_is_not_of_use(
    bench: Bench, caplog: pytest.LogCaptureFixture, wanted: bool
) -> None:
    """It has what nobody else will ever have; a task that waits for it gets what there is."""
    bench.consumer.write(0, *(b"%d" % n for n in range(10)))
    copy = bench.copy(S0)
    bench.tailing.begin(copy, None)
    bench.turn()
    lose(bench, 0, 6)
    if wanted:
        bench.tailing.aim(S0, GOAL)
    for _ in range(3):
        bench.turn()
    assert "ends at 6, before 10, where it is" in caplog.text
    assert len(dict(copy.store.range())) == 6
    assert bench.restored == ([(copy, GOAL)] if wanted else [])


def test_a_copy_at_rest_that_is_ahead_lacks_all_there_is(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b")
    bench.tailing.resting = {S0: Resting(Changelog(OurPartition("log", 0)), 5)}
    bench.turn()
    assert bench.tailing.lags == {S0: 2}


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


# --- what cannot be asked


def test_a_changelog_without_a_leader_holds_up_no_other(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are handed out, and their lags go on; it is looked for again, and said once."""
    bench.consumer.leaderless = {TopicPartition("log", 0)}
    stuck, fine, standby = bench.copy(S0), bench.copy(S1), bench.copy(S2)
    for partition, (copy, goal) in enumerate([(stuck, GOAL), (fine, GOAL), (standby, None)]):
        bench.consumer.write(partition, b"a")
        bench.tailing.begin(copy, goal)
    bench.tailing.resting = {("s", 3): Resting(Changelog(OurPartition("log", 3)), 0)}
    bench.consumer.write(3, b"a", b"b")
    bench.turn()
    assert bench.restored == [(fine, GOAL)]
    bench.turn()
    assert bench.tailing.lags == {S2: 0, ("s", 3): 2}
    assert caplog.text.count("cannot see where changelog log-0 ends: it has no leader") == 1
    for _ in range(3):
        bench.turn()
    assert caplog.text.count("cannot see where changelog log-0 ends") == 1
    bench.consumer.leaderless = set()
    for _ in range(3):
        bench.turn()
    assert bench.restored == [(fine, GOAL), (stuck, GOAL)]


def test_one_that_did_not_answer_is_not_asked_all_the_time(bench: Bench) -> None:
    bench.consumer.gone = {"log"}
    bench.tailing.begin(bench.copy(S0), GOAL)
    for _ in range(5):
        bench.tailing.look_at_ends()
    assert bench.consumer.asked == 1
    bench.now += 5.0
    bench.consumer.gone = set()
    bench.tailing.look_at_ends()
    assert bench.consumer.asked == 2
    assert bench.restored


def test_a_changelog_that_is_gone_keeps_its_copies_and_their_lags(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b")
    copy = bench.copy(S0)
    bench.tailing.begin(copy, None)
    bench.turn()
    bench.consumer.gone = {"log"}
    bench.turn()
    bench.tailing.reposition()
    assert (bench.tailing.copies, bench.tailing.lags, bench.failed) == ([copy], {S0: 0}, [])


def test_a_promotion_that_cannot_look_has_the_lag_it_had(bench: Bench) -> None:
    """Not none at all: it would count as the whole changelog."""
    bench.tailing.begin(bench.copy(S0), None)
    bench.consumer.write(0, b"a")
    bench.turn()
    bench.consumer.gone = {"log"}
    bench.tailing.aim(S0, GOAL)
    bench.turn()
    assert bench.tailing.lags == {S0: 0}


def test_a_copy_from_the_disk_has_the_lag_it_had_there(bench: Bench) -> None:
    copy = bench.copy(S0)
    copy.apply([(b"a", b"0")], 1)
    bench.consumer.write(0, b"a", b"b")
    bench.tailing.resting = {S0: Resting(Changelog(OurPartition("log", 0)), 1)}
    bench.tailing.look_at_ends()
    bench.consumer.gone = {"log"}
    bench.tailing.resting = {}
    bench.tailing.begin(copy, None)
    bench.now += 2.0
    bench.tailing.look_at_ends()
    assert bench.tailing.lags == {S0: 1}


# --- nothing is passed over


def test_what_fails_in_an_unexpected_way_is_read_again_and_the_others_are_not_held_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer is past those records; the copy is not, and must not be handed out without them."""
    one, other = bench.copy(S0), bench.copy(S1)
    for partition, copy in enumerate((one, other)):
        bench.consumer.write(partition, b"a", b"b")
        bench.tailing.begin(copy, GOAL)
    fail_once(monkeypatch, ValueError("nobody thought of it"), one.store)
    with pytest.raises(ValueError, match="nobody thought of it"):
        bench.tailing.read()
    bench.tailing.look_at_ends()
    assert bench.restored == [(other, GOAL)]
    bench.turn()
    assert bench.restored == [(other, GOAL), (one, GOAL)]
    assert dict(one.store.range()) == {b"a": b"0", b"b": b"1"}


@pytest.mark.parametrize(
    ("upto", "begins_anew"),
    [(OffsetAndMetadata(2, "", 1), True), (None, True), (OffsetAndMetadata(3, "", 1), False)],
)
def test_a_changelog_that_lost_what_was_read_is_read_from_the_beginning(
    bench: Bench, caplog: pytest.LogCaptureFixture, upto: OffsetAndMetadata | None, begins_anew: bool
) -> None:
    """An unclean election: others wrote again from there on, so the copy has what never was."""
    at = TopicPartition("log", 0)
    bench.consumer.write(0, b"a", b"b", b"never")
    copy = bench.copy(S0)
    bench.tailing.begin(copy, None)
    bench.turn()
    bench.consumer.log[at][2] = (2, b"c", b"2")
    bench.consumer.write(0, b"d")
    bench.tailing.cut_off(LogTruncationError({at: upto, TopicPartition("log", 7): None}))
    assert ("a broker that lacked some of it leads" in caplog.text) == begins_anew
    assert bench.tailing.lags == ({} if begins_anew else {S0: 0}), "it is told to others at any time"
    bench.turn()
    assert (copy.store.get(b"never") is None) == begins_anew
    assert copy.store.get(b"d") == b"3"
    assert bench.tailing.lags == {S0: 0}


def _lay_there_for_long(bench: Bench) -> Copy:
    """A copy that was at offset 2 when its changelog may have forgotten deletes."""
    copy = bench.copy(S0, keeps_deletes_s=100.0)
    copy.apply([(b"a", b"0"), (b"deleted", b"1")], 2)
    copy.close()
    file = bench.state_dir.path / "s_0" / "checkpoint"
    os.utime(file, (0, 0))
    return bench.copy(S0, keeps_deletes_s=100.0)


def test_a_copy_that_missed_deletes_begins_anew(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Compaction has taken the record that says so."""
    copy = _lay_there_for_long(bench)
    bench.consumer.write(0, b"a", b"deleted", skip=1)
    bench.consumer.write(0, b"b")
    del bench.consumer.log[TopicPartition("log", 0)][1]
    bench.tailing.begin(copy, GOAL)
    bench.turn()
    assert bench.restored == []
    assert "may have forgotten what was deleted" in caplog.text
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert dict(copy.store.range()) == {b"a": b"0", b"b": b"3"}


def test_a_copy_that_missed_nothing_is_of_use_however_long_it_lay_there(bench: Bench) -> None:
    """The whole application stood still."""
    copy = _lay_there_for_long(bench)
    bench.consumer.write(0, b"a", b"deleted")
    bench.tailing.begin(copy, GOAL)
    assert bench.state_dir.unconfirmed_s(S0) > 100, "opened is not looked at"
    copy.save()
    assert bench.state_dir.unconfirmed_s(S0) > 100
    bench.turn()
    assert bench.restored == [(copy, GOAL)]
    assert copy.store.get(b"deleted") == b"1"
    copy.save()
    assert bench.state_dir.unconfirmed_s(S0) < 100


def test_a_copy_that_cannot_be_used_lacks_all_there_is(bench: Bench) -> None:
    bench.consumer.write(0, b"a", b"b", b"c")
    changelog = Changelog(OurPartition("log", 0))
    for position, lag in ((3, 0), (2, 3)):
        bench.tailing.resting = {S0: Resting(changelog, position, stale=True)}
        bench.turn()
        assert bench.tailing.lags == {S0: lag}


# --- how much it costs


def test_positions_are_asked_for_where_records_are_missing_and_of_a_few_at_a_time(bench: Bench) -> None:
    """kafka-python walks over all partitions for each."""
    bench.tailing.begin(bench.copy(S0), None)
    bench.consumer.write(0, b"a")
    bench.turn()
    bench.turn()
    assert bench.consumer.positions_asked == 0, "it is where the changelog ends"
    some = range(1, 26)
    for partition in some:
        bench.tailing.begin(bench.copy(("s", partition)), GOAL)
        bench.consumer.ends[TopicPartition("log", partition)] = 5  # all records are gone by compaction
    counts = []
    for _ in range(3):
        bench.turn()
        counts.append(bench.consumer.positions_asked)
    assert counts == [10, 20, 25]
    assert {copy.task[1] for copy, _ in bench.restored} == {*some}


def test_each_has_its_turn_to_be_asked(bench: Bench) -> None:
    """Ten that go on lacking records, as their brokers are away, do not keep an eleventh waiting."""
    stuck = {TopicPartition("log", partition) for partition in range(10)}
    for partition in range(11):
        bench.consumer.ends[TopicPartition("log", partition)] = 5
        bench.tailing.begin(bench.copy(("s", partition)), GOAL)
    bench.tailing.look_at_ends()
    bench.consumer.leaderless = stuck
    for _ in range(2):
        bench.turn()
    assert [copy.task for copy, _ in bench.restored] == [("s", 10)]


def test_lags_are_noted_now_and_then(bench: Bench) -> None:
    """Ten times a second while somebody waits, once a second otherwise."""
    bench.tailing.begin(bench.copy(S0), None)
    bench.turn()
    noted = bench.tailing.lags
    bench.now += 0.5
    bench.tailing.look_at_ends()
    assert bench.tailing.lags is noted
    bench.consumer.leaderless = {TopicPartition("log", 0)}
    bench.tailing.aim(S0, GOAL)
    bench.tailing.look_at_ends()
    noted = bench.tailing.lags
    bench.now += 0.05
    bench.tailing.look_at_ends()
    assert bench.tailing.lags is noted
    bench.now += 0.06
    bench.tailing.look_at_ends()
    assert bench.tailing.lags is not noted
