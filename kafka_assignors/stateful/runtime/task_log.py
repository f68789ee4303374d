"""Logs which tasks are assigned, revoked, and kept as copies."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from kafka_assignors.plan import listed
from kafka_assignors.stateful.group.topologies import MOST_NAMES
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")


class TaskLog:
    """Collects assigned and revoked tasks, and logs those of each kind in one line.  Not thread-safe."""

    def __init__(self) -> None:
        self._owned: set[Task] = set()
        self._assigned: set[Task] = set()
        self._revoked: set[Task] = set()
        self._copies: frozenset[Task] = frozenset()

    def assigned(self, task: Task) -> None:
        """Note an assigned task; noting it again changes nothing."""
        if task not in self._owned:
            self._owned.add(task)
            self._assigned.add(task)

    def revoked(self, task: Task) -> None:
        """Note a revoked task."""
        if task in self._assigned:  # assigned and revoked between two `write`s: neither is logged
            self._assigned.remove(task)
        elif task in self._owned:
            self._revoked.add(task)
        self._owned.discard(task)

    def write(self) -> None:
        """Log the changes since the last call, if any."""
        if self._revoked:
            log.info("revoked %s; %d left", _tasks(self._revoked), len(self._owned - self._assigned))
        if self._assigned:
            log.info("assigned %s; %d in all", _tasks(self._assigned), len(self._owned))
        self._assigned.clear()
        self._revoked.clear()

    def keeps(self, copies: Collection[Task]) -> None:
        """Log the standbys and warm-ups, if they changed."""
        if (kept := frozenset(copies)) != self._copies:
            log.info("standbys and warm-ups: %s", _tasks(kept))
            self._copies = kept

    def close(self, member_id: str) -> None:
        """Log that the member closes; ``member_id`` is empty if it owns no task."""
        member = f"member {member_id}: " if member_id else ""
        log.info("%sclosing, %s", member, _tasks(self._owned, "active task"))


def _tasks(tasks: Iterable[Task], noun: str = "task") -> str:
    names = [f"{id}_{partition}" for id, partition in sorted(tasks)]
    count = f"{len(names)} {noun}{'s' * (len(names) != 1)}"
    return f"{count}: {listed(names, MOST_NAMES)}" if names else count
