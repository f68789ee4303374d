"""``OpenCopies``: stores and directory are real, the changelog reader is a double."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_assignors.errors import StateDamagedError, StateError, StateFullError, TopologyError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Duties, StateDir, Stores, Subtopology, Topology
from kafka_assignors.stateful.changelog.topics import KnownChangelogs
from kafka_assignors.stateful.runtime.copies import OpenCopies
from kafka_assignors.stateful.runtime.tasks import ActiveTask, MemberTasks
from kafka_assignors.stateful.state.closed_copies import ClosedCopy
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.wire.stateful.task_section import Task
from tests.unit.stateful.bench import break_store

TOPOLOGY = Topology(
    (
        Subtopology("s", ("t",)),
        Subtopology("free", ("u",), stateful=False),
        Subtopology("own", ("v",), logged=False),
    )
)
S0, S1, S2 = ("s", 0), ("s", 1), ("s", 2)


class Reader:
    """A changelog reader whose copies the test restores or fails."""

    def __init__(self) -> None:
        self.kept: dict[Task, tuple[Copy, object]] = {}
        self.lags: Mapping[Task, int] = {}
        self.ends: Mapping[Task, int] = {}
        self.watched: Mapping[Task, Changelog] = {}
        self.closed_copies: Mapping[Task, ClosedCopy] = {}
        self.waited = 0
        self.hangs = False
        self._restored: list[tuple[Copy, object]] = []
        self._failed: list[tuple[Task, StateError]] = []

    def keep(self, copy: Copy, waiter: object = None) -> None:
        assert copy.task not in self.kept
        self.kept[copy.task] = copy, waiter

    def set_waiter(self, task: Task, waiter: object) -> None:
        if task in self.kept:
            self.kept[task] = self.kept[task][0], waiter

    def give_back(self, tasks: Collection[Task]) -> list[Copy]:
        self.waited += 1
        if self.hangs:
            return []
        return [self.kept.pop(task)[0] for task in tasks if task in self.kept]

    def watch(self, changelogs: Mapping[Task, Changelog]) -> None:
        self.watched = changelogs

    def watch_closed(self, copies: Mapping[Task, ClosedCopy]) -> None:
        self.closed_copies = copies

    def wait_for_lags(self, timeout_s: float) -> None:
        self.lags = {task: int(timeout_s) for task in self.closed_copies}

    def restored(self) -> list[tuple[Copy, object]]:
        items, self._restored = self._restored, []
        return items

    def failed(self) -> list[tuple[Task, StateError]]:
        items, self._failed = self._failed, []
        return items

    def close(self, timeout_s: float | None) -> list[Copy]:
        return [copy for copy, _ in self.kept.values()]

    def arrives(self, task: Task) -> None:
        self._restored.append(self.kept.pop(task))

    def fails(self, task: Task, error: StateError) -> None:
        copy, _ = self.kept.pop(task)
        copy.drop()
        self._failed.append((task, error))


class Later:
    """A `Background` whose jobs the test runs."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, job: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self.jobs.append((future, job))
        return future

    def stop(self) -> None:
        self.jobs.clear()


class Bench:
    """The open copies of a member without a cluster."""

    def __init__(self, root: Path, partitions: int = 2) -> None:
        self.now = 0.0
        self.background = Later()
        self.reader = Reader()
        self.tasks = MemberTasks()
        self.state_dir = StateDir(root, "g", clock=lambda: time.time() + self.now)
        self.changelogs = {("s", p): Changelog(TopicPartition("log", p)) for p in range(partitions)}
        self.asked = 0
        reader: Any = self.reader
        background: Any = self.background
        self.copies = OpenCopies(
            TOPOLOGY,
            self.tasks,
            self.state_dir,
            Stores(),
            reader=reader,
            changelogs=KnownChangelogs(dict(self.changelogs), self.find, background, lambda: self.now),
            clock=lambda: self.now,
        )

    def find(self, **_: object) -> dict[Task, Changelog]:
        self.asked += 1
        if S2 not in self.changelogs:
            raise TopologyError("log has 2 partitions, its source topics have 3")
        return dict(self.changelogs)

    def run_background(self) -> None:
        while self.background.jobs:
            future, job = self.background.jobs.pop()
            try:
                future.set_result(job())
            except Exception as error:
                future.set_exception(error)

    def search_changelogs(self) -> None:
        """Start the search that is due, and take its answer."""
        self.copies.retry()
        self.run_background()
        self.copies.retry()

    def restore(self, task: Task) -> None:
        """Let the reader restore a copy, and take it."""
        self.reader.arrives(task)
        self.copies.take_restored()

    def begin(self, task: Task) -> ActiveTask:
        active = self.tasks.actives[task] = ActiveTask(task, lambda *_: None, "m-1")
        self.copies.begin(active)
        return active

    def run(self, task: Task) -> tuple[ActiveTask, Copy]:
        """Begin a task, and restore its copy if it has a changelog."""
        active = self.begin(task)
        if not active.ready:
            self.restore(task)
        assert active.copy is not None
        return active, active.copy

    def end(self, task: Task) -> None:
        self.copies.end(self.tasks.actives.pop(task))

    @property
    def closed_copies(self) -> Mapping[Task, ClosedCopy]:
        """The closed copies, whose lags the reader is to measure."""
        self.copies.holdings()
        return self.reader.closed_copies

    @property
    def on_disk(self) -> set[Task]:
        return set(self.state_dir.tasks())

    def set_standbys(self, *standbys: Task) -> None:
        self.tasks.duties = Duties(standbys=standbys)
        self.copies.update_standbys()

    def close_copies(self, *tasks: Task) -> None:
        """Keep standbys for a moment, so that their copies are closed on disk."""
        self.set_standbys(*tasks)
        self.set_standbys()

    def close(self) -> None:
        self.copies.close()
        self.state_dir.close()


@pytest.fixture
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench(tmp_path, **getattr(request, "param", {}))
    yield bench
    bench.close()


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Bench]:
    """A member whose earlier process kept a copy of the first task."""
    first = Bench(tmp_path)
    first.set_standbys(S0)
    first.close()
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def test_assigned_and_revoked_tasks_and_copies_are_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for task in (S0, S1, S0):
        bench.begin(task)
    bench.set_standbys()
    bench.end(S1)
    bench.set_standbys(S1)
    bench.copies.close()
    assert caplog.messages == [
        "assigned 2 tasks: s_0, s_1; 2 in all",
        "revoked 1 task: s_1; 1 left",
        "standbys and warm-ups: 1 task: s_1",
        "member m-1: closing, 1 active task: s_0",
    ]


def test_task_that_begins_between_rebalances_is_logged_in_that_turn(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Tasks of static members begin later."""
    caplog.set_level(logging.INFO)
    bench.begin(S0)
    bench.begin(S1)
    bench.copies.retry()
    bench.copies.retry()
    assert caplog.messages == ["assigned 2 tasks: s_0, s_1; 2 in all"]


def test_holdings_have_the_end_offsets_of_all_changelogs(bench: Bench) -> None:
    """Also those of other members' tasks, and of a later task."""
    bench.reader.ends = {S0: 7}
    assert bench.copies.holdings().ends == {S0: 7}
    assert bench.reader.watched.keys() == {S0, S1}
    bench.begin(S2)
    bench.changelogs[S2] = Changelog(TopicPartition("log", 2))
    bench.now += 10.0
    bench.search_changelogs()
    assert bench.reader.watched.keys() == {S0, S1, S2}


def test_holdings_have_current_end_offsets_of_own_tasks(bench: Bench) -> None:
    """Otherwise the leader would move a task whose changelog was empty ten seconds ago."""
    _, copy = bench.run(S0)
    bench.reader.ends = {S0: 7, S1: 3}
    assert bench.copies.holdings().ends == {S0: 7, S1: 3}
    copy.apply((), 9)
    assert bench.copies.holdings().ends == {S0: 9, S1: 3}
    bench.begin(("own", 0))
    assert bench.copies.holdings().ends == {S0: 9, S1: 3}


def test_lag_of_a_copy_that_was_closed_just_now_is_measured(bench: Bench) -> None:
    """A member that lost its membership joins again at once, and would report no state."""
    bench.run(S0)
    bench.end(S0)
    bench.copies.wait_for_lags(5.0)
    assert bench.copies.holdings().lags == {S0: 5}


@pytest.mark.parametrize("task", [("free", 0), ("own", 0)])
def test_task_without_a_changelog_is_ready_at_once(bench: Bench, task: Task) -> None:
    active = bench.begin(task)
    assert active.ready
    assert (active.copy is None) == (task[0] == "free")


def test_standby_is_promoted_in_place(bench: Bench) -> None:
    bench.set_standbys(S0)
    (copy, waiter) = bench.reader.kept[S0]
    assert waiter is None
    assert bench.copies.holdings().copies == (S0,)
    active = bench.begin(S0)
    assert bench.reader.kept[S0] == (copy, active)
    bench.restore(S0)
    assert active.copy is copy


def test_copy_restored_for_an_earlier_assignment_is_tailed_again(bench: Bench) -> None:
    """Another member may have owned and changed the task meanwhile."""
    bench.begin(S0)
    bench.reader.arrives(S0)
    bench.end(S0)
    again = bench.begin(S0)
    bench.copies.take_restored()
    assert not again.ready
    assert bench.reader.kept[S0][1] is again


def test_restored_copy_of_a_revoked_task_is_closed_or_stands_by(bench: Bench) -> None:
    for task in (S0, S1):
        bench.begin(task)
        bench.reader.arrives(task)
        bench.end(task)
    bench.tasks.duties = Duties(standbys=(S1,))
    bench.copies.take_restored()
    assert set(bench.reader.kept) == {S1}
    assert set(bench.closed_copies) == {S0}


def test_revoked_task_drops_uncommitted_work_and_becomes_a_standby_if_wanted(bench: Bench) -> None:
    active, copy = bench.run(S0)
    copy.store.put(b"a", b"1")
    bench.tasks.duties = Duties(standbys=(S0,))
    bench.end(S0)
    assert bench.reader.kept[S0] == (copy, None)
    assert (copy.store.get(b"a"), active.ready) == (None, False)


def test_copy_that_a_hanging_reader_gives_back_late_is_used_if_it_is_wanted_again(bench: Bench) -> None:
    """Until then its store is in use, so it cannot be opened."""
    bench.set_standbys(S0)
    bench.reader.hangs = True
    bench.set_standbys()
    copy, _ = bench.reader.kept[S0]
    active = bench.begin(S0)
    assert not active.ready
    bench.restore(S0)
    assert bench.reader.kept[S0] == (copy, active)
    bench.restore(S0)
    assert (active.copy, active.ready) == (copy, True)


def test_standby_that_becomes_active_is_kept_until_its_partitions_are_assigned(bench: Bench) -> None:
    """Its duties come first."""
    bench.set_standbys(S0)
    bench.tasks.duties = Duties(actives=(S0,))
    bench.copies.update_standbys()
    assert S0 in bench.reader.kept


def test_unwanted_copy_is_closed(bench: Bench) -> None:
    bench.set_standbys(S0, S1)
    bench.set_standbys(S1)
    assert set(bench.reader.kept) == {S1}
    with bench.state_dir.claim(S0):
        pass  # it is free
    assert bench.copies.holdings().copies == (S1,)
    assert set(bench.reader.closed_copies) == {S0}


def test_failed_standby_is_tried_again_after_some_seconds(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.set_standbys(S0)
    bench.reader.fails(S0, StateFullError("no room"))
    bench.copies.take_restored()
    bench.copies.update_standbys()
    assert S0 not in bench.reader.kept
    assert "no room; trying again every 5 s" in caplog.text
    bench.now = 5.0
    bench.copies.retry()
    assert S0 in bench.reader.kept


def test_active_task_without_usable_state_is_an_error(bench: Bench) -> None:
    bench.begin(S0)
    bench.reader.fails(S0, StateFullError("no room"))
    with pytest.raises(StateFullError):
        bench.copies.take_restored()


def test_locked_state_is_tried_again(bench: Bench) -> None:
    claimed = bench.state_dir.claim(S0)
    active = bench.begin(S0)
    assert S0 not in bench.reader.kept
    claimed.release()
    bench.now = 5.0
    bench.copies.retry()
    assert bench.reader.kept[S0][1] is active


def test_reason_that_stays_is_logged_again_only_after_five_minutes(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Hundreds of tasks may wait for an operator who adds partitions to their changelog."""
    active = bench.begin(S2)

    def logged() -> int:
        return sum("partition 2 of the changelog" in line for line in caplog.messages)

    for bench.now in range(5, 301, 5):
        bench.copies.retry()
        assert logged() == 1 + bench.now // 300
    bench.copies.end(active)
    bench.copies.begin(active)
    assert logged() == 3, "revoked and assigned again"


def test_task_waits_for_its_changelog_partition(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Its topic grew; a store without a changelog partition could not be restored."""
    active = bench.begin(S2)
    assert "partition 2 of the changelog" in caplog.text
    bench.now = 5.0
    bench.search_changelogs()
    assert "log has 2 partitions, its source topics have 3" in caplog.text
    assert (active.ready, S2 in bench.reader.kept) == (False, False)
    bench.changelogs[S2] = Changelog(TopicPartition("log", 2))
    bench.now = 10.0
    bench.search_changelogs()
    assert (bench.asked, bench.reader.kept[S2][1]) == (2, active)


def test_standby_of_a_new_partition_is_built_once_its_changelog_is_known(bench: Bench) -> None:
    bench.tasks.duties = Duties(standbys=(S2,))
    bench.copies.update_standbys()
    assert S2 not in bench.reader.kept
    bench.changelogs[S2] = Changelog(TopicPartition("log", 2))
    bench.search_changelogs()
    assert bench.reader.kept[S2][1] is None


def test_changelogs_are_searched_in_the_background_one_call_at_a_time(bench: Bench) -> None:
    """A search may outlast the time between tries; records are processed meanwhile."""
    bench.begin(S2)
    for bench.now in (5.0, 10.0, 15.0):
        bench.copies.retry()
    assert (bench.asked, len(bench.background.jobs)) == (0, 1)
    bench.run_background()
    bench.copies.retry()
    bench.now = 20.0
    bench.copies.retry()
    assert (bench.asked, len(bench.background.jobs)) == (1, 1)


def test_unexpected_error_of_the_search_for_changelogs_is_raised(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.begin(S2)
    bench.now = 5.0
    bench.copies.retry()
    monkeypatch.setattr(bench, "changelogs", None)
    bench.run_background()
    with pytest.raises(TypeError):
        bench.copies.retry()


def test_damaged_store_is_restored_from_the_beginning(bench: Bench) -> None:
    active, copy = bench.run(S0)
    copy.apply([(b"a", b"1")], 9)
    bench.copies.restore_damaged(active, StateDamagedError("bytes are flipped"))
    assert bench.reader.kept[S0] == (copy, active)
    assert (copy.position, copy.store.get(b"a"), active.ready) == (0, None, False)


def test_damaged_checkpoint_of_an_earlier_changelog_does_not_wipe_a_store_without_one(bench: Bench) -> None:
    """The store is the only copy of its state."""
    _, copy = bench.run(("own", 0))
    copy.store.put(b"k", b"v")
    copy.store.commit(1)
    checkpoint = copy._dir.store_path.parent / "checkpoint"
    bench.end(("own", 0))
    checkpoint.write_bytes(b"{")
    _, again = bench.run(("own", 0))
    assert again.store.get(b"k") == b"v"


def test_damaged_store_without_a_changelog_is_logged_as_lost(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    active = bench.begin(("own", 0))
    bench.copies.restore_damaged(active, StateDamagedError("bytes are flipped"))
    assert "task own_0: state is lost, and starts empty: bytes are flipped" in caplog.text
    assert active.ready


@pytest.mark.parametrize("task", [S0, ("own", 0)])
def test_store_damaged_again_before_a_commit_ends_the_member(bench: Bench, task: Task) -> None:
    """It would be restored forever, and other tasks would wait for it."""
    active, _ = bench.run(task)
    bench.copies.restore_damaged(active, StateDamagedError("bytes are flipped"))
    if task == S0:
        bench.restore(S0)
    with pytest.raises(StateError, match="was damaged again before a commit: flipped again") as caught:
        bench.copies.restore_damaged(active, StateDamagedError("flipped again"))
    assert not isinstance(caught.value, StateDamagedError)
    with bench.state_dir.claim(task):
        pass  # it is released


def test_store_damaged_again_after_a_commit_is_restored_again(bench: Bench) -> None:
    active = bench.begin(S0)
    for _ in range(3):
        bench.restore(S0)
        assert active.copy is not None
        active.copy.in_doubt = False  # as `Processing.commit` does
        bench.copies.restore_damaged(active, StateDamagedError("bytes are flipped"))
    assert S0 in bench.reader.kept


def test_store_found_damaged_by_a_flush_is_returned(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller restores it; other errors of the disk are raised."""
    active, _ = bench.run(S0)
    errors: list[StateError] = [StateFullError("no room"), StateDamagedError("bytes are flipped")]
    damaged = errors[1]

    def save(copy: Copy) -> None:
        raise errors.pop()

    monkeypatch.setattr(Copy, "flush", save)
    assert bench.copies.flush_one() == []
    bench.now = 31.0
    assert bench.copies.flush_one() == [(active, damaged)]
    bench.now = 62.0
    with pytest.raises(StateFullError):
        bench.copies.flush_one()
    errors.append(damaged)  # for `close`


def test_stores_of_active_tasks_are_flushed_one_a_turn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn stays short."""
    saved: list[Task] = []
    monkeypatch.setattr(Copy, "flush", lambda copy: saved.append(copy.task))
    for task in (S0, S1):
        bench.run(task)
    counts = []
    for bench.now in (0.0, 29.0, 31.0, 31.0, 31.0, 60.0, 62.0, 62.0):
        bench.copies.flush_one()
        counts.append(len(saved))
    assert counts == [0, 0, 1, 2, 2, 2, 3, 4]
    assert saved == [S0, S1, S0, S1]


def test_checkpoint_age_is_that_of_the_oldest_of_active_tasks(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a checkpoint that was written or confirmed is new."""

    def age_at(now: float) -> float:
        bench.now = now
        with suppress(StateFullError):
            bench.copies.flush_one()
        return round(bench.copies.checkpoint_age_s, -1)  # the directory's clock runs on

    assert bench.copies.checkpoint_age_s == -1
    bench.set_standbys(S0)
    bench.now = 1000.0
    active = bench.begin(S0)
    bench.reader.arrives(S0)
    bench.run(S1)
    assert age_at(1000.0) == 1000  # of the standby that was promoted
    assert age_at(1040.0) == 40  # confirmed; the other task was opened at 1000
    assert age_at(1040.0) == 0
    assert active.copy is not None
    active.copy.apply((), 9)
    with monkeypatch.context() as patched:
        break_store(patched, active.copy.store, "flush", StateFullError("no room"))
        assert age_at(1080.0) == 40
    assert [age_at(now) for now in (1120.0, 1120.0)] == [80, 0]
    bench.end(S0)
    assert age_at(1120.0) == 0


def test_age_of_a_checkpoint_is_that_of_its_file(bench: Bench) -> None:
    """The copy of a task that returns may be old."""
    bench.run(S0)
    bench.end(S0)
    bench.now = 600.0
    bench.run(S0)
    assert bench.copies.checkpoint_age_s == pytest.approx(600, abs=60)


@pytest.mark.parametrize("is_owner", [True, False])
def test_copy_of_a_task_is_as_old_as_the_last_sign_that_the_member_owns_it(
    bench: Bench, is_owner: bool
) -> None:
    """A process that was suspended for a day knows no deletes of the next owner."""
    log = bench.copies._changelogs
    log.known = {**log.known, S0: replace(log.known[S0], keeps_deletes_s=100.0)}
    _, copy = bench.run(S0)
    copy.apply([(b"a", b"1")], 1)
    bench.copies.confirm()
    bench.copies.flush_one()
    bench.now += 200.0
    if is_owner:
        bench.copies.confirm()
    bench.copies.flush_one()
    bench.end(S0)
    assert bench.closed_copies[S0] == ClosedCopy(log.known[S0], 1, stale=not is_owner)
    assert bench.state_dir.unconfirmed_s(S0) == pytest.approx(0 if is_owner else 200, abs=60)


def test_copies_are_confirmed_once_a_second(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member may have 500 of them, and take a thousand turns a second."""
    confirmed: list[float] = []
    bench.run(S0)
    monkeypatch.setattr(Copy, "confirm", lambda _copy: confirmed.append(bench.now))
    for _turn in range(5):
        bench.copies.confirm()
        bench.now += 0.5
    assert confirmed == [0.0, 1.0, 2.0]


def test_flushes_take_a_twentieth_of_the_time_and_each_store_has_its_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many tasks on a slow disk the member would only flush, and never reach the last stores."""
    saved: list[tuple[float, Task]] = []

    def save(copy: Copy) -> None:
        saved.append((bench.now, copy.task))
        bench.now += 2.0

    for task in (S0, S1):
        bench.run(task)
    bench.copies.flush_one()
    monkeypatch.setattr(Copy, "flush", save)
    bench.now = 30.0
    while len(saved) < 4:
        bench.copies.flush_one()
        bench.now += 1.0
    assert saved == [(30.0, S0), (70.0, S1), (110.0, S0), (150.0, S1)]


def test_copy_of_an_earlier_process_is_reported_until_its_task_begins(restarted: Bench) -> None:
    """A static member that restarts gets its tasks at once, but begins them once it is alone."""
    assert set(restarted.reader.closed_copies) == {S0}
    active = restarted.tasks.actives[S0] = ActiveTask(S0, lambda *_: None, "m-1")
    assert set(restarted.closed_copies) == {S0}
    restarted.copies.begin(active)
    assert restarted.closed_copies == {}
    restarted.restore(S0)
    assert restarted.closed_copies == {}


def test_copy_that_restarted_in_a_new_changelog_is_not_wiped_when_it_is_opened_again(bench: Bench) -> None:
    known = bench.copies._changelogs
    known.known = {S0: replace(known.known[S0], topic_id="first")}
    bench.set_standbys(S0)
    copy = bench.reader.kept[S0][0]
    assert copy.changelog is not None
    copy.changelog = replace(copy.changelog, topic_id="created again")
    copy.reset()
    copy.apply([(b"k", b"v")], 9)
    bench.set_standbys()
    bench.set_standbys(S0)
    again = bench.reader.kept[S0][0]
    assert again is not copy
    assert again.position == 9


# --- holdings


def test_task_that_is_not_ready_does_not_count_as_caught_up(bench: Bench) -> None:
    """An owner without a lag counts as caught up, and the plan would move all other tasks away."""
    bench.begin(S0)
    assert bench.copies.holdings().lags == {S0: 2**63 - 1}, "its changelog has no known end"
    bench.reader.ends = {S0: 500, S1: 7}
    assert bench.copies.holdings().lags == {S0: 500}
    bench.reader.lags = {S0: 20}
    assert bench.copies.holdings().lags == {S0: 20}
    bench.restore(S0)
    assert bench.copies.holdings().lags == {S0: 0}


def test_task_without_a_changelog_has_no_lag(bench: Bench) -> None:
    """There is nothing to restore."""
    bench.begin(("free", 0)).ready = False
    bench.begin(("own", 0)).ready = False
    assert bench.copies.holdings().lags == {}


# --- many copies


@pytest.mark.parametrize("bench", [{"partitions": 20}], indirect=True)
def test_copies_are_opened_eight_a_turn_and_given_back_together(bench: Bench) -> None:
    """An open takes milliseconds without processing; giving back waits for the reader's thread, too."""

    def counts(*standbys: Task) -> list[int]:
        bench.set_standbys(*standbys)
        counts = [len(bench.reader.kept)]
        for _ in range(3):
            bench.copies.retry()
            counts.append(len(bench.reader.kept))
        return counts

    assert counts(*[("s", p) for p in range(20)]) == [8, 16, 20, 20]
    assert counts(("s", 3)) == [12, 4, 1, 1]
    assert bench.reader.waited == 3


# --- deletion


def test_member_that_was_away_for_long_keeps_its_state_until_tasks_are_assigned(restarted: Bench) -> None:
    """It reported the state when it joined, so it must not delete it before the assignment."""
    for each in restarted.state_dir.path.iterdir():
        os.utime(each, (0, 0))
    restarted.copies.clean(600.0)
    restarted.now += 599.0
    restarted.copies.clean(600.0)
    restarted.copies.clean(600.0)
    assert restarted.on_disk == {S0}
    restarted.set_standbys(S0)
    assert restarted.reader.kept[S0]


@pytest.mark.parametrize("delay_s", [0.0, 600.0])
def test_state_is_hidden_from_the_group_before_it_is_deleted(bench: Bench, delay_s: float) -> None:
    """A leader in an earlier rebalance may count on it."""
    bench.set_standbys(S0, S1)
    bench.set_standbys(S1)
    bench.reader.lags = {S0: 5, S1: 0}
    bench.now += delay_s
    assert S0 in bench.copies.holdings().lags
    bench.copies.clean(delay_s)
    assert bench.on_disk == {S0, S1}
    assert S0 not in bench.copies.holdings().lags
    assert S0 not in bench.reader.closed_copies
    bench.copies.clean(delay_s)
    assert bench.on_disk == {S0, S1}, "they are reported again at once"
    bench.now += 60.0
    bench.copies.clean(delay_s)
    assert bench.on_disk == {S1}


@pytest.mark.parametrize("duties", [Duties(actives=(S0,)), Duties(standbys=(S0,)), Duties(warmups=(S0,))])
def test_state_for_a_duty_is_not_deleted_before_it_is_opened(bench: Bench, duties: Duties) -> None:
    bench.close_copies(S0)
    bench.tasks.duties = duties
    for seconds in (700.0, 60.0):
        bench.now += seconds
        bench.copies.clean(600.0)
    assert bench.on_disk == {S0}


def test_state_that_is_wanted_again_is_not_deleted(bench: Bench) -> None:
    bench.close_copies(S0)
    bench.now += 700.0
    bench.copies.clean(600.0)
    assert bench.closed_copies == {}
    bench.close_copies(S0)
    assert set(bench.closed_copies) == {S0}, "it was in use until now"
    bench.now += 60.0
    bench.copies.clean(600.0)
    assert bench.on_disk == {S0}


def test_failed_copy_has_no_known_position(bench: Bench) -> None:
    """It may have been wiped before it failed."""
    bench.close_copies(S0)
    bench.set_standbys(S0)
    bench.reader.fails(S0, StateFullError("no room"))
    bench.copies.take_restored()
    assert bench.closed_copies == {}


def test_closed_copy_becomes_stale_with_age(bench: Bench) -> None:
    bench.changelogs[S0] = Changelog(TopicPartition("log", 0), keeps_deletes_s=100.0)
    bench.begin(S2)
    bench.changelogs[S2] = Changelog(TopicPartition("log", 2))
    bench.now = 5.0
    bench.search_changelogs()
    bench.set_standbys(S0, S1)
    for copy, _ in bench.reader.kept.values():
        copy.apply([(b"a", b"1")], 1)
    bench.set_standbys()
    assert {task: copy.stale for task, copy in bench.closed_copies.items()} == {S0: False, S1: False}
    bench.now += 101.0
    assert {task: copy.stale for task, copy in bench.closed_copies.items()} == {S0: True, S1: False}


def test_files_of_closed_copies_are_not_asked_in_each_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that gave up 500 tasks would spend milliseconds of each turn on them."""
    known = bench.copies._changelogs
    known.known = {S0: replace(known.known[S0], keeps_deletes_s=100.0)}
    bench.close_copies(S0)

    def asked(*_: object) -> float:
        raise AssertionError

    monkeypatch.setattr(StateDir, "unconfirmed_s", asked)
    assert set(bench.closed_copies) == {S0}
