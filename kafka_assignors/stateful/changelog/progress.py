"""What a member's log says of tasks that wait for their state: what is lacking, and how long it takes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_assignors.stateful.changelog.tailed import Tailed
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.stateful.topology import Task

__all__ = ["Progress"]

log = logging.getLogger("kafka_assignors")

_EVERY_S = 10.0


@dataclass(slots=True)
class _Wait:
    since: float
    stood_by: bool
    position: int  # of the copy, then
    applied: int  # to it, before that
    said: bool = False
    left: int = 0


class Progress:
    """Follows copies that somebody waits for.  One thread.

    Args:
        applied_to: records applied so far, by task.
        clock: seconds.
    """

    def __init__(self, applied_to: Mapping[Task, int], clock: Callable[[], float]) -> None:
        self._applied_to = applied_to
        self._clock = clock
        self._waits: dict[Task, _Wait] = {}
        self._said_at = clock()

    def begin(self, copy: Copy, *, stood_by: bool) -> None:
        """Somebody waits for a copy from now on.

        Args:
            copy: for that.
            stood_by: whether it was kept up to date here before.
        """
        if not self._waits:
            self._said_at = self._clock()
        applied = self._applied_to.get(copy.task, 0)
        self._waits[copy.task] = _Wait(self._clock(), stood_by, copy.position, applied)

    def again(self, task: Task) -> None:
        """What there was of it is of no use: it is restored from the beginning."""
        if wait := self._waits.get(task):
            wait.stood_by = wait.said = False
            wait.position, wait.applied = 0, self._applied_to.get(task, 0)

    def end(self, task: Task) -> None:
        """Nobody waits for it any more."""
        self._waits.pop(task, None)

    def lacks(self, tailed: Tailed, left: int) -> None:
        """What a copy lacks, now that this is known: offsets, of which compaction may have taken some."""
        if (wait := self._waits.get(tailed.copy.task)) is None:
            return
        wait.left = left
        if wait.said or tailed.end is None:
            return
        wait.said = True
        records = tailed.end - wait.position
        if records and wait.stood_by:
            log.info("task %s takes over from its standby, which lacks %d records", tailed.copy, records)
        elif records:
            log.info("task %s restores %d records, from %d on", tailed.copy, records, wait.position)

    def arrived(self, tailed: Tailed) -> None:
        """A copy is as far as its changelog was."""
        if (wait := self._waits.pop(tailed.copy.task, None)) is None:
            return
        log.info(
            "task %s is ready after %.1f s%s: applied %d records",
            tailed.copy,
            self._clock() - wait.since,
            ", from its standby" if wait.stood_by else "",
            self._applied_to.get(tailed.copy.task, 0) - wait.applied,
        )

    def write(self) -> None:
        """Log how far it is, now and then; so call it as often as you like."""
        if not self._waits or self._clock() - self._said_at < _EVERY_S:
            return
        self._said_at = self._clock()
        unknown = sum(not wait.said for wait in self._waits.values())
        log.info(
            "tasks that wait for their state: %d; records to go: %d%s",
            len(self._waits),
            sum(wait.left for wait in self._waits.values() if wait.said),
            f", and what {unknown} of them lack" if unknown else "",
        )
