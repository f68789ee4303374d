"""Records the levels of a simulation over time, and makes the figures of time lag, window by window.

A level is the number of records of a partition that arrived, or were read, up to a time.  Ages are computed
for windows of times.  After a window, only the levels that later windows need are kept: those since the
oldest unread record arrived, and those of the last 30 s.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.serving import NOTHING
from kafka_assignors.simulation.time_lag import AgePeriods, age_periods, ages, quantile

CELLS = 4_000_000
"""Size of a window: its recorded times, multiplied by the partitions.

Each pair of a time and a partition takes up to 170 bytes while ages are computed.
"""

PERIODS = 4_000_000
"""Quantiles are exact up to this many periods of ages.  With more, they are within 0.01 % or 1 ms."""

_RECENT_S = 30.0
"""An arrival rate is a mean over this many last seconds, because arrivals come in bursts."""

_RATIO = 1.0001  # of the upper to the lower bound of a bin of ages
_LEAST_S, _MOST_S = 1e-3, 1e9  # the bins of this ratio lie between these ages


class TimeLags(NamedTuple):
    """The figures of time lag, seconds.

    Attributes:
        p50: the median age, over all partitions and times of the history.
        p99: the 99th percentile of the same ages.
        largest: by partition, its largest age.
        at_steps: by recorded step, the largest age of all partitions.
    """

    p50: float
    p99: float
    largest: Levels
    at_steps: Levels


class LevelRecord:
    """The levels over time.

    Args:
        history_s: length of the history, seconds; time after it does not count in quantiles.
        partitions: number of partitions.
        cells: size of a window: its recorded times, multiplied by the partitions.

    Cost: memory for a window or, if that is more, for twice the levels that are kept after one.
    """

    def __init__(self, history_s: float, partitions: int, cells: int = CELLS) -> None:
        self._history_s = history_s
        self._partitions = partitions
        self._least_times = self._limit = max(cells // max(partitions, 1), 2)
        self._at: list[float] = []  # times between which records arrive and are read evenly
        self._arrived: list[Levels] = []
        self._read: list[Levels] = []
        self._step_ends: list[int] = []  # indices in ``_at`` of the ends of steps
        self._done_at = -np.inf  # ages are computed up to this time
        self._largest = np.zeros(partitions)
        self._at_steps: list[Levels] = []
        self._distribution = _AgeDistribution()

    def record(self, now: float, arrived: Levels, read: Levels) -> None:
        """Record the levels by partition; arrived and read grew evenly since the last call."""
        if self._at and self._at[-1] == now:
            self._arrived[-1], self._read[-1] = arrived, read
            return
        if len(self._at) >= self._limit:
            self._close_window()
        self._at.append(now)
        self._arrived.append(arrived)
        self._read.append(read)

    def record_step(self) -> None:
        """Note that a step ends, or the simulation begins or ends, at the last recorded time."""
        self._step_ends.append(len(self._at) - 1)

    def arriving(self, partition: int) -> float | None:
        """Return the recent arrival rate of a partition, records/s; None: at the start."""
        now = self._at[-1]
        since = max(now - _RECENT_S, 0.0)
        after = bisect_right(self._at, since)
        if after == len(self._at):
            return None
        before = self._arrived[after - 1][partition]
        part = (since - self._at[after - 1]) / (self._at[after] - self._at[after - 1])
        arrived_before = before + part * (self._arrived[after][partition] - before)
        return float((self._arrived[-1][partition] - arrived_before) / (now - since))

    def time_lags(self) -> TimeLags:
        """Return the figures at the end of the simulation."""
        until = min(self._history_s, self._at[-1])
        self._compute(until)
        whole = until * self._partitions
        return TimeLags(
            self._distribution.quantile(0.5, whole),
            self._distribution.quantile(0.99, whole),
            self._largest,
            np.concatenate(self._at_steps),
        )

    def _close_window(self) -> None:
        arrived, read = self._compute(self._history_s)
        is_behind = arrived[-1] - read[-1] > NOTHING
        needed = (arrived[:, is_behind] <= read[-1, is_behind] + NOTHING / 2).sum(axis=0)
        recent = bisect_right(self._at, self._at[-1] - _RECENT_S)
        first = max(min(int(needed.min(initial=len(self._at))), recent) - 1, 0)
        # The kept levels begin at a step's end: `_compute` passes only the levels at step ends to `ages`,
        # which interpolates between them.
        first = max((step for step in self._step_ends if step <= first), default=0)
        for levels in (self._at, self._arrived, self._read):
            del levels[:first]
        self._step_ends = [step - first for step in self._step_ends if step >= first]
        # The next window computes the kept levels once more, so make at least half of it new.
        self._limit = max(self._least_times, 2 * len(self._at))

    def _compute(self, until: float) -> tuple[Levels, Levels]:
        """Compute the ages since the last window; return the kept levels as arrays."""
        at, arrived, read = np.array(self._at), np.array(self._arrived), np.array(self._read)
        periods = age_periods(at, arrived, read, until, self._done_at)
        self._largest = np.maximum(self._largest, periods.largest)
        self._distribution.add(periods)
        ends = np.array(self._step_ends, np.int64)
        at_ends = ages(at[ends], arrived[ends], read[ends]).max(axis=1, initial=0.0)
        self._at_steps.append(at_ends[at[ends] > self._done_at])
        self._done_at = self._at[-1]
        return arrived, read


class _AgeDistribution:
    """How long each age lasted: period by period, or counted in bins of ages."""

    def __init__(self) -> None:
        self._periods: list[AgePeriods] = []
        self._count = 0
        self._bounds: Levels = np.zeros(0)  # of bins; empty while periods are kept
        # ``_seconds``: by bin, the seconds of the periods wholly inside it.  Of a period in several bins,
        # only the seconds in its first and in its last bin count here.  ``_density``: by bin, for the periods
        # that cover the whole bin, their seconds per second of age; stored as differences at the bins' lower
        # bounds (``cumsum`` restores it).
        self._seconds = self._density = np.zeros(0)
        self._longest = self._total = 0.0  # the largest age, and the seconds of all periods

    def add(self, periods: AgePeriods) -> None:
        """Add periods."""
        if not periods.length.all():  # periods after the history do not count
            counts = periods.length > 0
            first, last, length = periods.first[counts], periods.last[counts], periods.length[counts]
            periods = periods._replace(first=first, last=last, length=length)
        self._periods.append(periods)
        self._count += len(periods.first)
        if self._count > PERIODS:
            self._fold()

    def quantile(self, part: float, whole: float) -> float:
        """Return the age that is not exceeded for the fraction ``part`` of ``whole`` seconds."""
        if not len(self._bounds):
            first, last, length = (
                np.concatenate([periods[place] for periods in self._periods]) for place in range(3)
            )
            return quantile(first, last, length, whole, part)
        self._fold()
        width = np.diff(self._bounds)
        # Rounding errors of the density must not count above the largest age, where bins are wide.
        density = np.where(self._bounds[:-1] < self._longest, np.cumsum(self._density)[:-1], 0.0)
        seconds = np.cumsum(self._seconds[:-1] + np.maximum(density, 0.0) * width)
        wanted = part * whole - (whole - self._total)
        if wanted <= 0:
            return 0.0
        place = min(int(np.searchsorted(seconds, wanted)), len(width) - 1)
        before = float(seconds[place - 1]) if place else 0.0
        inside = (wanted - before) / max(float(seconds[place]) - before, np.finfo(float).tiny)
        return min(float(self._bounds[place] + min(inside, 1.0) * width[place]), self._longest)

    def _fold(self) -> None:
        """Count the kept periods by bins."""
        if not len(self._bounds):
            count = int(np.log(_MOST_S / _LEAST_S) / np.log(_RATIO))
            self._bounds = np.concatenate([[0.0], _LEAST_S * _RATIO ** np.arange(count)])
            self._seconds, self._density = np.zeros(count + 1), np.zeros(count + 1)
        bounds, bins = self._bounds, len(self._bounds) - 1
        for periods in self._periods:
            low, high = np.minimum(periods.first, periods.last), np.maximum(periods.first, periods.last)
            first, last = (_bin(ages_s, bins) for ages_s in (low, high))
            spread = np.flatnonzero(first < last)
            inside = np.where(first < last, 0.0, periods.length)
            self._seconds[:-1] += np.bincount(first, inside, bins)
            low, high, first, last = low[spread], high[spread], first[spread], last[spread]
            density = periods.length[spread] / (high - low)
            self._seconds[:-1] += np.bincount(first, density * (bounds[first + 1] - low), bins)
            self._seconds[:-1] += np.bincount(last, density * (high - bounds[last]), bins)
            # Only periods that cover a whole bin: else a huge density would be added and subtracted at one
            # bound, and leave a rounding error.
            over = first + 1 < last
            first, last, density = first[over] + 1, last[over], density[over]
            self._density += np.bincount(first, density, bins + 1) - np.bincount(last, density, bins + 1)
            self._longest = max(self._longest, *(float(ages_s.max(initial=0.0)) for ages_s in periods[:2]))
            self._total += float(periods.length.sum())
        self._periods, self._count = [], 0


def _bin(ages_s: Levels, bins: int) -> Counts:
    """Return the bin of each age.  Rounding may put an age at a bound into either of its bins."""
    places = np.log(np.maximum(ages_s, _LEAST_S * 0.5) / _LEAST_S) / np.log(_RATIO)
    indices: Counts = np.clip(np.floor(places).astype(np.int64) + 1, 0, bins - 1)
    return indices
