"""The age of the oldest unread record, from records arrived and read over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.simulation.history import Levels
from kafka_assignors.simulation.serving import NOTHING

_ENOUGH = 1e-9
"""Tolerance of a quantile, as a part of the largest age."""


def ages(at: Levels, arrived: Levels, read: Levels) -> Levels:
    """Return the age of the oldest unread record, by time and partition, seconds.

    Partitions are read in order, so the oldest unread record is the one after the last record read.  Between
    two times records arrive evenly.  Records present at the first time count as arrived then.

    Args:
        at: times, seconds, ascending, shape (times,).
        arrived: records arrived until then, shape (times, partitions).
        read: records read until then, the same shape.

    Returns:
        0 without lag.  Cost: linear, and a binary search for each value.
    """
    late_by = np.zeros(read.shape)
    for partition in range(read.shape[1]):
        come, gone = arrived[:, partition], read[:, partition]
        late = np.flatnonzero(come - gone > NOTHING)
        if len(late):
            late_by[late, partition] = np.maximum(at[late] - _next_came(at, come, gone[late]), 0.0)
    return late_by


class Stretches(NamedTuple):
    """Periods in which the age changes evenly, of all partitions; periods of age 0 are left out.

    Attributes:
        first: age at the start of a period, seconds.
        last: age at its end, seconds.
        length: its seconds that count.
        whole: seconds of all partitions that count, periods of age 0 included.
        largest: largest age of each partition, seconds; the time that does not count included.
    """

    first: Levels
    last: Levels
    length: Levels
    whole: float
    largest: Levels


def stretches(at: Levels, arrived: Levels, read: Levels, until: float) -> Stretches:
    """Return the ages over time; between two times records arrive and are read evenly.

    The age rises by a second each second, and falls by the time between the arrivals of the records read.  So
    its slope changes at the given times, and when the records arrived until such a time have been read.

    Args:
        at: as in ``ages``.
        arrived: as in ``ages``.
        read: as in ``ages``.
        until: one of ``at``; periods after it have a length of 0.
    """
    parts: list[tuple[Levels, Levels, Levels]] = []
    largest = np.zeros(read.shape[1])
    for partition in range(read.shape[1]):
        # Force the order that rounding errors of floats may break.
        come = np.maximum.accumulate(arrived[:, partition])
        gone = np.minimum(np.maximum.accumulate(read[:, partition]), come)
        if (come - gone <= NOTHING).all():
            continue
        when, reached = _reached(at, come, gone)
        times, position = np.concatenate([at, when]), np.concatenate([gone, reached])
        order = np.lexsort((position, times))
        times, position = times[order], position[order]
        lag = np.interp(times, at, come) - position
        late = np.flatnonzero(((lag[:-1] > NOTHING) | (lag[1:] > NOTHING)) & (times[1:] > times[:-1]))
        begin, end = times[late], times[late + 1]
        first = np.maximum(begin - _next_came(at, come, position[late]), 0.0)
        last = np.maximum(end - _last_came(at, come, position[late + 1]), 0.0)
        largest[partition] = max(first.max(initial=0.0), last.max(initial=0.0))
        parts.append((first, last, np.clip(np.minimum(end, until) - begin, 0.0, None)))
    first, last, length = (
        np.concatenate([part[place] for part in parts] or [np.zeros(0)]) for place in range(3)
    )
    whole = (until - float(at[0])) * read.shape[1]
    return Stretches(first, last, length, whole, largest)


def quantile(of: Stretches, part: float) -> float:
    """Return the age not exceeded in this part of the time, over all partitions, seconds."""
    low, high = np.minimum(of.first, of.last), np.maximum(of.first, of.last)
    length = of.length
    wanted = part * of.whole - (of.whole - float(length.sum()))  # seconds of age above 0
    if wanted <= 0:
        return 0.0
    least, most = 0.0, float(high[length > 0].max())
    exact = _ENOUGH * most
    while most - least > exact:
        middle = (least + most) / 2
        within = np.clip((middle - low) / np.maximum(high - low, exact), 0.0, 1.0) * length
        if float(within.sum()) >= wanted:
            most, keep = middle, low < middle
        else:
            least, keep = middle, high > middle
            wanted -= float(length[~keep].sum())
        low, high, length = low[keep], high[keep], length[keep]
    return most


def _reached(at: Levels, come: Levels, gone: Levels) -> tuple[Levels, Levels]:
    """Return when the records arrived until each time were all read, and their number; omit unread ones."""
    after = np.searchsorted(gone, come, side="left")
    read = (after > 0) & (after < len(gone))
    after, come = after[read], come[read]
    before = after - 1
    part = (come - gone[before]) / (gone[after] - gone[before])
    return at[before] + part * (at[after] - at[before]), come


def _next_came(at: Levels, come: Levels, position: Levels) -> Levels:
    """Return the arrival time of the record after each position; the last time if there is none."""
    return _between(at, come, position, np.searchsorted(come, position + NOTHING / 2, side="right"))


def _last_came(at: Levels, come: Levels, position: Levels) -> Levels:
    """Return the arrival time of the record before each position."""
    return _between(at, come, position, np.searchsorted(come, position - NOTHING / 2, side="left"))


def _between(
    at: Levels, come: Levels, position: Levels, after: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> Levels:
    after = np.minimum(after, len(at) - 1)
    before = np.maximum(after - 1, 0)
    span = come[after] - come[before]
    part = np.where(span > 0, (position - come[before]) / np.where(span > 0, span, 1.0), 1.0)
    times: Levels = at[before] + np.clip(part, 0.0, 1.0) * (at[after] - at[before])
    return times
