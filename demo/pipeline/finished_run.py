"""Pure: one finished run of a scene, as the pipeline takes it: its steps, end offsets and churn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from demo.figures.processing import sent_by_partition
from demo.group.logs import NS, RunLogs
from demo.settings import Compared
from kafka_assignors.simulation import ChurnStep

MICRO = 1_000_000


class EndSample(NamedTuple):
    """The end offset of a partition at ``at`` (microseconds since 1970)."""

    at: int
    partition: int
    end: int
    fresh: bool  # the group has not committed yet


@dataclass(frozen=True)
class FinishedRun:
    """One finished run of a scene with one strategy."""

    scene: Compared
    strategy: str  # its wire name
    group: str  # its group, and its topic, which has the same name
    logs: RunLogs
    began_at: int  # ns since 1970 when the clock of the logs was 0

    def steps(self, step_s: float) -> range:
        """Return the ends of its history's steps, in steps since 1970.

        The first step ends before the work begins, so it contains the records that waited then.  The last
        step ends when all records have arrived and are processed.  Later the group and its commits are
        deleted.
        """
        begin = self._second(self.logs.driver_entry("replay" if self.scene == "replay" else "go").t)
        end = self._second(self.logs.driver_entry("end").t)
        arrived = max((self._second(e.t) for e in self.logs.driver if e.event == "sent"), default=0.0)
        first = math.floor(begin / step_s)
        last = max(math.floor(end / step_s), math.ceil(arrived / step_s), first + 1)
        return range(first, last + 1)

    def span(self, step_s: float) -> tuple[float, float]:
        """Return begin and end of its history, in seconds since 1970."""
        steps = self.steps(step_s)
        return (steps[0] - 1) * step_s, steps[-1] * step_s

    def _second(self, t: int) -> float:
        return (t + self.began_at) / NS

    def ends(self, step_s: float) -> Iterator[EndSample]:
        """Yield each partition's end offset at the beginning of the first step and at the end of each.

        The acknowledgements in the driver's log have the same offsets that the broker would have returned.
        """
        sent, steps = sent_by_partition(self.logs.driver), self.steps(step_s)
        times = range(steps[0] - 1, steps[-1] + 1)
        for partition in range(self.logs.partitions):
            entries, place, end = sent.get(partition, []), 0, 0
            for time in times:
                while place < len(entries) and self._second(entries[place].t) <= time * step_s:
                    end, place = entries[place].last + 1, place + 1
                yield EndSample(round(time * step_s * MICRO), partition, end, fresh=time == times[0])

    def churn(self, begins: float) -> tuple[ChurnStep, ...]:
        """Return the group's churn, in seconds after ``begins`` (since 1970)."""
        return tuple(
            ChurnStep(kind, round(self._second(entry.t) - begins, 1))
            for entry in self.logs.driver
            for kind in ("join", "leave", "kill")
            if entry.event == kind
        )
