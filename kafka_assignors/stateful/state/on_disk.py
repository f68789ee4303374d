"""Copies that lie on the disk and are nobody's: how far they are, and when they are deleted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kafka_assignors.errors import StateError
from kafka_assignors.stateful.state.copy import Changelog, Copy, is_stale, offset_in
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.topology import Task

__all__ = ["OnDisk", "Resting"]

log = logging.getLogger("kafka_assignors")

_CLEAN_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Resting:
    """A copy that lies on the disk.

    Attributes:
        changelog: what it is a copy of.
        position: offset of the next record it would need.
        stale: whether it is of use only if the changelog has nothing more.
    """

    changelog: Changelog
    position: int
    stale: bool = False


class OnDisk:
    """Knows what lies there without opening it.  One thread at a time.

    Args:
        state_dir: where.
        changelogs: of each task.
        clock: seconds.

    Raises:
        StateError: the directory cannot be read.
    """

    def __init__(
        self, state_dir: StateDir, changelogs: Mapping[Task, Changelog], clock: Callable[[], float]
    ) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._next_clean = clock()
        self._leaving: set[Task] = set()
        self._positions: dict[Task, int] = {}
        for task, known in state_dir.tasks().items():
            if task in changelogs and isinstance(position := offset_in(known, changelogs[task]), int):
                self._positions[task] = position

    @property
    def leaving(self) -> Collection[Task]:
        """Those that will be deleted: nobody is to count on them any more."""
        return self._leaving

    def resting(self, changelogs: Mapping[Task, Changelog], held: Collection[Task]) -> dict[Task, Resting]:
        """All that the group may know of, but for those that are in use."""
        return {
            task: Resting(changelogs[task], position, is_stale(task, changelogs[task], self._state_dir))
            for task, position in self._positions.items()
            if task not in held and task not in self._leaving and task in changelogs
        }

    def use(self, task: Task) -> None:
        """It is opened."""
        self._leaving.discard(task)

    def put(self, copy: Copy) -> None:
        """It was closed."""
        self.forget(copy.task)
        if copy.saved >= 0:
            self._positions[copy.task] = copy.saved

    def forget(self, task: Task) -> None:
        """Nobody knows how far it is."""
        self._positions.pop(task, None)

    def clean(self, delay_s: float, keep: Collection[Task]) -> None:
        """Delete what nobody used for so long; now and then, so call it as often as you like.

        First the group is not told of it any more, and the next time, up to a minute later, it is deleted:
        the rebalance that is under way meanwhile may count on it.

        Args:
            delay_s: since when.
            keep: tasks to leave alone.
        """
        now = self._clock()
        if now < self._next_clean:
            return
        self._next_clean = now + min(_CLEAN_EVERY_S, max(delay_s, 1.0))
        try:
            for task in self._state_dir.clean(delay_s, keep, among=self._leaving):
                self._positions.pop(task, None)
                log.info("state of task %s_%d is deleted: it went elsewhere", *task)
            self._leaving = set(self._state_dir.idle(delay_s, keep))
        except StateError as error:
            log.warning("old state is not deleted: %s", error)
