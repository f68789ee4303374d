"""All state of a member: which tasks have a copy open, in whose hands it is, and what lies on the disk.

A task's copy is in one place at a time: with its active task, with the changelog reader (being restored, or
standing by), or closed on the disk.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from kafka_assignors.errors import (
    ChangelogError,
    StateDamagedError,
    StateError,
    StateLockedError,
    TopologyError,
)
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.duties import Holdings
from kafka_assignors.stateful.runtime.aside import Aside, in_a_thread
from kafka_assignors.stateful.runtime.diary import Diary
from kafka_assignors.stateful.runtime.saves import Saves
from kafka_assignors.stateful.runtime.tasks import ActiveTask, Work
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.on_disk import OnDisk
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.state.stores import Stores
from kafka_assignors.stateful.topology import Task, Topology
from kafka_assignors.wire.task_section import MOST_LAG

__all__ = ["Copies"]

log = logging.getLogger("kafka_assignors")

_AGAIN_S = 5.0  # until state that could not be used is tried again
_AT_ONCE = 8  # copies opened, or given up, in one turn: each takes some 10 ms, in which nothing is processed


class Copies:
    """Opens, passes on and closes copies.  One thread at a time.

    Args:
        topology: what is processed.
        work: what the member has to do; its active tasks are given their copies.
        state_dir: where state lies.
        stores: what opens it.
        reader: what brings it up to date.
        changelogs: the changelog of each task.
        find_changelogs: finds them again, when there is a task without.  It may take as long as it likes.
        clock: seconds.
        aside: has something done in another thread.

    Raises:
        StateError: the directory cannot be read.
    """

    def __init__(
        self,
        topology: Topology,
        work: Work,
        state_dir: StateDir,
        stores: Stores,
        *,
        reader: ChangelogReader,
        changelogs: Mapping[Task, Changelog],
        find_changelogs: Callable[[], Mapping[Task, Changelog]],
        clock: Callable[[], float] = time.monotonic,
        aside: Callable[[Callable[[], None]], None] = in_a_thread,
    ) -> None:
        self._topology = topology
        self._work = work
        self._state_dir = state_dir
        self._stores = stores
        self._reader = reader
        self._search = Aside(find_changelogs, aside)
        self._clock = clock
        self._changelogs = changelogs
        reader.watch(changelogs)
        self._kept: set[Task] = set()  # in the reader's hands
        self._waiting: dict[Task, float] = {}  # could not be used -> when to try again
        self._saves = Saves(clock)
        self._more = False  # there are copies to open, or to give up, in the next turn
        self._diary = Diary()
        self._on_disk = OnDisk(state_dir, changelogs, clock)
        self._rest()

    # --- active tasks

    def begin(self, active: ActiveTask) -> None:
        """See to it that a task has its state, and is ready then.

        Raises:
            StateError: there is no way to have it here.
        """
        if active.ready:
            return
        task = active.task
        self._diary.came(task)
        if active.copy is not None or not self._topology[task[0]].stateful:
            active.ready = True
        elif task in self._kept:
            self._reader.aim(task, active)
        elif (copy := self._opened(task)) is None:
            return
        elif copy.changelog is None:
            active.copy, active.ready = copy, True
        else:
            self._hand_over(copy, active)

    def end(self, active: ActiveTask) -> None:
        """A task is not processed here any more: its copy stands by, or rests on the disk."""
        active.undo()
        active.ready = False
        self._diary.went(active.task)
        copy, active.copy = active.copy, None
        if copy is not None:
            self._pass_on(copy)
        elif active.task in self._kept:
            self._reader.aim(active.task, None)

    def anew(self, active: ActiveTask, error: StateDamagedError) -> None:
        """A store turned out to be damaged while it was used: it is restored from the beginning.

        Raises:
            StateError: there is no way to have it here, or it turns out to be so again and again.
        """
        copy, active.copy, active.ready = active.copy, None, False
        if copy is None:
            return
        log.error("state of task %s %s: %s", copy, copy.begins, error)
        try:
            copy.wipe_damaged(error)
        except StateError:
            copy.drop()
            raise
        if copy.changelog is None:
            active.copy, active.ready = copy, True
        else:
            self._hand_over(copy, active)

    def save(self) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Bring an active task's store to disk, if it is time for one; see `Saves.save_one`.

        Returns:
            The task whose store turned out to be damaged, and how, if so: for `anew`.
        """
        return self._saves.save_one(self._work.actives.values())

    # --- what stands by

    def keep(self) -> None:
        """Open what a copy is to be kept of, close what is not any more: some of it in each turn."""
        wanted = {task for task in self._work.copies if task in self._changelogs}
        missing = sorted(wanted - self._kept - self._waiting.keys())
        for task in missing[:_AT_ONCE]:
            try:
                copy = self._opened(task)
            except StateError as error:
                self._unusable(task, error)
                continue
            if copy is not None:
                self._hand_over(copy, None)
        useless = sorted(self._kept - wanted - self._work.actives.keys() - {*self._work.duties.actives})
        if useless:
            self._kept.difference_update(useless[:_AT_ONCE])
            for copy in self._reader.give_back(useless[:_AT_ONCE]):
                self._close(copy)
        self._more = max(len(missing), len(useless)) > _AT_ONCE
        self._diary.write()
        self._diary.keeps(wanted)

    def heed(self) -> None:
        """Take what the reader has brought up to date, or had to give up.

        Raises:
            StateError: the state of an active task cannot be had here.
        """
        for copy, goal in self._reader.restored():
            self._kept.discard(copy.task)
            active = self._work.actives.get(copy.task)
            if active is None:
                self._pass_on(copy)
            elif active is goal:
                active.copy, active.ready = copy, True
            else:  # given back and assigned again meanwhile: others may have changed it
                self._hand_over(copy, active)
        for task, error in self._reader.failed():
            self._kept.discard(task)
            self._on_disk.forget(task)
            if task in self._work.actives:
                raise error
            self._unusable(task, error)

    def retry(self) -> None:
        """Try again what could not be used, when it is time to; go on with what was too much for a turn.

        Raises:
            StateError: the state of an active task cannot be had here.
        """
        self._diary.write()
        self._heed_search()
        now = self._clock()
        due = [task for task, at in self._waiting.items() if at <= now]
        for task in due:
            del self._waiting[task]
        if any(self._lacks_changelog(task) for task in due):
            self._search.ask()
        for task in due:
            if (active := self._work.actives.get(task)) is not None:
                self.begin(active)
        if due or self._more:
            self.keep()

    def _heed_search(self) -> None:
        try:
            found = self._search.answer()
        except (ChangelogError, TopologyError) as error:
            log.warning("a task has no changelog: %s; trying again", error)
            return
        if found is not None:
            self._changelogs = found
            self._reader.watch(found)
            self._waiting |= {task: self._clock() for task in self._waiting if task in found}

    # --- on disk

    def holdings(self) -> Holdings:
        """What the group is to know of it."""
        self._rest()
        ends = dict(self._reader.ends)
        lags = {task: lag for task, lag in self._reader.lags.items() if task not in self._on_disk.leaving}
        for task, active in self._work.actives.items():
            if active.ready:
                lags[task] = 0
                if active.copy is not None and active.copy.changelog is not None:
                    # Nobody else writes it, and it may have grown by much since it was asked.
                    ends[task] = max(ends.get(task, 0), active.copy.position)
            elif self._topology[task[0]].has_changelog:
                # Without a lag its copy would count as complete: it is our task.
                lags.setdefault(task, ends.get(task, MOST_LAG))
        return Holdings(lags, tuple(sorted(self._kept - self._work.actives.keys())), ends)

    def clean(self, delay_s: float) -> None:
        """Delete state that was of no use for so long; not while a rebalance is under way."""
        duties = self._work.duties
        self._on_disk.clean(delay_s, {*duties.actives, *duties.standbys, *duties.warmups})

    def close(self, timeout_s: float | None = None) -> None:
        """Close all copies, each saved as far as it is committed.

        Args:
            timeout_s: see ``ChangelogReader.close``.
        """
        self._diary.write()
        self._diary.close()
        for active in self._work.actives.values():
            active.undo()
            copy, active.copy, active.ready = active.copy, None, False
            if copy is not None:
                self._close(copy)
        for copy in self._reader.close(timeout_s):
            self._close(copy)

    # --- steps

    def _opened(self, task: Task) -> Copy | None:
        """A task's copy; None: it cannot be used now, which is said, and is tried again."""
        if self._lacks_changelog(task):
            topic = self._topology[task[0]].changelog or f"of {task[0]}"
            self._unusable(task, ChangelogError(f"changelog {topic} has no partition {task[1]}"))
            return None
        try:
            copy = Copy(task, self._changelogs.get(task), self._state_dir, self._stores)
        except StateLockedError as error:
            self._unusable(task, error)
            return None
        self._waiting.pop(task, None)
        self._on_disk.use(task)
        return copy

    def _lacks_changelog(self, task: Task) -> bool:
        return self._topology[task[0]].has_changelog and task not in self._changelogs

    def _unusable(self, task: Task, error: Exception) -> None:
        log.error("state of task %s_%d cannot be used: %s; trying again in %.0f s", *task, error, _AGAIN_S)
        self._waiting[task] = self._clock() + _AGAIN_S

    def _hand_over(self, copy: Copy, goal: ActiveTask | None) -> None:
        self._kept.add(copy.task)
        self._reader.keep(copy, goal)

    def _pass_on(self, copy: Copy) -> None:
        self._saves.forget(copy.task)
        duties = self._work.duties
        if copy.changelog is not None and copy.task in {*duties.standbys, *duties.warmups}:
            self._hand_over(copy, None)
        else:
            self._close(copy)

    def _close(self, copy: Copy) -> None:
        try:
            copy.close()
        except StateError as error:
            log.warning("state of task %s: %s", copy, error)
        self._on_disk.put(copy)

    def _rest(self) -> None:
        """Let the reader know what lies on the disk; replaced whole, as its thread reads it."""
        self._reader.rest(self._on_disk.resting(self._changelogs, self._kept | self._work.actives.keys()))
