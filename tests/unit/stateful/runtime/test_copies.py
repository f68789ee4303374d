"""Which copy is in whose hands.  Stores and directory are real, the changelog reader is doubled."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_assignors.errors import StateDamagedError, StateError, StateFullError, TopologyError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Duties, StateDir, Stores, Subtopology, Topology
from kafka_assignors.stateful.runtime.copies import Copies
from kafka_assignors.stateful.runtime.tasks import ActiveTask, Work
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.on_disk import Resting
from kafka_assignors.stateful.topology import Task

TOPOLOGY = Topology(
    (
        Subtopology("s", ("t",)),
        Subtopology("free", ("u",), stateful=False),
        Subtopology("own", ("v",), logged=False),
    )
)
S0, S1, S2 = ("s", 0), ("s", 1), ("s", 2)


class Reader:
    """A changelog reader whose copies arrive, or fail, when the test says so."""

    def __init__(self) -> None:
        self.kept: dict[Task, tuple[Copy, object]] = {}
        self.lags: Mapping[Task, int] = {}
        self.ends: Mapping[Task, int] = {}
        self.watched: Mapping[Task, Changelog] = {}
        self.resting: Mapping[Task, Resting] = {}
        self.waited = 0
        self._restored: list[tuple[Copy, object]] = []
        self._failed: list[tuple[Task, StateError]] = []

    def keep(self, copy: Copy, goal: object = None) -> None:
        assert copy.task not in self.kept
        self.kept[copy.task] = copy, goal

    def aim(self, task: Task, goal: object) -> None:
        if task in self.kept:
            self.kept[task] = self.kept[task][0], goal

    def give_back(self, tasks: Collection[Task]) -> list[Copy]:
        self.waited += 1
        return [self.kept.pop(task)[0] for task in tasks if task in self.kept]

    def watch(self, changelogs: Mapping[Task, Changelog]) -> None:
        self.watched = changelogs

    def rest(self, copies: Mapping[Task, Resting]) -> None:
        self.resting = copies

    def restored(self) -> list[tuple[Copy, object]]:
        found, self._restored = self._restored, []
        return found

    def failed(self) -> list[tuple[Task, StateError]]:
        found, self._failed = self._failed, []
        return found

    def close(self, timeout_s: float | None) -> list[Copy]:
        return [copy for copy, _ in self.kept.values()]

    def arrives(self, task: Task) -> None:
        self._restored.append(self.kept.pop(task))

    def fails(self, task: Task, error: StateError) -> None:
        copy, _ = self.kept.pop(task)
        copy.drop()
        self._failed.append((task, error))


class Bench:
    """Copies of a member without a cluster."""

    def __init__(self, root: Path, partitions: int = 2) -> None:
        self.now = 0.0
        self.aside: list[Callable[[], None]] = []
        self.reader = Reader()
        self.work = Work()
        self.state_dir = StateDir(root, "g", clock=lambda: time.time() + self.now)
        self.found = {("s", p): Changelog(TopicPartition("log", p)) for p in range(partitions)}
        self.asked = 0
        reader: Any = self.reader
        self.copies = Copies(
            TOPOLOGY,
            self.work,
            self.state_dir,
            Stores(),
            reader=reader,
            changelogs=dict(self.found),
            find_changelogs=self.find,
            clock=lambda: self.now,
            aside=self.aside.append,
        )

    def find(self) -> dict[Task, Changelog]:
        self.asked += 1
        if S2 not in self.found:
            raise TopologyError("log has 2 partitions, its topics have 3")
        return dict(self.found)

    def do_aside(self) -> None:
        while self.aside:
            self.aside.pop()()

    def begin(self, task: Task) -> ActiveTask:
        active = self.work.actives[task] = ActiveTask(task, lambda *_: None, "m-1")
        self.copies.begin(active)
        return active

    def end(self, task: Task) -> None:
        self.copies.end(self.work.actives.pop(task))

    def told(self, *standbys: Task) -> None:
        self.work.duties = Duties(standbys=standbys)
        self.copies.keep()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.copies.close()
    bench.state_dir.close()


def test_what_comes_and_goes_is_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for task in (S0, S1, S0):
        bench.begin(task)
    bench.told()
    bench.end(S1)
    bench.told(S1)
    bench.copies.close()
    assert caplog.messages == [
        "assigned 2 tasks: s_0, s_1; 2 in all",
        "gave back 1 task: s_1; 1 left",
        "keeps copies of 1 task: s_1, as standbys or warm-ups",
        "ends, with 1 task: s_0",
    ]


def test_what_begins_between_two_rebalances_is_told_in_that_turn(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Static members wait for a while before they do."""
    caplog.set_level(logging.INFO)
    bench.begin(S0)
    bench.begin(S1)
    bench.copies.retry()
    bench.copies.retry()
    assert caplog.messages == ["assigned 2 tasks: s_0, s_1; 2 in all"]


def test_a_task_is_ready_when_its_state_has_arrived(bench: Bench) -> None:
    active = bench.begin(S0)
    assert (active.ready, active.copy) == (False, None)
    bench.reader.arrives(S0)
    bench.copies.heed()
    assert active.ready
    assert active.copy is not None
    assert bench.copies.holdings().lags == {S0: 0}


def test_who_leads_knows_how_long_the_changelogs_are(bench: Bench) -> None:
    """Those of all tasks, whoever has them; and of a task that came later."""
    bench.reader.ends = {S0: 7}
    assert bench.copies.holdings().ends == {S0: 7}
    assert bench.reader.watched.keys() == {S0, S1}
    bench.begin(S2)
    bench.found[S2] = Changelog(TopicPartition("log", 2))
    bench.now += 10.0
    bench.copies.retry()
    bench.do_aside()
    bench.copies.retry()
    assert bench.reader.watched.keys() == {S0, S1, S2}


def test_who_leads_knows_how_long_the_changelogs_of_its_own_tasks_are_by_now(bench: Bench) -> None:
    """It writes them: ten seconds ago they may have been empty, and a task be given away as if they were."""
    active = bench.begin(S0)
    bench.reader.arrives(S0)
    bench.copies.heed()
    bench.reader.ends = {S0: 7, S1: 3}
    assert bench.copies.holdings().ends == {S0: 7, S1: 3}
    assert active.copy is not None
    active.copy.apply((), 9)
    assert bench.copies.holdings().ends == {S0: 9, S1: 3}
    bench.begin(("own", 0))
    assert bench.copies.holdings().ends == {S0: 9, S1: 3}


@pytest.mark.parametrize("task", [("free", 0), ("own", 0)])
def test_a_task_without_a_changelog_is_ready_at_once(bench: Bench, task: Task) -> None:
    active = bench.begin(task)
    assert active.ready
    assert (active.copy is None) == (task[0] == "free")


def test_a_standby_is_promoted_where_it_is(bench: Bench) -> None:
    bench.told(S0)
    (copy, goal) = bench.reader.kept[S0]
    assert goal is None
    assert bench.copies.holdings().copies == (S0,)
    active = bench.begin(S0)
    assert bench.reader.kept[S0] == (copy, active)
    bench.reader.arrives(S0)
    bench.copies.heed()
    assert active.copy is copy


def test_a_copy_that_arrives_for_an_earlier_stay_is_tailed_once_more(bench: Bench) -> None:
    """Meanwhile the task was somebody else's, who may have changed it."""
    bench.begin(S0)
    bench.reader.arrives(S0)
    bench.end(S0)
    again = bench.begin(S0)
    bench.copies.heed()
    assert not again.ready
    assert bench.reader.kept[S0][1] is again


def test_a_copy_that_arrives_for_nobody_rests_or_stands_by(bench: Bench) -> None:
    for task in (S0, S1):
        bench.begin(task)
        bench.reader.arrives(task)
        bench.end(task)
    bench.work.duties = Duties(standbys=(S1,))
    bench.copies.heed()
    assert set(bench.reader.kept) == {S1}
    bench.copies.holdings()
    assert set(bench.reader.resting) == {S0}


def test_what_is_given_back_drops_what_was_not_committed_and_stands_by_if_it_shall(bench: Bench) -> None:
    active = bench.begin(S0)
    bench.reader.arrives(S0)
    bench.copies.heed()
    assert active.copy is not None
    active.copy.store.put(b"a", b"1")
    bench.work.duties = Duties(standbys=(S0,))
    bench.end(S0)
    copy, goal = bench.reader.kept[S0]
    assert (goal, copy.store.get(b"a"), active.ready) == (None, None, False)


def test_what_is_not_wanted_any_more_is_closed_and_rests(bench: Bench) -> None:
    bench.told(S0, S1)
    bench.told(S1)
    assert set(bench.reader.kept) == {S1}
    with bench.state_dir.claim(S0):
        pass  # nobody has it
    assert bench.copies.holdings().copies == (S1,)
    assert set(bench.reader.resting) == {S0}


def test_a_standby_that_fails_is_tried_again_after_a_while(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.told(S0)
    bench.reader.fails(S0, StateFullError("no room"))
    bench.copies.heed()
    bench.copies.keep()
    assert S0 not in bench.reader.kept
    assert "no room; trying again in 5 s" in caplog.text
    bench.now = 5.0
    bench.copies.retry()
    assert S0 in bench.reader.kept


def test_an_active_task_that_cannot_have_its_state_is_an_error(bench: Bench) -> None:
    bench.begin(S0)
    bench.reader.fails(S0, StateFullError("no room"))
    with pytest.raises(StateFullError):
        bench.copies.heed()


def test_state_in_somebody_elses_hands_is_waited_for(bench: Bench) -> None:
    claimed = bench.state_dir.claim(S0)
    active = bench.begin(S0)
    assert S0 not in bench.reader.kept
    claimed.release()
    bench.now = 5.0
    bench.copies.retry()
    assert bench.reader.kept[S0][1] is active


def test_a_task_without_a_changelog_yet_waits_until_there_is_one(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Its topic grew; a store nobody could restore would be worse."""
    active = bench.begin(S2)
    assert "has no partition 2" in caplog.text
    bench.now = 5.0
    bench.copies.retry()
    bench.do_aside()
    bench.copies.retry()
    assert "log has 2 partitions, its topics have 3" in caplog.text
    assert (active.ready, S2 in bench.reader.kept) == (False, False)
    bench.found[S2] = Changelog(TopicPartition("log", 2))
    bench.now = 10.0
    bench.copies.retry()
    bench.do_aside()
    bench.copies.retry()
    assert (bench.asked, bench.reader.kept[S2][1]) == (2, active)


def test_changelogs_are_looked_for_aside_once_at_a_time(bench: Bench) -> None:
    """An answer may take longer than it takes until the next try; meanwhile records are processed."""
    bench.begin(S2)
    for bench.now in (5.0, 10.0, 15.0):
        bench.copies.retry()
    assert (bench.asked, len(bench.aside)) == (0, 1)
    bench.do_aside()
    bench.copies.retry()
    bench.now = 20.0
    bench.copies.retry()
    assert (bench.asked, len(bench.aside)) == (1, 1)


def test_what_nobody_thought_of_while_looking_for_changelogs_is_raised(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.begin(S2)
    bench.now = 5.0
    bench.copies.retry()
    monkeypatch.setattr(bench, "found", None)
    bench.do_aside()
    with pytest.raises(TypeError):
        bench.copies.retry()


def test_a_damaged_store_begins_anew(bench: Bench) -> None:
    active = bench.begin(S0)
    bench.reader.arrives(S0)
    bench.copies.heed()
    copy = active.copy
    assert copy is not None
    copy.apply([(b"a", b"1")], 9)
    bench.copies.anew(active, StateDamagedError("bytes are flipped"))
    assert bench.reader.kept[S0] == (copy, active)
    assert (copy.position, copy.store.get(b"a"), active.ready) == (0, None, False)


def test_a_damaged_store_without_a_changelog_is_lost_and_that_is_said(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    active = bench.begin(("own", 0))
    bench.copies.anew(active, StateDamagedError("bytes are flipped"))
    assert "state of task own_0 is lost, and begins empty: bytes are flipped" in caplog.text
    assert active.ready


@pytest.mark.parametrize("task", [S0, ("own", 0)])
def test_a_store_damaged_again_before_it_was_of_any_use_ends_the_member(bench: Bench, task: Task) -> None:
    """What is restored for ever is no damage of the disk's; other tasks would wait for it, too."""
    active = bench.begin(task)
    if task == S0:
        bench.reader.arrives(S0)
        bench.copies.heed()
    bench.copies.anew(active, StateDamagedError("bytes are flipped"))
    if task == S0:
        bench.reader.arrives(S0)
        bench.copies.heed()
    assert active.copy is not None
    with pytest.raises(StateError, match=r"was restored, .* this came again: flipped again") as caught:
        bench.copies.anew(active, StateDamagedError("flipped again"))
    assert not isinstance(caught.value, StateDamagedError)
    with bench.state_dir.claim(task):
        pass  # it is let go of


def test_a_store_damaged_again_after_it_was_of_use_is_restored_again(bench: Bench) -> None:
    active = bench.begin(S0)
    for _ in range(3):
        bench.reader.arrives(S0)
        bench.copies.heed()
        assert active.copy is not None
        active.copy.in_doubt = False  # as `Processing.commit` does
        bench.copies.anew(active, StateDamagedError("bytes are flipped"))
    assert S0 in bench.reader.kept


def test_a_store_found_damaged_when_it_is_saved_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is for the caller to begin it anew; what else is wrong with a disk is raised."""
    active = bench.begin(S0)
    bench.reader.arrives(S0)
    bench.copies.heed()
    errors: list[StateError] = [StateFullError("no room"), StateDamagedError("bytes are flipped")]
    damaged = errors[1]

    def save(copy: Copy) -> None:
        raise errors.pop()

    monkeypatch.setattr(Copy, "save", save)
    assert bench.copies.save() == []
    bench.now = 31.0
    assert bench.copies.save() == [(active, damaged)]
    bench.now = 62.0
    with pytest.raises(StateFullError):
        bench.copies.save()
    errors.append(damaged)  # for the end


def test_stores_of_active_tasks_are_saved_one_at_a_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no turn takes as long as all of them."""
    saved: list[Task] = []
    monkeypatch.setattr(Copy, "save", lambda copy: saved.append(copy.task))
    for task in (S0, S1):
        bench.begin(task)
        bench.reader.arrives(task)
    bench.copies.heed()
    counts = []
    for bench.now in (0.0, 29.0, 31.0, 31.0, 31.0, 60.0, 62.0, 62.0):
        bench.copies.save()
        counts.append(len(saved))
    assert counts == [0, 0, 1, 2, 2, 2, 3, 4]
    assert saved == [S0, S1, S0, S1]


def test_saving_takes_a_twentieth_of_the_time_and_each_has_its_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many tasks on a slow disk nothing else would be done; and the last ones would never be saved."""
    saved: list[tuple[float, Task]] = []

    def save(copy: Copy) -> None:
        saved.append((bench.now, copy.task))
        bench.now += 2.0

    for task in (S0, S1):
        bench.begin(task)
        bench.reader.arrives(task)
    bench.copies.heed()
    bench.copies.save()
    monkeypatch.setattr(Copy, "save", save)
    bench.now = 30.0
    while len(saved) < 4:
        bench.copies.save()
        bench.now += 1.0
    assert saved == [(30.0, S0), (70.0, S1), (110.0, S0), (150.0, S1)]


def test_what_is_on_disk_from_before_is_told(tmp_path: Path) -> None:
    """A member that comes back can have its tasks again."""
    first = Bench(tmp_path)
    first.told(S0)
    first.copies.close()
    first.state_dir.close()
    second = Bench(tmp_path)
    assert set(second.reader.resting) == {S0}
    second.copies.close()
    second.state_dir.close()


# --- what the group is told


def test_a_task_that_is_not_ready_does_not_count_as_caught_up(bench: Bench) -> None:
    """Its owner without a lag would, and the plan would move everything but this task to others."""
    bench.begin(S0)
    assert bench.copies.holdings().lags == {S0: 2**63 - 1}, "nobody knows how much there is"
    bench.reader.ends = {S0: 500, S1: 7}
    assert bench.copies.holdings().lags == {S0: 500}
    bench.reader.lags = {S0: 20}
    assert bench.copies.holdings().lags == {S0: 20}
    bench.reader.arrives(S0)
    bench.copies.heed()
    assert bench.copies.holdings().lags == {S0: 0}


def test_a_task_without_a_changelog_has_no_lag(bench: Bench) -> None:
    """There is nothing it could lack."""
    bench.begin(("free", 0)).ready = False
    bench.begin(("own", 0)).ready = False
    assert bench.copies.holdings().lags == {}


# --- many at once


def test_copies_are_opened_some_in_each_turn_and_given_up_together(tmp_path: Path) -> None:
    """Each takes some milliseconds in which nothing is processed, and a wait for the reader's thread more."""
    bench = Bench(tmp_path, partitions=20)
    bench.told(*[("s", p) for p in range(20)])
    counts = [len(bench.reader.kept)]
    for _ in range(3):
        bench.copies.retry()
        counts.append(len(bench.reader.kept))
    assert counts == [8, 16, 20, 20]
    bench.told(("s", 3))
    counts = [len(bench.reader.kept)]
    for _ in range(3):
        bench.copies.retry()
        counts.append(len(bench.reader.kept))
    assert (counts, bench.reader.waited) == ([12, 4, 1, 1], 3)
    bench.copies.close()
    bench.state_dir.close()


# --- what is deleted


def _kept(bench: Bench) -> set[Task]:
    return set(bench.state_dir.tasks())


def test_a_member_that_comes_back_after_long_has_its_state_when_it_gets_its_tasks(tmp_path: Path) -> None:
    """It told the group of it when it joined: it must not be deleted between that and the assignment."""
    first = Bench(tmp_path)
    first.told(S0)
    first.copies.close()
    first.state_dir.close()
    second = Bench(tmp_path)
    for each in (tmp_path / "g").iterdir():
        os.utime(each, (0, 0))
    assert set(second.reader.resting) == {S0}
    second.copies.clean(600.0)
    second.now += 599.0
    second.copies.clean(600.0)
    second.copies.clean(600.0)
    assert _kept(second) == {S0}
    second.told(S0)
    assert second.reader.kept[S0]
    second.copies.close()
    second.state_dir.close()


@pytest.mark.parametrize("delay_s", [0.0, 600.0])
def test_state_is_deleted_after_the_group_was_not_told_of_it_for_a_while(
    bench: Bench, delay_s: float
) -> None:
    """Who leads may be counting on it, in a rebalance that began before."""
    bench.told(S0, S1)
    bench.told(S1)
    bench.reader.lags = {S0: 5, S1: 0}
    bench.now += delay_s
    assert S0 in bench.copies.holdings().lags
    bench.copies.clean(delay_s)
    assert _kept(bench) == {S0, S1}
    assert S0 not in bench.copies.holdings().lags
    assert S0 not in bench.reader.resting
    bench.copies.clean(delay_s)
    assert _kept(bench) == {S0, S1}, "again at once"
    bench.now += 60.0
    bench.copies.clean(delay_s)
    assert _kept(bench) == {S1}


def test_state_that_is_wanted_again_is_not_deleted(bench: Bench) -> None:
    bench.told(S0)
    bench.told()
    bench.now += 700.0
    bench.copies.clean(600.0)
    bench.copies.holdings()
    assert bench.reader.resting == {}
    bench.told(S0)
    bench.told()
    bench.copies.holdings()
    assert set(bench.reader.resting) == {S0}, "it was in use until now"
    bench.now += 60.0
    bench.copies.clean(600.0)
    assert _kept(bench) == {S0}


def test_how_far_a_copy_is_that_failed_nobody_knows(bench: Bench) -> None:
    """It may have been wiped before it failed."""
    bench.told(S0)
    bench.told()
    bench.told(S0)
    bench.reader.fails(S0, StateFullError("no room"))
    bench.copies.heed()
    bench.copies.holdings()
    assert bench.reader.resting == {}


def test_a_copy_that_lay_there_for_long_is_told_as_such(bench: Bench) -> None:
    bench.found[S0] = Changelog(TopicPartition("log", 0), keeps_deletes_s=100.0)
    bench.begin(S2)
    bench.found[S2] = Changelog(TopicPartition("log", 2))
    bench.now = 5.0
    bench.copies.retry()
    bench.do_aside()
    bench.copies.retry()
    bench.told(S0, S1)
    for copy, _ in bench.reader.kept.values():
        copy.apply([(b"a", b"1")], 1)
    bench.told()
    bench.copies.holdings()
    assert {task: one.stale for task, one in bench.reader.resting.items()} == {S0: False, S1: False}
    bench.now += 101.0
    bench.copies.holdings()
    assert {task: one.stale for task, one in bench.reader.resting.items()} == {S0: True, S1: False}
