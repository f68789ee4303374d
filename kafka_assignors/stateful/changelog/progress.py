"""Logs the start and end of each restore that a task waits for, and the progress of all together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_assignors.stateful.changelog.tailed_copy import TailedCopy
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_EVERY_S = 10.0  # between two log lines


@dataclass(slots=True)
class _Wait:
    since: float  # seconds, by the clock
    was_standby: bool  # the copy was open before the task waited for it
    position: int  # of the copy when the wait began
    applied: int  # records applied to the copy before the wait
    is_logged: bool = False  # the number of records to apply is known, and logged unless it is 0
    left: int = 0  # records to apply


class RestoreProgress:
    """Logs the progress of the copies that tasks wait for.  Used by one thread.

    ``applied_to``: task -> records applied to its copy so far; the owner of the mapping updates it.
    """

    def __init__(self, applied_to: Mapping[Task, int], clock: Callable[[], float]) -> None:
        self._applied_to = applied_to
        self._clock = clock
        self._waits: dict[Task, _Wait] = {}
        self._logged_at = clock()

    def begin(self, copy: Copy, *, was_standby: bool) -> None:
        """Start a wait for a copy."""
        if not self._waits:
            self._logged_at = self._clock()
        applied = self._applied_to.get(copy.task, 0)
        self._waits[copy.task] = _Wait(self._clock(), was_standby, copy.position, applied)

    def restart(self, task: Task) -> None:
        """Count a wait's records from offset 0, and log its start again, because the copy was wiped."""
        if wait := self._waits.get(task):
            wait.was_standby = wait.is_logged = False
            wait.position, wait.applied = 0, self._applied_to.get(task, 0)

    def end(self, task: Task) -> None:
        """Drop a wait without a log line."""
        self._waits.pop(task, None)

    def note_lag(self, tailed: TailedCopy, left: int) -> None:
        """Note the lag of a copy, in offsets.  Compaction may have removed some of the records."""
        if (wait := self._waits.get(tailed.copy.task)) is None:
            return
        wait.left = left
        if wait.is_logged or tailed.end is None:
            return
        wait.is_logged = True
        records = tailed.end - wait.position
        if records and wait.was_standby:
            log.info("task %s: taking over its copy, at most %d records to apply", tailed.copy, records)
        elif records:
            log.info("task %s: restoring at most %d records from %d on", tailed.copy, records, wait.position)

    def arrived(self, tailed: TailedCopy) -> None:
        """Log that a copy has reached the end of its changelog."""
        if (wait := self._waits.pop(tailed.copy.task, None)) is None:
            return
        log.info(
            "task %s: %s %.1f s, applied %d records",
            tailed.copy,
            "took over its copy in" if wait.was_standby else "ready after",
            self._clock() - wait.since,
            self._applied_to.get(tailed.copy.task, 0) - wait.applied,
        )

    def write(self) -> None:
        """Log the progress of all waits, every 10 s at the most."""
        if not self._waits or self._clock() - self._logged_at < _EVERY_S:
            return
        self._logged_at = self._clock()
        unknown = sum(not wait.is_logged for wait in self._waits.values())
        log.info(
            "restoring: %d tasks wait, at most %d records to go%s",
            len(self._waits),
            sum(wait.left for wait in self._waits.values() if wait.is_logged),
            f"; without {unknown} tasks that are not counted yet" if unknown else "",
        )
