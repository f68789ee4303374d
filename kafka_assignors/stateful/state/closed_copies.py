"""Copies on disk that are not open: their positions, and when they are deleted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kafka_assignors.errors import StateError
from kafka_assignors.stateful.state.copy import Changelog, Copy, is_stale, offset_in
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_CLEAN_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class ClosedCopy:
    """A copy on disk that is not open.

    Attributes:
        changelog: its changelog.
        position: offset of the next record to apply.
        stale: whether it must be wiped if its changelog has any newer record.
    """

    changelog: Changelog
    position: int
    stale: bool = False


class ClosedCopies:
    """Tracks closed copies by their checkpoints.  Not thread-safe.

    Attributes:
        leaving: tasks whose copy will be deleted; the group must not count on them.

    Raises:
        StateError: the directory cannot be read.
    """

    def __init__(
        self, state_dir: StateDir, changelogs: Mapping[Task, Changelog], clock: Callable[[], float]
    ) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._next_clean = clock()
        self.leaving: set[Task] = set()
        # Task -> offset and time of its checkpoint, which stay the same until the copy is opened.  The copies
        # are reported in each turn, so their files are not asked again.
        self._checkpoints: dict[Task, tuple[int, float]] = {}
        for task, checkpoint in state_dir.tasks().items():
            if task in changelogs and isinstance(position := offset_in(checkpoint, changelogs[task]), int):
                self._add(task, position)

    def copies(self, changelogs: Mapping[Task, Changelog], held: Collection[Task]) -> dict[Task, ClosedCopy]:
        """Return the closed copies to report to the group; ``held`` are the tasks in use."""
        now = self._state_dir.now()
        return {
            task: ClosedCopy(changelogs[task], position, is_stale(changelogs[task], now - confirmed_at))
            for task, (position, confirmed_at) in self._checkpoints.items()
            if task not in held and task not in self.leaving and task in changelogs
        }

    def use(self, task: Task) -> None:
        """Cancel the deletion of a copy that is opened."""
        self.leaving.discard(task)

    def add(self, copy: Copy) -> None:
        """Add a copy that was closed."""
        self.forget(copy.task)
        if copy.checkpointed >= 0:
            self._add(copy.task, copy.checkpointed)

    def forget(self, task: Task) -> None:
        """Drop the position of a copy."""
        self._checkpoints.pop(task, None)

    def clean(self, delay_s: float, keep: Collection[Task]) -> None:
        """Delete copies that were unused for ``delay_s``.

        Checks them once a minute, or every ``delay_s`` if that is shorter, but at most once a second.  One
        check hides a copy from the group, the next one deletes it, because a rebalance under way may still
        count on it.
        """
        now = self._clock()
        if now < self._next_clean:
            return
        self._next_clean = now + min(_CLEAN_EVERY_S, max(delay_s, 1.0))
        try:
            for task in self._state_dir.clean(delay_s, keep, among=self.leaving):
                self.forget(task)
                log.info("task %s_%d: deleted its unused state", *task)
            self.leaving = set(self._state_dir.idle(delay_s, keep))
        except StateError as error:
            log.warning("cannot list unused state: %s", error)

    def _add(self, task: Task, position: int) -> None:
        self._checkpoints[task] = position, self._state_dir.now() - self._state_dir.unconfirmed_s(task)
