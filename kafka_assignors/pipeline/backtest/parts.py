"""Arranges rows of the load table as parts of a history, each of some partitions of a group.  Pure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.service_rate import Floats, largest_rates

MICROSECONDS = 1_000_000  # in a second
_ENDED_S = 3600.0  # or three steps, if longer: a shorter absence may be a fault of the recording


@dataclass(frozen=True, slots=True, eq=False)
class LoadColumns:
    """Rows of one group of the load table, as arrays of one length, in any order.

    Attributes:
        time: end of the step, microseconds since 1970, int64.
        index: index of the partition among all of the group, in the planners' order, int64.
        arrived: records arrived; NaN if unknown, like ``served``, ``lag`` and ``forecast``.
        served: records served.
        lag: records unread at the end of the step.
        forecast: records forecast for ``horizon_s``.
        horizon_s: length of the forecast, seconds.
    """

    time: npt.NDArray[np.int64]
    index: npt.NDArray[np.int64]
    arrived: Floats
    served: Floats
    lag: Floats
    forecast: Floats
    horizon_s: Floats


@dataclass(frozen=True, slots=True)
class Frame:
    """The steps and partitions of the history of a group.

    Attributes:
        group: id of the group.
        first: end of the first step, microseconds since 1970.
        steps: number of steps.
        step_s: length of a step, seconds.
        topics: topic -> number of partitions, by name.
        horizon_s: most frequent horizon of the forecasts; forecasts of other horizons are ignored.  None:
            there are no forecasts.
    """

    group: str
    first: int
    steps: int
    step_s: float
    topics: dict[str, int]
    horizon_s: float | None

    @property
    def partitions(self) -> int:
        """Number of partitions of all topics."""
        return sum(self.topics.values())

    @property
    def starts(self) -> dict[str, int]:
        """Topic -> index of its first partition among all of the group."""
        return dict(zip(self.topics, itertools.accumulate(self.topics.values(), initial=0), strict=False))

    @property
    def step_us(self) -> int:
        """Length of a step, microseconds."""
        return round(self.step_s * MICROSECONDS)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The history of some consecutive partitions of a group.

    Attributes:
        begin: index of the first partition among all of the group, in the planners' order.
        arrivals: records by step and partition.
        start_lags: records by partition, at the start.
        expected: forecast records by step and partition; None: no forecasts.
        lag: sum of the lag by step; NaN if the lag of a partition is unknown.
        cells: number of (step, partition) pairs, without those in which the partition is empty (`Recorded`).
        unknown: number of these pairs whose arrivals are unknown, and so interpolated.
        never_known: see `Recorded`.
        appeared: see `Recorded`.
        ended: by partition, see `Recorded`, like ``newest_lag`` and ``lag_age``.
        rates: see ``service_rate.largest_rates``.
        served: sum of the records served by step; NaN if those of a present partition are
            unknown.
        known_lag: sum of the known lag by step.
    """

    begin: int
    arrivals: npt.NDArray[np.int64]
    start_lags: npt.NDArray[np.int64]
    expected: Floats | None
    lag: Floats
    cells: int
    unknown: int
    never_known: int
    appeared: int
    ended: npt.NDArray[np.bool_]
    newest_lag: Floats
    lag_age: npt.NDArray[np.int64]
    rates: Floats
    served: Floats
    known_lag: Floats


def frame_of(
    group: str,
    *,
    times: tuple[int, int],
    lengths_s: tuple[float, float],
    lowest_partition: int,
    topics: dict[str, int],
    horizon_s: float | None,
) -> Frame:
    """Return the frame of the rows of a group, at least one.

    Args:
        group: id of the group.
        times: end of the first and of the last step, microseconds since 1970.
        lengths_s: the shortest and the longest step, seconds.
        lowest_partition: the lowest number of a partition.
        topics: see `Frame`.
        horizon_s: see `Frame`.

    Raises:
        HistoryError: steps have different lengths or no length, or the number is negative.
    """
    (first, last), (shortest, longest) = times, lengths_s
    if shortest != longest:
        raise HistoryError(
            f"group {group!r}: steps of {shortest:g} s and of {longest:g} s: "
            f"choose a part with --since and --until"
        )
    if (step_us := round(shortest * MICROSECONDS)) <= 0:
        raise HistoryError(f"group {group!r}: steps of {shortest:g} s")
    if lowest_partition < 0:
        raise HistoryError(f"group {group!r}: a partition with the number {lowest_partition}")
    return Frame(
        group, first, (last - first) // step_us + 1, shortest, dict(sorted(topics.items())), horizon_s
    )


def part_of(frame: Frame, rows: LoadColumns, begin: int, end: int) -> Part:
    """Arrange the rows of the partitions from index ``begin`` to before ``end``.

    Raises:
        HistoryError: steps do not follow each other, or a partition has a step twice.
    """
    steps, size = frame.steps, end - begin
    after = rows.time - frame.first
    if bool((after % frame.step_us).any()):
        raise HistoryError(f"group {frame.group!r}: its steps do not follow each other at {frame.step_s:g} s")
    cell = after // frame.step_us * size + rows.index - begin
    _refuse_doubles(frame, rows, cell)

    def laid_out(values: Floats) -> Floats:
        table = np.full(steps * size, np.nan)
        table[cell] = values
        return table.reshape(steps, size)

    arrived, served, lag = laid_out(rows.arrived), laid_out(rows.served), laid_out(rows.lag)
    seen = np.zeros((steps, size), bool)
    seen.reshape(-1)[cell] = True
    number = np.arange(steps)[:, None]
    first_seen, last_seen = np.argmax(seen, axis=0), steps - 1 - np.argmax(seen[::-1], axis=0)
    has_ended = (steps - 1 - last_seen) * frame.step_s > max(_ENDED_S, 3 * frame.step_s)
    is_empty = (number < first_seen) | (has_ended & (number > last_seen))
    is_absent = is_empty | ~seen.any(axis=0)
    waiting = _waiting_when_first_seen(arrived, served, lag, first_seen)
    known = ~np.isnan(arrived)
    arrivals = np.where(is_empty, 0.0, _filled(arrived))
    lag_age = np.argmax(~np.isnan(lag[::-1]), axis=0)
    late = first_seen > 0
    # The lag with which a partition appears later counts as arrivals of its first step.
    arrivals[first_seen[late], np.flatnonzero(late)] += waiting[late]
    expected = None
    if frame.horizon_s is not None:
        forecast = np.where(rows.horizon_s == frame.horizon_s, np.maximum(rows.forecast, 0.0), np.nan)
        expected = laid_out(forecast)
    return Part(
        begin=begin,
        arrivals=_whole(arrivals),
        start_lags=_whole(np.where(late, 0.0, waiting)),
        expected=expected,
        lag=np.where(is_empty, 0.0, lag).sum(axis=1),
        cells=int((~is_empty).sum()),
        unknown=int((~known & ~is_empty).sum()),
        never_known=int((~known.any(axis=0)).sum()),
        appeared=int(late.sum()),
        ended=has_ended,
        newest_lag=lag[steps - 1 - lag_age, np.arange(size)],
        lag_age=lag_age,
        rates=largest_rates(served, lag, frame.step_s),
        served=np.where(is_absent, 0.0, served).sum(axis=1),
        known_lag=np.nan_to_num(lag).sum(axis=1),
    )


def _refuse_doubles(frame: Frame, rows: LoadColumns, cell: npt.NDArray[np.int64]) -> None:
    _, first, counts = np.unique(cell, return_index=True, return_counts=True)
    if (counts > 1).any():
        index = int(rows.index[first[np.argmax(counts > 1)]])
        topic, start = next(item for item in reversed(frame.starts.items()) if item[1] <= index)
        raise HistoryError(
            f"group {frame.group!r}: {topic}-{index - start} has a step more than once: "
            f"is this the output of two pipelines?"
        )


def _waiting_when_first_seen(
    arrived: Floats, served: Floats, lag: Floats, first_seen: npt.NDArray[np.int64]
) -> Floats:
    """Return the lag before the first step of each partition, records of shape (partitions,)."""
    every = np.arange(arrived.shape[1])
    before = lag[first_seen, every] + np.nan_to_num(served[first_seen, every] - arrived[first_seen, every])
    waiting: Floats = np.maximum(np.nan_to_num(before), 0.0)
    return waiting


def _filled(table: Floats) -> Floats:
    """Fill NaN by column: linear in between, the nearest value at the ends, 0 in a column without values."""
    filled: Floats = table.copy()
    steps = np.arange(len(table))
    for column in np.flatnonzero(np.isnan(table).any(axis=0)):
        known = ~np.isnan(table[:, column])
        filled[:, column] = np.interp(steps, steps[known], table[known, column]) if known.any() else 0.0
    return filled


def _whole(values: Floats) -> npt.NDArray[np.int64]:
    whole: npt.NDArray[np.int64] = np.rint(values).astype(np.int64)
    return whole
