"""The history of a group, from columns of the load table.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.history_shape import MICROSECONDS, HistoryShape, LoadColumns
from kafka_assignors.pipeline.backtest.service_rate import Floats, largest_rates, service_rate
from kafka_assignors.simulation import History

_ENDED_S = 3600.0
"""A partition has ended if its last row is more than this many seconds (or three steps, if longer) before
the end of the history.  A shorter time without rows may be a fault of the recording."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The recorded history of a group.

    A partition is empty before its first row.  It is also empty after its last row, if that is more than an
    hour (or three steps, if longer) before the end of the history: its topic was deleted, for example.
    """

    history: History  # its ``service_rate`` is measured; None: the group never had a long backlog
    lag: Floats  # of the whole group at the end of each step; NaN if the lag of a partition is unknown
    unknown: float  # share (0 to 1) of the non-empty pairs of step and partition with unknown arrivals
    never_known: int  # number of partitions without any known arrivals, which count as 0
    appeared: int  # number of partitions whose first row is after the first step
    ended: npt.NDArray[np.bool_]  # by partition, whether it is empty after its last row
    newest_lag: Floats  # by partition, the newest known lag; NaN if none is known
    lag_age: npt.NDArray[np.int64]  # by partition, the steps from its newest known lag to the end; 0 if none


MakeArray = Callable[[tuple[int, int], type], npt.NDArray[Any]]
"""Makes an array to be filled, such as ``np.empty``; takes its shape and type."""


class RecordedBuilder:
    """Arranges rows of the load table as the history of a group, some partitions at a time.

    Cost: O(rows + steps x partitions).  Memory: the arrays of ``make_array``, and a few arrays for the
    partitions of one ``add``.
    """

    def __init__(self, shape: HistoryShape, make_array: MakeArray) -> None:
        self._shape = shape
        dimensions = shape.steps, shape.partitions
        self._arrivals = make_array(dimensions, np.int64)
        self._expected = None if shape.horizon_s is None else make_array(dimensions, np.float64)
        self._start_lags, self._lag_age = (np.zeros(shape.partitions, np.int64) for _ in range(2))
        self._newest_lag = np.zeros(shape.partitions)
        self._ended, self._is_known = (np.zeros(shape.partitions, bool) for _ in range(2))
        self._lag, self._served, self._known_lag = (np.zeros(shape.steps) for _ in range(3))
        self._rates = np.zeros(1)
        # Number of non-empty pairs of step and partition, and how many of them have unknown arrivals.
        self._cells = self._unknown = 0
        self._appeared = 0

    def add(self, rows: LoadColumns, begin: int, end: int) -> None:
        """Add all rows of the partitions from index ``begin`` to before ``end``.

        Raises:
            HistoryError: the time between two ends of steps is no multiple of the steps' length, or a
                partition has a step twice.
        """
        shape, steps, size = self._shape, self._shape.steps, end - begin
        after = rows.time - shape.first
        if bool((after % shape.step_us).any()):
            raise HistoryError(
                f"group {shape.group!r}: its steps do not all end multiples of {shape.step_s:g} s apart"
            )
        cell = after // shape.step_us * size + rows.index - begin
        _refuse_doubles(shape, cell, begin, size)

        def laid_out(values: Floats) -> Floats:
            table = np.full(steps * size, np.nan)
            table[cell] = values
            return table.reshape(steps, size)

        arrived, served, lag = laid_out(rows.arrived), laid_out(rows.served), laid_out(rows.lag)
        seen = np.zeros((steps, size), bool)
        seen.reshape(-1)[cell] = True
        number = np.arange(steps)[:, None]
        first_seen, last_seen = np.argmax(seen, axis=0), steps - 1 - np.argmax(seen[::-1], axis=0)
        has_ended = (steps - 1 - last_seen) * shape.step_s > max(_ENDED_S, 3 * shape.step_s)
        is_empty = (number < first_seen) | (has_ended & (number > last_seen))
        waiting = _waiting_when_first_seen(arrived, served, lag, first_seen)
        is_known = ~np.isnan(arrived)
        arrivals = np.where(is_empty, 0.0, _filled(arrived))
        is_late = first_seen > 0
        # A partition may appear after the first step of the history.  Its lag before its first row then
        # counts as arrivals in the step of this row.
        arrivals[first_seen[is_late], np.flatnonzero(is_late)] += waiting[is_late]
        lag_age = np.argmax(~np.isnan(lag[::-1]), axis=0)

        columns = slice(begin, end)
        self._arrivals[:, columns] = np.rint(arrivals)
        self._start_lags[columns] = np.rint(np.where(is_late, 0.0, waiting))
        if self._expected is not None:
            forecast = np.where(rows.horizon_s == shape.horizon_s, np.maximum(rows.forecast, 0.0), np.nan)
            self._expected[:, columns] = laid_out(forecast)
        self._ended[columns] = has_ended
        self._appeared += int(is_late.sum())
        self._is_known[columns] = is_known.any(axis=0)
        self._newest_lag[columns] = lag[steps - 1 - lag_age, np.arange(size)]
        self._lag_age[columns] = lag_age
        self._lag += np.where(is_empty, 0.0, lag).sum(axis=1)
        self._served += np.where(is_empty | ~seen.any(axis=0), 0.0, served).sum(axis=1)
        self._known_lag += np.nan_to_num(lag).sum(axis=1)
        # If the history is too short for a rate, `largest_rates` is empty, and so is the maximum.
        self._rates = np.maximum(self._rates, largest_rates(served, lag, shape.step_s))
        self._cells += int((~is_empty).sum())
        self._unknown += int((~is_known & ~is_empty).sum())

    def recorded(self, recorded_members: int | None) -> Recorded:
        """Return the history, after each partition was added once.

        ``recorded_members`` is the number of members during the recording.  None: unknown; then the rate is
        that of the fastest partition (see ``service_rate``).

        Raises:
            HistoryError: no arrivals are known.
        """
        shape, rates = self._shape, self._rates
        if not self._is_known.any():
            raise HistoryError(f"group {shape.group!r}: not one step with known arrivals")
        if recorded_members is not None:
            of_group = largest_rates(self._served[:, None], self._known_lag[:, None], shape.step_s)
            rates = of_group / recorded_members
        return Recorded(
            history=History(
                group=shape.group,
                step_s=shape.step_s,
                topics=shape.topics,
                arrivals=self._arrivals,
                start_lags=self._start_lags,
                service_rate=service_rate(rates, shape.step_s),
                expected=self._expected,
                horizon_s=shape.horizon_s,
                starts_at=(shape.first - shape.step_us) / MICROSECONDS,
            ),
            lag=self._lag,
            unknown=self._unknown / max(self._cells, 1),
            never_known=int((~self._is_known).sum()),
            appeared=self._appeared,
            ended=self._ended,
            newest_lag=self._newest_lag,
            lag_age=self._lag_age,
        )


def _refuse_doubles(shape: HistoryShape, cell: npt.NDArray[np.int64], begin: int, size: int) -> None:
    is_double = np.bincount(cell) > 1
    if is_double.any():
        index = begin + int(np.argmax(is_double)) % size
        topic, start = next(item for item in reversed(shape.starts.items()) if item[1] <= index)
        raise HistoryError(
            f"group {shape.group!r}: {topic}-{index - start} has a step more than once: "
            f"is this the output of two pipelines?"
        )


def _waiting_when_first_seen(
    arrived: Floats, served: Floats, lag: Floats, first_seen: npt.NDArray[np.int64]
) -> Floats:
    """Return the lag of each partition before its first row, in records; the shape is (partitions,)."""
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


def missing_times(recorded: Recorded, since: datetime | None, until: datetime | None) -> str | None:
    """Describe the requested times that a history does not cover; None: it covers all."""
    history = recorded.history
    first = datetime.fromtimestamp(history.starts_at, timezone.utc)
    last = first + timedelta(seconds=len(history.arrivals) * history.step_s)
    step = timedelta(seconds=history.step_s)
    parts = []
    if since is not None and first - since >= step:
        parts.append(f"nothing from {_shown(since)} to {_shown(first)}")
    if until is not None and until - last >= step:
        parts.append(f"nothing from {_shown(last)} to {_shown(until)}")
    return f"group {history.group!r}: {' and '.join(parts)} UTC was recorded" if parts else None


def _shown(time: datetime) -> str:
    return f"{time.astimezone(timezone.utc):%Y-%m-%d %H:%M}"
