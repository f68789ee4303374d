"""Division of a member's time among its partitions, and intervals in which lag changes at a constant rate.

A member is one thread that reads its partitions in turn.  Partitions with lag get equal parts of its time,
and time that one partition does not need goes to the others.  Records are a fluid here.  Arrival rates
are constant within an interval, so the records read are computed for the whole interval at once.  Partitions
that still have lag at the end of the interval got equal parts, and no other partition got more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka_assignors.simulation.history import Levels

Readers = npt.NDArray[np.int64]
"""By partition: the number of the member that reads it; if none does, the number after the last member's."""

NOTHING = 1e-6
"""Lag below this many records counts as 0, because of rounding errors of floats."""


def by_reader(reader: Readers, amounts: Levels, members: int) -> Levels:
    """Sum the amounts by member; the last sum is that of partitions without a reader."""
    return np.bincount(reader, amounts, members + 1).astype(np.float64, copy=False)


def records_read(demand: Levels, reader: Readers, capacity: Levels) -> Levels:
    """Return the records read of each partition within an interval.

    Args:
        demand: by partition, lag at the start of the interval plus arrivals within it, records.
        reader: by partition, its reader.
        capacity: by member, records it can read within the interval; finite.

    Returns:
        Records by partition: ``demand`` if the member can read all its partitions, less if it cannot, 0
        without a reader.  Cost: linear, and a sort of the partitions of overloaded members.
    """
    members = len(capacity)
    wanted = by_reader(reader, demand, members)
    overloaded = np.append(wanted[:-1] > capacity, True)  # the last entry stands for no reader
    is_short = overloaded[reader]
    read: Levels = np.where(is_short, 0.0, demand)
    short = np.flatnonzero(is_short & (reader < members))
    if len(short):
        read[short] = np.minimum(demand[short], _levels(demand[short], reader[short], capacity))
    return read


def _levels(demand: Levels, reader: Readers, capacity: Levels) -> Levels:
    """Return, by partition, its reader's limit: the most records that this reader reads of any one partition.

    Expects overloaded readers only.
    """
    order = np.lexsort((demand, reader))
    ascending, member = demand[order], reader[order]
    _, first, size = np.unique(member, return_index=True, return_counts=True)
    run = np.repeat(np.arange(len(size)), size)  # each member's partitions are one run
    before = np.cumsum(ascending) - ascending
    before -= before[first][run]  # demand of the member's partitions before this one
    partitions_left = size[run] - (np.arange(len(member)) - first[run])  # from this one on
    level = (capacity[member] - before) / partitions_left
    # By ascending demand, the first partition that wants at least an equal part of the capacity left sets the
    # limit.  Each overloaded member has such a partition.
    above = np.flatnonzero(ascending >= level)
    deciding = above[np.unique(run[above], return_index=True)[1]]
    levels = np.full(len(capacity), np.inf)
    levels[member[deciding]] = level[deciding]
    return levels[reader]


def when_empty(lag: Levels, arriving: Levels, rate: Levels) -> Levels:
    """Return the seconds until each lag (records) is 0 at these rates (records/s); infinite: never."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds: Levels = np.where(lag <= 0, 0.0, np.where(rate > arriving, lag / (rate - arriving), np.inf))
    return seconds


@dataclass(frozen=True, slots=True)
class Interval:
    """A period in which no member starts or stops reading, and records arrive evenly.

    Attributes:
        start: seconds.
        length: seconds.
        lag: by reader, lag at the start, records; the last is that of partitions without a reader.
        arriving: by reader, arrivals, records/s; the last is that of partitions without a reader.
        rate: by reader, service rate, records/s; the last is 0.
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
        lags = np.maximum(self.lag + slopes * times[:, None], 0.0)
        return self.start + times, lags.sum(axis=1)


def first_below(times: Levels, totals: Levels, level: float, since: float) -> float | None:
    """Return the first time from ``since`` on at which the total is at most ``level``; None: never."""
    for start, end, first, last in zip(times, times[1:], totals, totals[1:], strict=False):
        if end < since or min(first, last) > level:
            continue
        if first <= level and start >= since:
            return float(start)
        if last <= level:
            reached = start + (end - start) * (first - level) / (first - last) if first > level else start
            return float(max(reached, since))
        # The total rises above the level; it may still be low enough at ``since``.
        if first + (last - first) * (since - start) / (end - start) <= level:
            return float(since)
    return None
