"""A stretch of time in which nothing changes but the lag, and that evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafka_assignors.simulation.history import Levels
from kafka_assignors.simulation.serving import when_empty

__all__ = ["NOTHING", "Interval", "first_below"]

NOTHING = 1e-6
"""Records: so little lag is none, but for what floats lose."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A time in which nobody starts or stops reading, and records arrive evenly.

    Attributes:
        start: seconds.
        length: seconds.
        lag: of each member that reads, at the start, records; and at last of all that nobody reads.
        arriving: to the same, records/s.
        rate: of each member, records/s; 0 for the last.
    """

    start: float
    length: float
    lag: Levels
    arriving: Levels
    rate: Levels

    def totals(self) -> tuple[Levels, Levels]:
        """Times within at which the total lag changes its slope, both ends among them; and the total then.

        Each member's lag falls or rises evenly until it is 0, and stays there.
        """
        empty = when_empty(self.lag, self.arriving, self.rate)
        inner = np.sort(empty[(empty > 0) & (empty < self.length)])
        times = np.concatenate([[0.0], inner, [self.length]])
        slopes = self.arriving - self.rate
        # Lag of a member that is empty and keeps up stays 0.
        each = np.maximum(self.lag + slopes * times[:, None], 0.0)
        return self.start + times, each.sum(axis=1)


def first_below(times: Levels, totals: Levels, level: float, since: float) -> float | None:
    """The first time from ``since`` on at which the total is no more than ``level``; None if it is not."""
    for start, end, first, last in zip(times, times[1:], totals, totals[1:], strict=False):
        if end < since or min(first, last) > level:
            continue
        if first <= level and start >= since:
            return float(start)
        if last <= level:
            reached = start + (end - start) * (first - level) / (first - last) if first > level else start
            return float(max(reached, since))
        if first <= level and since > start:
            # It rises: whether it still is at that level then.
            there = first + (last - first) * (since - start) / (end - start)
            if there <= level:
                return float(since)
    return None
