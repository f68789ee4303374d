"""Turns samples of many partitions into steps, by the rules of ``forecast.counters`` and ``forecast.steps``.

`take` computes the counters of all samples at once, because a step needs only the two samples around each of
its ends.  The age of the oldest unread record needs all earlier steps, so `time_lags` goes step by step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from kafka_assignors.forecast.bucket.rows import INTERPOLATED, MISSING, OK
from kafka_assignors.forecast.bucket.table import Bools, Ints, State, Table, last_samples
from kafka_assignors.forecast.counters import on_line
from kafka_assignors.forecast.samples import NO_COMMIT, UNKNOWN
from kafka_assignors.forecast.steps import MOST_POINTS

_EXACT = 2.0**62  # a product up to this value does not overflow
_HALF = MOST_POINTS // 2
# Points that stay when there are too many, as in ``Growth.add``.
_THINNED = np.array([0, *range(2, _HALF, 2), *range(_HALF, MOST_POINTS)])


class Samples(NamedTuple):
    """Samples of many partitions, as columns with the fields of `Sample`."""

    row: Ints
    time: Ints
    begin: Ints
    end: Ints
    committed: Ints

    def where(self, chosen: Any) -> Samples:
        """Return the chosen samples."""
        return Samples(*(column[chosen] for column in self))


def concatenated(several: Iterable[Samples]) -> Samples:
    """Concatenate samples."""
    return Samples(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


class Marks(NamedTuple):
    """Ends of steps, as columns.  ``MISSING``: the commit is unknown."""

    row: Ints
    at: Ints
    end: Ints
    position: Ints  # offset of the group's next record
    arrived: Ints
    served: Ints
    lag: Ints
    quality: Ints  # index of ``QUALITIES``
    is_start: Bools  # start of the partition's first step; no step ends there

    def where(self, chosen: Any) -> Marks:
        """Return the chosen marks."""
        return Marks(*(column[chosen] for column in self))


def steady(table: Table, samples: Samples) -> Bools:
    """Return which samples `take` can handle: those that leave the counters plain (see ``table``)."""
    before = _before(table, samples)
    is_new = before.time == UNKNOWN
    is_near = samples.time - before.time <= table.settings.max_gap
    is_same_kind = (samples.committed == UNKNOWN) == (before.committed == UNKNOWN)
    is_first_commit = (before.committed == NO_COMMIT) & (samples.committed != NO_COMMIT)
    continues: Bools = (
        (samples.time > np.maximum(before.time, -1))
        & (is_near | is_new)
        & (samples.begin >= np.maximum(before.begin, 0))
        & (samples.end >= np.maximum(before.end, 0))
        & (samples.committed >= before.committed)
        & (is_same_kind | is_new)
        & ~is_first_commit
    )
    return continues


def take(table: Table, samples: Samples) -> Marks:
    """Take steady samples, and return the ends of the steps they complete.

    The samples, and the ends of steps, are in the order of partitions and times.
    """
    step = table.settings.step
    before = _before(table, samples)
    is_new = before.time == UNKNOWN  # a first sample is taken as if its offsets had been sampled just before
    for column, value in zip(before[1:], (samples.time - 1, *samples[2:]), strict=True):
        column[is_new] = value[is_new]
    table.plain[samples.row[is_new]] = State.BEGUN
    is_known = samples.committed != UNKNOWN
    read = np.maximum(samples.committed - np.maximum(before.committed, before.begin), 0)
    read[before.committed < 0] = 0
    position, position_before = _position(table, samples), _position(table, before)
    served = table.served[samples.row] + _running(samples.row, read)

    # A sample completes every step that ended since the sample before it.  From here on, arrays have an entry
    # for each end of a step; ``source`` is the index of the sample that completes the step.
    ended = samples.time // step - before.time // step
    source = np.repeat(np.arange(len(ended)), ended)
    number = np.arange(len(source)) - np.repeat(np.cumsum(ended) - ended, ended)
    row, start, stop = samples.row[source], before.time[source], samples.time[source]
    step_end = (start // step + 1 + number) * step

    def on_lines(values_before: Ints, values: Ints) -> Ints:
        return _on_lines(values_before[source], values[source], start, stop, step_end)

    end, far = on_lines(before.end, samples.end), stop - start > step
    marked, marked_position = on_lines(served - read, served), on_lines(position_before, position)
    through = far & (step_end != stop)  # as in ``EndMark``

    is_first = _firsts(row)
    end_before = _shifted(end, is_first, table.mark_end[row])
    marked_before = _shifted(marked, is_first, table.mark_served[row])
    through_before = _shifted(through, is_first, table.mark_through[row])
    is_known = is_known[source]
    marks = Marks(
        row=row,
        at=step_end,
        end=end,
        position=np.where(is_known, marked_position, MISSING),
        arrived=end - end_before,
        served=np.where(is_known, marked - marked_before, MISSING),
        lag=np.where(is_known, np.maximum(end - marked_position, 0), MISSING),
        quality=np.where(far | through_before, INTERPOLATED, OK),
        is_start=is_first & (table.plain[row] == State.BEGUN),
    )
    # Store the last sample and the last end of a step of each partition.
    last = _lasts(samples.row)
    rows = samples.row[last]
    for name in ("time", "begin", "end", "committed"):
        table.arrays[name][rows] = getattr(samples, name)[last]
    table.served[rows] = served[last]
    last = _lasts(row)
    rows = row[last]
    table.plain[rows] = State.PLAIN
    table.mark_end[rows], table.mark_through[rows] = end[last], through[last]
    group = rows[is_known[last]]
    table.mark_served[group] = marked[last][is_known[last]]
    table.mark_position[group] = marked_position[last][is_known[last]]
    return marks


def time_lags(table: Table, marks: Marks) -> Ints:
    """Add a point to the growth of each log; return the ages of the oldest unread records, microseconds.

    ``marks`` has at most one mark of each partition.
    """
    _add_points(table, marks)
    ages = np.where(marks.lag == 0, 0, MISSING)
    behind = np.flatnonzero(marks.lag > 0)
    row, position = marks.row[behind], marks.position[behind]
    first, points = table.point_first[row], table.points[row]
    # Drop points until the oldest unread record of each partition is between its first two.
    left = np.arange(len(row))
    while len(left):
        following = (first[left] + 1) % MOST_POINTS
        is_read = (points[left] > 1) & (table.point_end[following, row[left]] <= position[left])
        left = left[is_read]
        first[left] = following[is_read]
        points[left] -= 1
    following = np.where(points > 1, (first + 1) % MOST_POINTS, first)
    t0, t1 = table.point_at[first, row], table.point_at[following, row]
    e0, e1 = table.point_end[first, row], table.point_end[following, row]
    arrival = np.where(points > 1, _on_lines(t0, t1, e0, np.maximum(e1, e0 + 1), position), t0)
    ages[behind] = np.where(e0 <= position, marks.at[behind] - arrival, MISSING)
    table.point_first[row], table.points[row] = first, points
    return ages


def _add_points(table: Table, marks: Marks) -> None:
    row = marks.row
    full = row[table.points[row] == MOST_POINTS]
    if len(full):
        ring = (table.point_first[full] + _THINNED[:, None]) % MOST_POINTS
        for points in (table.point_at, table.point_end):
            points[: len(_THINNED), full] = points[ring, full]
        table.point_first[full], table.points[full] = 0, len(_THINNED)
    slot = (table.point_first[row] + table.points[row]) % MOST_POINTS
    table.point_at[slot, row], table.point_end[slot, row] = marks.at, marks.end
    table.points[row] += 1


def _before(table: Table, samples: Samples) -> Samples:
    """Return the sample before each sample, in its partition; UNKNOWN for the first of a new partition."""
    is_first = _firsts(samples.row)
    last = last_samples(table, samples.row)
    columns = (_shifted(column, is_first, known) for column, known in zip(samples[1:], last, strict=True))
    return Samples(samples.row, *columns)


def _position(table: Table, samples: Samples) -> Ints:
    """Return the position of each group, as ``forecast.samples.position`` with a known end."""
    committed = samples.committed
    inside = (committed != NO_COMMIT) & (samples.begin <= committed) & (committed <= samples.end)
    start = samples.begin if table.settings.reset == "earliest" else samples.end
    return np.where(inside, committed, start)


def _on_lines(first: Ints, last: Ints, start: Ints, stop: Ints, at: Ints) -> Ints:
    """Interpolate as ``on_line``; in Python where a product may overflow 64 bits."""
    growth, passed = last - first, at - start
    values: Ints = first + growth * passed // (stop - start)
    is_large = np.abs(growth.astype(np.float64)) * passed > _EXACT
    for index in np.flatnonzero(is_large).tolist():
        line = (first, last, start, stop, at)
        values[index] = on_line(*(int(array[index]) for array in line))
    return values


def _running(row: Ints, values: Ints) -> Ints:
    """Return the running sum of the values within each partition."""
    total = np.cumsum(values)
    first = np.flatnonzero(_firsts(row))
    counts = np.diff(np.append(first, len(row)))
    return total - np.repeat(total[first] - values[first], counts)


def _shifted(values: Any, first: Bools, before: Any) -> Any:
    """Return the value before each value, in its partition; ``before`` for the first."""
    shifted = np.empty_like(values)
    shifted[1:] = values[:-1]
    shifted[first] = before[first]
    return shifted


def _firsts(row: Ints) -> Bools:
    return np.append(True, row[1:] != row[:-1])[: len(row)]


def _lasts(row: Ints) -> Bools:
    return np.append(row[1:] != row[:-1], True)[: len(row)]
