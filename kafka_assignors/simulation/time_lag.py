"""The age of the oldest record not read yet, from how much had arrived and was read when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.simulation.history import Levels
from kafka_assignors.simulation.interval import NOTHING

__all__ = ["Stretches", "ages", "quantile", "stretches"]

_ENOUGH = 1e-9
"""The part of the largest age that a quantile may be off by."""


def ages(at: Levels, arrived: Levels, read: Levels) -> Levels:
    """How long the oldest record not read yet has waited, by time and partition, seconds.

    Partitions are read in order, so the oldest one is the one after the last one read.  Between two times
    records arrive evenly; what was there at the first one counts from then.

    Args:
        at: times, seconds, ascending, shape (times,).
        arrived: records arrived until then, shape (times, partitions).
        read: records read until then, the same shape.

    Returns:
        0 where nothing is left.  Cost: linear but for a binary search each.
    """
    found = np.zeros(read.shape)
    for partition in range(read.shape[1]):
        come, gone = arrived[:, partition], read[:, partition]
        late = np.flatnonzero(come - gone > NOTHING)
        if len(late):
            found[late, partition] = np.maximum(at[late] - _next_came(at, come, gone[late]), 0.0)
    return found


class Stretches(NamedTuple):
    """Times in which the age changes evenly, of all partitions, one after the other; those of age 0 left out.

    Attributes:
        first: the age where a stretch begins, seconds.
        last: where it ends.
        length: seconds of it that count.
        whole: seconds of all partitions that count, those of age 0 among them.
    """

    first: Levels
    last: Levels
    length: Levels
    whole: float


def stretches(at: Levels, arrived: Levels, read: Levels, until: float) -> Stretches:
    """The ages at all times, between which records arrive and are read evenly.

    The age rises by a second each second, and falls by the time between the arrivals of what is read.  So it
    changes its slope where arriving or reading does, and where what had come by then is read.

    Args:
        at: as of ``ages``.
        arrived: the same.
        read: the same.
        until: stretches after that do not count, and have a length of 0; one of ``at``.
    """
    found: list[tuple[Levels, Levels, Levels]] = []
    for partition in range(read.shape[1]):
        # In the order of records: floats may lose some on the way.
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
        found.append((first, last, np.clip(np.minimum(end, until) - begin, 0.0, None)))
    first, last, length = (np.concatenate([one[part] for one in found] or [np.zeros(0)]) for part in range(3))
    return Stretches(first, last, length, whole=(until - float(at[0])) * read.shape[1])


def quantile(of: Stretches, part: float) -> float:
    """The age that is not exceeded in this part of the time, over all partitions, seconds."""
    low, high = np.minimum(of.first, of.last), np.maximum(of.first, of.last)
    length = of.length
    wanted = part * of.whole - (of.whole - float(length.sum()))  # of the stretches; the others are 0
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
    """When what had come until each time was read first, and how much that is; what never was is left out."""
    after = np.searchsorted(gone, come, side="left")
    read = (after > 0) & (after < len(gone))
    after, come = after[read], come[read]
    before = after - 1
    part = (come - gone[before]) / (gone[after] - gone[before])
    return at[before] + part * (at[after] - at[before]), come


def _next_came(at: Levels, come: Levels, position: Levels) -> Levels:
    """When the record after so many came; the last time, if none did."""
    return _between(at, come, position, np.searchsorted(come, position + NOTHING / 2, side="right"))


def _last_came(at: Levels, come: Levels, position: Levels) -> Levels:
    """When so many had come first."""
    return _between(at, come, position, np.searchsorted(come, position - NOTHING / 2, side="left"))


def _between(
    at: Levels, come: Levels, position: Levels, after: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> Levels:
    after = np.minimum(after, len(at) - 1)
    before = np.maximum(after - 1, 0)
    span = come[after] - come[before]
    part = np.where(span > 0, (position - come[before]) / np.where(span > 0, span, 1.0), 1.0)
    found: Levels = at[before] + np.clip(part, 0.0, 1.0) * (at[after] - at[before])
    return found
