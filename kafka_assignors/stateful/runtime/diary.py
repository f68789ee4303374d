"""What a member's log says of its tasks: which come, which go, and of which it keeps a copy."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from kafka_assignors.stateful.group.able import few
from kafka_assignors.stateful.topology import Task

__all__ = ["Diary"]

log = logging.getLogger("kafka_assignors")


class Diary:
    """A line for those that come, or go, together; some of them by name.  One thread at a time."""

    def __init__(self) -> None:
        self._ours: set[Task] = set()
        self._came: set[Task] = set()
        self._went: set[Task] = set()
        self._copies: frozenset[Task] = frozenset()

    def came(self, task: Task) -> None:
        """It is ours to process, and gets its state now; to say so again does no harm."""
        if task not in self._ours:
            self._ours.add(task)
            self._came.add(task)

    def went(self, task: Task) -> None:
        """It is not ours any more."""
        if task in self._ours:
            self._ours.remove(task)
            self._went.add(task)

    def write(self) -> None:
        """Log what came and went since the last time; so call it as often as you like."""
        if self._went:
            log.info("gave back %s; %d left", _tasks(self._went), len(self._ours))
        if self._came:
            log.info("assigned %s; %d in all", _tasks(self._came), len(self._ours))
        self._came.clear()
        self._went.clear()

    def keeps(self, copies: Collection[Task]) -> None:
        """Of these a copy is kept, beside what is processed: logged if they changed."""
        if (kept := frozenset(copies)) != self._copies:
            log.info("keeps copies of %s, as standbys or warm-ups", _tasks(kept))
            self._copies = kept

    def close(self) -> None:
        """Log that the member ends."""
        log.info("ends, with %s", _tasks(self._ours))


def _tasks(tasks: Iterable[Task]) -> str:
    names = [f"{id}_{partition}" for id, partition in sorted(tasks)]
    count = f"{len(names)} task{'s' * (len(names) != 1)}"
    return f"{count}: {few(names)}" if names else count
