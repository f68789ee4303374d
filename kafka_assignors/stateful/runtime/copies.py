"""Opens a member's copies, passes them to active tasks, and closes them.

A copy is the state of one task on this member's disk.  It is in one place at a time: with its active task,
with the changelog reader (being restored, or a standby or warm-up), or closed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from kafka_assignors.errors import StateDamagedError, StateError, StateLockedError
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.changelog.topics import KnownChangelogs
from kafka_assignors.stateful.duties import Holdings
from kafka_assignors.stateful.repeated_messages import RepeatedMessages
from kafka_assignors.stateful.runtime.flushes import FlushSchedule
from kafka_assignors.stateful.runtime.task_log import TaskLog
from kafka_assignors.stateful.runtime.tasks import ActiveTask, MemberTasks
from kafka_assignors.stateful.state.closed_copies import ClosedCopies
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.state.stores import Stores
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.stateful.task_section import MOST_LAG, Task

log = logging.getLogger("kafka_assignors")

_AGAIN_S = 5.0  # until a copy that could not be used is tried again
_CONFIRM_EVERY_S = 1.0  # between two confirmations of the active tasks' copies: 500 take 0.5 ms
_AT_ONCE = 8  # copies opened or closed in one turn: each takes 10 ms, in which nothing is processed


class OpenCopies:
    """Opens copies, passes them to active tasks, and closes them.  Not thread-safe.

    Raises ``StateError`` if the directory, or the state of an active task, cannot be used.
    """

    def __init__(
        self,
        topology: Topology,
        tasks: MemberTasks,
        state_dir: StateDir,
        stores: Stores,
        *,
        reader: ChangelogReader,
        changelogs: KnownChangelogs,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topology = topology
        self._tasks = tasks
        self._state_dir = state_dir
        self._stores = stores
        self._reader = reader
        self._clock = clock
        self._changelogs = changelogs
        reader.watch(changelogs.known)
        self._kept: set[Task] = set()  # tasks whose copy the reader owns
        self._retry_at: dict[Task, float] = {}  # task whose copy could not be used -> when to try again
        self._reasons = RepeatedMessages(clock)  # why copies could not be used
        self._flushes = FlushSchedule(clock)
        self._confirm_at = clock()
        self._has_more = False  # whether the next turn has copies to open or close
        self._task_log = TaskLog()
        self._closed = ClosedCopies(state_dir, changelogs.known, clock)
        self._share_closed()

    # --- active tasks

    def begin(self, active: ActiveTask) -> None:
        """Give a task its copy; the task is ready once the copy is restored."""
        if active.ready:
            return
        task = active.task
        self._task_log.assigned(task)
        if active.copy is not None or not self._topology[task[0]].stateful:
            active.ready = True
        elif task in self._kept:
            self._reader.set_waiter(task, active)
        elif (copy := self._open(task)) is None:
            return
        elif copy.changelog is None:
            active.copy, active.ready = copy, True
        else:
            self._give_to_reader(copy, active)

    def end(self, active: ActiveTask) -> None:
        """Take the copy from a task that is given up; the copy becomes a standby or is closed."""
        active.undo()
        active.ready = False
        self._reasons.forget(active.task)
        self._task_log.revoked(active.task)
        copy, active.copy = active.copy, None
        if copy is not None:
            self._keep_or_close(copy)
        elif active.task in self._kept:
            self._reader.set_waiter(active.task, None)

    def restore_damaged(self, active: ActiveTask, error: StateDamagedError) -> None:
        """Wipe the damaged store of a task, and restore it from its changelog if it has one.

        Raises:
            StateError: the store was damaged again before any commit, or cannot be wiped.  Its copy is
                released.
        """
        copy, active.copy, active.ready = active.copy, None, False
        if copy is None:
            return
        log.error("task %s: state %s: %s", copy, copy.after_wipe, error)
        try:
            copy.wipe_damaged(error)
        except StateError:
            copy.drop()
            raise
        if copy.changelog is None:
            active.copy, active.ready = copy, True
        else:
            self._give_to_reader(copy, active)

    def confirm(self) -> None:
        """Note, once a second, that the copies of active tasks are in touch with their changelogs.

        Call it while this member surely owns its tasks, because only an owner writes to a changelog.
        """
        if (now := self._clock()) < self._confirm_at:
            return
        self._confirm_at = now + _CONFIRM_EVERY_S
        for active in self._tasks.actives.values():
            if active.copy is not None:
                active.copy.confirm()

    def flush_one(self) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Flush the store of an active task, if one is due.

        Returns:
            The task and the error if its store is damaged; else an empty list.  The caller suspends the task
            and calls `restore_damaged`.
        """
        return self._flushes.flush_one(self._tasks.actives.values())

    @property
    def checkpoint_age_s(self) -> float:
        """Age of the oldest checkpoint of an active task, in seconds; -1: no active task has a copy.

        Any thread may read it.
        """
        copies = [active.copy for active in self._tasks.actives.copy().values()]
        return max((copy.checkpoint_age_s for copy in copies if copy is not None), default=-1.0)

    # --- standbys and warm-ups

    def update_standbys(self) -> None:
        """Open missing standbys and warm-ups, and close unneeded ones; at most eight of each."""
        wanted = {task for task in self._tasks.standby_tasks if self._topology[task[0]].has_changelog}
        missing = sorted(wanted - self._kept - self._retry_at.keys())
        for task in missing[:_AT_ONCE]:
            try:
                copy = self._open(task)
            except StateError as error:
                self._retry_later(task, error)
                continue
            if copy is not None:
                self._give_to_reader(copy, None)
        unneeded = sorted(self._kept - wanted - self._tasks.actives.keys() - {*self._tasks.duties.actives})
        if unneeded:
            self._kept.difference_update(unneeded[:_AT_ONCE])
            for copy in self._reader.give_back(unneeded[:_AT_ONCE]):
                self._close(copy)
        self._has_more = max(len(missing), len(unneeded)) > _AT_ONCE
        self._task_log.write()
        self._task_log.keeps(wanted)

    def take_restored(self) -> None:
        """Take restored copies from the reader, and schedule a retry of standbys it gave up."""
        for copy, waiter in self._reader.restored():
            self._kept.discard(copy.task)
            active = self._tasks.actives.get(copy.task)
            if active is None:
                self._keep_or_close(copy)
            elif active is waiter:
                active.copy, active.ready = copy, True
            else:  # revoked and assigned again meanwhile, so another member may have changed the state
                self._give_to_reader(copy, active)
        for task, error in self._reader.failed():
            self._kept.discard(task)
            self._closed.forget(task)
            if task in self._tasks.actives:
                raise error
            if task in self._tasks.standby_tasks:
                self._retry_later(task, error)
            else:  # it is opened again when it is needed
                log.warning("task %s_%d: state cannot be used: %s", *task, error)

    def retry(self) -> None:
        """Retry copies that could not be used, and open or close copies left over from the last turn."""
        self._task_log.write()
        now = self._clock()
        if self._changelogs.update():
            known = self._changelogs.known
            self._reader.watch(known)
            self._retry_at |= {task: now for task in self._retry_at if task in known}
        due = [task for task, retry_at in self._retry_at.items() if retry_at <= now]
        for task in due:
            del self._retry_at[task]
        for task in due:
            if (active := self._tasks.actives.get(task)) is not None:
                self.begin(active)
        if due or self._has_more:
            self.update_standbys()

    # --- on disk

    def holdings(self) -> Holdings:
        """Return the state to report to the group."""
        self._share_closed()
        ends = dict(self._reader.ends)
        leaving = self._closed.leaving  # these copies will be deleted, so the group must not count on them
        lags = {task: lag for task, lag in self._reader.lags.items() if task not in leaving}
        for task, active in self._tasks.actives.items():
            if active.ready:
                lags[task] = 0
                if active.copy is not None and active.copy.changelog is not None:
                    # The end offset may be 10 s old, and this member may have written changes since.
                    ends[task] = max(ends.get(task, 0), active.copy.position)
            elif self._topology[task[0]].has_changelog:
                # Without a lag, the leader would count the copy of an active task as caught up.
                lags.setdefault(task, ends.get(task, MOST_LAG))
        return Holdings(lags, tuple(sorted(self._kept - self._tasks.actives.keys())), ends)

    def wait_for_lags(self, timeout_s: float) -> None:
        """Wait until the lags of all copies are measured, also of those that were closed just now."""
        if not self._changelogs.known:
            return
        self._share_closed()
        self._reader.wait_for_lags(timeout_s)

    def clean(self, delay_s: float) -> None:
        """Delete state that was unused for ``delay_s``; do not call it during a rebalance."""
        duties = self._tasks.duties
        self._closed.clean(delay_s, {*duties.actives, *duties.standbys, *duties.warmups})

    def close(self, timeout_s: float | None = None) -> None:
        """Flush and close all copies."""
        self._changelogs.stop()
        self._task_log.write()
        self._task_log.close(next((active.member_id for active in self._tasks.actives.values()), ""))
        for active in self._tasks.actives.values():
            active.undo()
            copy, active.copy, active.ready = active.copy, None, False
            if copy is not None:
                self._close(copy)
        for copy in self._reader.close(timeout_s):
            self._close(copy)

    # --- steps

    def _open(self, task: Task) -> Copy | None:
        """Open a task's copy; return None, and schedule a retry, if it cannot be used now."""
        if self._topology[task[0]].has_changelog and task not in self._changelogs.known:
            name = self._topology[task[0]].changelog
            changelog = f"changelog {name}" if name else f"the changelog of subtopology {task[0]}"
            self._changelogs.search()
            self._retry_later(task, f"partition {task[1]} of {changelog} is not known yet: looking it up")
            return None
        try:
            copy = Copy(task, self._changelogs.known.get(task), self._state_dir, self._stores)
        except StateLockedError as error:
            self._retry_later(task, error)
            return None
        self._retry_at.pop(task, None)
        self._closed.use(task)
        return copy

    def _retry_later(self, task: Task, why: object) -> None:
        reason = str(why)
        self._retry_at[task] = self._clock() + _AGAIN_S
        if self._reasons.is_due(task, reason):
            log.error(
                "task %s_%d: state cannot be used: %s; trying again every %.0f s", *task, reason, _AGAIN_S
            )

    def _give_to_reader(self, copy: Copy, waiter: ActiveTask | None) -> None:
        self._kept.add(copy.task)
        self._reader.keep(copy, waiter)

    def _keep_or_close(self, copy: Copy) -> None:
        duties = self._tasks.duties
        if copy.changelog is not None and copy.task in {*duties.standbys, *duties.warmups}:
            self._give_to_reader(copy, None)
        else:
            self._close(copy)

    def _close(self, copy: Copy) -> None:
        try:
            copy.close()
        except StateError as error:
            log.warning("task %s: cannot close its state: %s", copy, error)
        self._closed.add(copy)
        if copy.changelog is not None:  # the reader may have found that the topic was created again
            self._changelogs.known = {**self._changelogs.known, copy.task: copy.changelog}

    def _share_closed(self) -> None:
        """Give the reader a new mapping of the closed copies, whose lags its thread measures."""
        opened = {task for task, active in self._tasks.actives.items() if active.copy is not None}
        self._reader.watch_closed(self._closed.copies(self._changelogs.known, self._kept | opened))
