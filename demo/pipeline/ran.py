"""Pure: one run of the demo as the pipeline sees it, and what its logs tell that a broker would not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from demo.figures.measure import NS, RunLogs
from demo.figures.processing import sent_by_partition
from demo.settings import Compared
from kafka_assignors.simulation import ChurnStep

MICRO = 1_000_000


class EndSample(NamedTuple):
    """One look at one partition: the end of its log at ``at`` (microseconds since 1970)."""

    at: int
    partition: int
    end: int
    fresh: bool  # nothing was committed yet


@dataclass(frozen=True)
class Ran:
    """One run.

    Args:
        scene: which.
        strategy: its wire name.
        group: its group, and its topic, which has the same name.
        logs: all that was written.
        drain: as measured, s.
        moved: as measured.
        produced: records, as measured.
        processed: the same.
        fault: empty, or why it was not drained.
        began_at: ns since 1970 when the clock of the logs was 0.
    """

    scene: Compared
    strategy: str
    group: str
    logs: RunLogs
    drain: float
    moved: int
    produced: int
    processed: int
    fault: str
    began_at: int

    @cached_property
    def _begin(self) -> float:
        """When the work began, in seconds since 1970."""
        return self._second(self.logs.driver_entry("replay" if self.scene == "replay" else "go").t)

    def steps(self, step_s: float) -> range:
        """Where the steps of its history end, in steps since 1970.

        The first one ends before the work begins: so it has what waited then.  The last one ends when all has
        arrived and was drained; what comes after, when the group is deleted with all its commits, is no part
        of its history.
        """
        end = self._second(self.logs.driver_entry("end").t)
        arrived = max((self._second(e.t) for e in self.logs.driver if e.event == "sent"), default=0.0)
        first = math.floor(self._begin / step_s)
        last = max(math.floor(end / step_s), math.ceil(arrived / step_s), first + 1)
        return range(first, last + 1)

    def span(self, step_s: float) -> tuple[float, float]:
        """From when until when that is, in seconds since 1970."""
        steps = self.steps(step_s)
        return (steps[0] - 1) * step_s, steps[-1] * step_s

    def _second(self, t: int) -> float:
        """When something was that the logs have at ``t`` ns, in seconds since 1970."""
        return (t + self.began_at) / NS

    def ends(self, step_s: float) -> Iterator[EndSample]:
        """Where each partition's log ended, at the beginning of the first step and at the end of each.

        The producer is told of each record that the broker has, and when: so this is what one who asked the
        broker so often would have seen.
        """
        sent, steps = sent_by_partition(self.logs.driver), self.steps(step_s)
        looks = range(steps[0] - 1, steps[-1] + 1)
        for partition in range(self.logs.partitions):
            entries, place, end = sent.get(partition, []), 0, 0
            for look in looks:
                while place < len(entries) and self._second(entries[place].t) <= look * step_s:
                    end, place = entries[place].last + 1, place + 1
                yield EndSample(round(look * step_s * MICRO), partition, end, fresh=look == looks[0])

    def churn(self, begins: float) -> tuple[ChurnStep, ...]:
        """What happened to the group, in seconds after ``begins`` (since 1970)."""
        return tuple(
            ChurnStep(kind, round(self._second(entry.t) - begins, 1))
            for entry in self.logs.driver
            for kind in ("join", "leave", "kill")
            if entry.event == kind
        )
