"""The age of the oldest unread record, from records arrived and read over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.serving import NOTHING

_TOLERANCE = 1e-9
"""Tolerance of a quantile, as a part of the largest age."""


def ages(times_s: Levels, arrived: Levels, read: Levels) -> Levels:
    """Return the age of the oldest unread record, by time and partition, seconds.

    Each partition is read in order, so its oldest unread record is the one after the last record read.
    Between two times records arrive evenly.  Records present at the first time count as arrived then.

    Args:
        times_s: ascending, shape (times,).
        arrived: records arrived until each time, shape (times, partitions).
        read: records read until each time, same shape.

    Returns:
        The ages, same shape; 0 without lag.  Cost: linear, and a binary search for each value.
    """
    ages_s = np.zeros(read.shape)
    for partition in np.flatnonzero((arrived - read > NOTHING).any(axis=0)):
        arrivals, reads = arrived[:, partition], read[:, partition]
        late = np.flatnonzero(arrivals - reads > NOTHING)
        arrival = _next_arrival(times_s, arrivals, reads[late])
        ages_s[late, partition] = np.maximum(times_s[late] - arrival, 0.0)
    return ages_s


class AgePeriods(NamedTuple):
    """Periods of all partitions.  In each, the age of one partition's oldest unread record changes linearly.

    Periods of age 0, and those before ``since``, are left out.  Time after ``until`` does not count.

    Attributes:
        first: by period, the age at its start, seconds.
        last: by period, the age at its end, seconds.
        length: by period, its seconds that count.
        largest: by partition, its largest age in these periods, seconds, those after ``until`` included.
    """

    first: Levels
    last: Levels
    length: Levels
    largest: Levels


def age_periods(
    times_s: Levels, arrived: Levels, read: Levels, until: float, since: float = -np.inf
) -> AgePeriods:
    """Return the ages over time; between two times records arrive and are read evenly.

    The age rises by one second each second.  When one record is read and the next becomes the oldest, the age
    falls by the time between their arrivals.  So its slope changes at the given times, and when the group has
    read all records that arrived before one of these times.

    Time after ``until`` does not count; ``until`` is one of ``times_s`` or later.  Periods before ``since``,
    one of ``times_s``, are left out.
    """
    parts: list[tuple[Levels, Levels, Levels]] = []
    largest = np.zeros(read.shape[1])
    for partition in np.flatnonzero((arrived - read > NOTHING).any(axis=0)):
        # Restore the order that rounding errors of floats may break.
        arrivals = np.maximum.accumulate(arrived[:, partition])
        reads = np.minimum(np.maximum.accumulate(read[:, partition]), arrivals)
        when, reached = _reached(times_s, arrivals, reads)
        knots_s, position = np.concatenate([times_s, when]), np.concatenate([reads, reached])
        order = np.lexsort((position, knots_s))
        knots_s, position = knots_s[order], position[order]
        lag = np.interp(knots_s, times_s, arrivals) - position
        is_counted = (knots_s[1:] > knots_s[:-1]) & (knots_s[:-1] >= since)
        late = np.flatnonzero(((lag[:-1] > NOTHING) | (lag[1:] > NOTHING)) & is_counted)
        begin, end = knots_s[late], knots_s[late + 1]
        oldest = _next_arrival(times_s, arrivals, position[late])
        first = np.maximum(begin - oldest, 0.0)
        # If records are read in a period, its last age is that of the last record read.  The next record may
        # have arrived much later, and would make the age jump.
        is_read = position[late + 1] - position[late] > NOTHING / 2
        oldest = np.where(is_read, _last_arrival(times_s, arrivals, position[late + 1]), oldest)
        last = np.maximum(end - oldest, 0.0)
        largest[partition] = max(first.max(initial=0.0), last.max(initial=0.0))
        parts.append((first, last, np.clip(np.minimum(end, until) - begin, 0.0, None)))
    first, last, length = (
        np.concatenate([part[place] for part in parts] or [np.zeros(0)]) for place in range(3)
    )
    return AgePeriods(first, last, length, largest)


def quantile(first: Levels, last: Levels, length: Levels, whole: float, part: float) -> float:
    """Return the age (seconds) that is not exceeded for the fraction ``part`` of ``whole`` partition-seconds.

    ``first``, ``last`` and ``length`` are those of `AgePeriods`; outside of these periods the age is 0.
    """
    low, high = np.minimum(first, last), np.maximum(first, last)
    # In this many seconds of the periods the age must not exceed the result.
    wanted = part * whole - (whole - float(length.sum()))
    if wanted <= 0:
        return 0.0
    least, most = 0.0, float(high[length > 0].max())
    tolerance_s = _TOLERANCE * most
    while most - least > tolerance_s:
        middle = (least + most) / 2
        within = np.clip((middle - low) / np.maximum(high - low, tolerance_s), 0.0, 1.0) * length
        if float(within.sum()) >= wanted:
            most, keep = middle, low < middle
        else:
            least, keep = middle, high > middle
            wanted -= float(length[~keep].sum())
        low, high, length = low[keep], high[keep], length[keep]
    return most


def _reached(times_s: Levels, arrivals: Levels, reads: Levels) -> tuple[Levels, Levels]:
    """For each time, return when the records that had arrived by then were all read, and their number.

    Omits times whose records were not all read, or were read at the first time.
    """
    after = np.searchsorted(reads, arrivals, side="left")
    is_read = (after > 0) & (after < len(reads))
    after, arrivals = after[is_read], arrivals[is_read]
    before = after - 1
    part = (arrivals - reads[before]) / (reads[after] - reads[before])
    return times_s[before] + part * (times_s[after] - times_s[before]), arrivals


def _next_arrival(times_s: Levels, arrivals: Levels, position: Levels) -> Levels:
    """Return the arrival time of the record after each position; the last time if there is none."""
    after = np.searchsorted(arrivals, position + NOTHING / 2, side="right")
    return _between(times_s, arrivals, position, after)


def _last_arrival(times_s: Levels, arrivals: Levels, position: Levels) -> Levels:
    """Return the arrival time of the record before each position."""
    after = np.searchsorted(arrivals, position - NOTHING / 2, side="left")
    return _between(times_s, arrivals, position, after)


def _between(times_s: Levels, arrivals: Levels, position: Levels, after: Counts) -> Levels:
    """Interpolate the time of each position between entries ``after - 1`` and ``after`` of ``arrivals``."""
    after = np.minimum(after, len(times_s) - 1)
    before = np.maximum(after - 1, 0)
    span = arrivals[after] - arrivals[before]
    part = np.where(span > 0, (position - arrivals[before]) / np.where(span > 0, span, 1.0), 1.0)
    times: Levels = times_s[before] + np.clip(part, 0.0, 1.0) * (times_s[after] - times_s[before])
    return times
