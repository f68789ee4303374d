"""A period in which lag changes evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafka_assignors.simulation.history import Levels
from kafka_assignors.simulation.serving import when_empty

NOTHING = 1e-6
"""Lag below this many records counts as 0, because of rounding errors of floats."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A period in which no member starts or stops reading, and records arrive evenly.

    Attributes:
        start: seconds.
        length: seconds.
        lag: at the start, records, by member that reads; last, the lag of partitions without a reader.
        arriving: arrivals in the same order, records/s.
        rate: service rate in the same order, records/s; the last is 0.
    """

    start: float
    length: float
    lag: Levels
    arriving: Levels
    rate: Levels

    def totals(self) -> tuple[Levels, Levels]:
        """Return the times at which the total lag changes its slope, both ends included, and the totals.

        The lag of a member changes evenly, until it is 0 and stays 0.
        """
        empty = when_empty(self.lag, self.arriving, self.rate)
        inner = np.sort(empty[(empty > 0) & (empty < self.length)])
        times = np.concatenate([[0.0], inner, [self.length]])
        slopes = self.arriving - self.rate
        # The lag of a member that keeps up stays 0.
        each = np.maximum(self.lag + slopes * times[:, None], 0.0)
        return self.start + times, each.sum(axis=1)


def first_below(times: Levels, totals: Levels, level: float, since: float) -> float | None:
    """Return the first time from ``since`` on at which the total is at most ``level``, or None."""
    for start, end, first, last in zip(times, times[1:], totals, totals[1:], strict=False):
        if end < since or min(first, last) > level:
            continue
        if first <= level and start >= since:
            return float(start)
        if last <= level:
            reached = start + (end - start) * (first - level) / (first - last) if first > level else start
            return float(max(reached, since))
        if first <= level and since > start:
            # The total rises; it may still be low enough at ``since``.
            total = first + (last - first) * (since - start) / (end - start)
            if total <= level:
                return float(since)
    return None
