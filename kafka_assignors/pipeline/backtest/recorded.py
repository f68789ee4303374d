"""The history of a group, from columns of the load table.  Pure.

``Recorded`` has the amount of unknown data, and how it was replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.service_rate import service_rate
from kafka_assignors.simulation import History

Floats = npt.NDArray[np.float64]

MICROSECONDS = 1_000_000  # in a second
_MOST_CELLS = 200_000_000
"""Maximum steps x partitions of a group: one array of them takes 1.6 GB."""

_MOMENT = "%Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True, eq=False)
class LoadColumns:
    """Rows of one group of the load table, as arrays of one length, in any order.

    Attributes:
        time: end of the step, microseconds since 1970, int64.
        step_s: length of the step, seconds.
        topic: name of the topic.
        partition: number of the partition, int64.
        arrived: records arrived; NaN if unknown, like ``served``, ``lag`` and ``forecast``.
        served: records served.
        lag: records unread at the end of the step.
        forecast: records forecast for ``horizon_s``.
        horizon_s: length of the forecast, seconds.
    """

    time: npt.NDArray[np.int64]
    step_s: Floats
    topic: npt.NDArray[np.object_]
    partition: npt.NDArray[np.int64]
    arrived: Floats
    served: Floats
    lag: Floats
    forecast: Floats
    horizon_s: Floats

    def where(self, wanted: npt.NDArray[np.bool_]) -> LoadColumns:
        """Return the wanted rows."""
        return LoadColumns(*(getattr(self, column.name)[wanted] for column in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The recorded history of a group.

    Attributes:
        history: the history; its ``service_rate`` is measured, None: the group never had a long backlog.
        lag: recorded lag of the whole group at the end of each step, of shape (steps,); NaN if the lag of a
            partition is unknown.
        unknown: unknown part of the arrivals, 0 to 1; interpolated in time, by partition.
        never_known: number of partitions without any known arrivals; these count as 0.
        appeared: number of partitions that first appear after the first step; 0 arrivals before.
    """

    history: History
    lag: Floats
    unknown: float
    never_known: int
    appeared: int


def assemble(group: str, rows: LoadColumns, *, recorded_members: int | None = None) -> Recorded:
    """Arrange the rows of a group by steps and partitions.

    Cost: O(rows + steps x partitions), and a few arrays of that size.

    Raises:
        HistoryError: steps have different lengths, a partition has a step twice, or no arrivals are known.
    """
    step_us, step_s = _one_step(group, rows)
    first, last = int(rows.time.min()), int(rows.time.max())
    if bool(((rows.time - first) % step_us).any()):
        raise HistoryError(f"group {group!r}: its steps do not follow each other at {step_s:g} s")
    steps = (last - first) // step_us + 1
    topics, column = _columns(group, rows)
    size = sum(topics.values())
    check_size(group, steps, size)
    cell = (rows.time - first) // step_us * size + column
    _refuse_doubles(group, rows, cell)

    def laid_out(values: Floats) -> Floats:
        table = np.full(steps * size, np.nan)
        table[cell] = values
        return table.reshape(steps, size)

    arrived, served, lag = laid_out(rows.arrived), laid_out(rows.served), laid_out(rows.lag)
    seen = np.zeros(steps * size, bool)
    seen[cell] = True
    first_seen = np.argmax(seen.reshape(steps, size), axis=0)
    before = np.arange(steps)[:, None] < first_seen
    waiting = _waiting_when_first_seen(arrived, served, lag, first_seen)
    known = ~np.isnan(arrived)
    if not known.any():
        raise HistoryError(f"group {group!r}: not one step with known arrivals")
    arrivals = np.where(before, 0.0, _filled(arrived))
    late = first_seen > 0
    arrivals[first_seen[late], np.flatnonzero(late)] += waiting[late]
    expected, horizon_s = _forecasts(rows, cell, steps, size)
    whole = np.where(before, 0.0, lag)
    return Recorded(
        history=History(
            group=group,
            step_s=step_s,
            topics=topics,
            arrivals=_whole(arrivals),
            start_lags=_whole(np.where(late, 0.0, waiting)),
            service_rate=service_rate(served, lag, step_s, recorded_members),
            expected=expected,
            horizon_s=horizon_s,
            starts_at=(first - step_us) / MICROSECONDS,
        ),
        lag=whole.sum(axis=1),
        unknown=float((~known & ~before).sum() / max((~before).sum(), 1)),
        never_known=int((~known.any(axis=0)).sum()),
        appeared=int(late.sum()),
    )


def check_size(group: str, steps: int, partitions: int) -> None:
    """Refuse a history too large for memory.

    Raises:
        HistoryError: it has more than 200 million steps x partitions.
    """
    if steps * partitions > _MOST_CELLS:
        raise HistoryError(
            f"group {group!r}: {steps:,} steps of {partitions:,} partitions are too many at once: "
            f"choose a part with --since and --until"
        )


def missing_times(recorded: Recorded, since: datetime | None, until: datetime | None) -> str | None:
    """Describe the requested time that is not in a history; None if the history has all of it."""
    history = recorded.history
    first = datetime.fromtimestamp(history.starts_at, timezone.utc)
    last = first + timedelta(seconds=len(history.arrivals) * history.step_s)
    step = timedelta(seconds=history.step_s)
    parts = []
    if since is not None and first - since >= step:
        parts.append(f"nothing from {since:{_MOMENT}} to {first:{_MOMENT}}")
    if until is not None and until - last >= step:
        parts.append(f"nothing from {last:{_MOMENT}} to {until:{_MOMENT}}")
    return f"group {history.group!r}: {' and '.join(parts)} UTC was recorded" if parts else None


def _one_step(group: str, rows: LoadColumns) -> tuple[int, float]:
    lengths = np.unique(rows.step_s)
    if len(lengths) > 1:
        raise HistoryError(
            f"group {group!r}: steps of {lengths[0]:g} s and of {lengths[-1]:g} s: "
            f"choose a part with --since and --until"
        )
    step_us = round(float(lengths[0]) * MICROSECONDS)
    if step_us <= 0:
        raise HistoryError(f"group {group!r}: steps of {lengths[0]:g} s")
    return step_us, float(lengths[0])


def _columns(group: str, rows: LoadColumns) -> tuple[dict[str, int], npt.NDArray[np.int64]]:
    """Return topic -> partitions, and the index of each row's partition in the planners' order."""
    if int(rows.partition.min()) < 0:
        raise HistoryError(f"group {group!r}: a partition with the number {int(rows.partition.min())}")
    names, which = np.unique(rows.topic.astype(str), return_inverse=True)
    counts = np.zeros(len(names), np.int64)
    np.maximum.at(counts, which, rows.partition + 1)
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))
    topics = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
    return topics, first[which] + rows.partition


def _refuse_doubles(group: str, rows: LoadColumns, cell: npt.NDArray[np.int64]) -> None:
    _, first, counts = np.unique(cell, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[np.argmax(counts > 1)])
        raise HistoryError(
            f"group {group!r}: {rows.topic[row]}-{rows.partition[row]} has a step more than once: "
            f"is this the output of two pipelines?"
        )


def _waiting_when_first_seen(
    arrived: Floats, served: Floats, lag: Floats, first_seen: npt.NDArray[np.int64]
) -> Floats:
    """Return the lag before the first step of each partition, records of shape (partitions,)."""
    every = np.arange(arrived.shape[1])
    then = lag[first_seen, every] + np.nan_to_num(served[first_seen, every] - arrived[first_seen, every])
    waiting: Floats = np.maximum(np.nan_to_num(then), 0.0)
    return waiting


def _filled(table: Floats) -> Floats:
    """Fill NaN by column: linear in between, the nearest value at the ends, 0 in a column without values."""
    filled: Floats = table.copy()
    steps = np.arange(len(table))
    for column in np.flatnonzero(np.isnan(table).any(axis=0)):
        known = ~np.isnan(table[:, column])
        filled[:, column] = np.interp(steps, steps[known], table[known, column]) if known.any() else 0.0
    return filled


def _forecasts(
    rows: LoadColumns, cell: npt.NDArray[np.int64], steps: int, size: int
) -> tuple[Floats | None, float | None]:
    """Return the forecasts with the most frequent horizon; others cannot be compared and are dropped."""
    known = ~np.isnan(rows.forecast) & (rows.horizon_s > 0)
    if not known.any():
        return None, None
    horizons, counts = np.unique(rows.horizon_s[known], return_counts=True)
    horizon = float(horizons[np.argmax(counts)])
    known &= rows.horizon_s == horizon
    table = np.full(steps * size, np.nan)
    table[cell[known]] = np.maximum(rows.forecast[known], 0.0)
    return table.reshape(steps, size), horizon


def _whole(values: Floats) -> npt.NDArray[np.int64]:
    whole: npt.NDArray[np.int64] = np.rint(values).astype(np.int64)
    return whole
