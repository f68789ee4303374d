"""Pure: columns of the load table in, the history of a group out, and how much of it is known.

What is not known is never passed over in silence: ``Recorded`` says how much it is and what stands in for it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.service_rate import service_rate
from kafka_assignors.simulation import History

__all__ = [
    "MICROSECONDS",
    "LoadColumns",
    "Recorded",
    "assemble",
    "check_size",
    "missing_times",
]

Floats = npt.NDArray[np.float64]

MICROSECONDS = 1_000_000  # in a second
_MOST_CELLS = 200_000_000
"""Steps x partitions of a group: an array of them has 1.6 GB."""

_MOMENT = "%Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True, eq=False)
class LoadColumns:
    """Rows of one group out of the load table, a column an array; all are of one length, in any order.

    Attributes:
        time: end of the step, microseconds since 1970, int64.
        step_s: its length.
        topic: names.
        partition: int64.
        arrived: records, NaN where not known; so are ``served``, ``lag`` and ``forecast``.
        served: records.
        lag: records at the end of the step.
        forecast: records expected within ``horizon_s``.
        horizon_s: of the forecast.
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
        """Only those rows."""
        return LoadColumns(*(getattr(self, one.name)[wanted] for one in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A group's history as it was recorded.

    Attributes:
        history: to simulate; its ``service_rate`` is what was seen, None: it never had a backlog for long.
        lag: of the whole group at the end of each step as it really was, records, of shape (steps,); NaN
            where not every partition's is known.
        unknown: the part of the arrivals that is not known, 0 to 1; interpolated in time, per partition.
        never_known: partitions of whose arrivals nothing at all is known; taken for 0.
        appeared: partitions that were first seen after the first step; nothing before that.
    """

    history: History
    lag: Floats
    unknown: float
    never_known: int
    appeared: int


def assemble(group: str, rows: LoadColumns, *, recorded_members: int | None = None) -> Recorded:
    """Lay a group's rows out in steps and partitions.

    O(rows + steps x partitions), a few arrays of that size.

    Args:
        group: its id.
        rows: of that group alone; one at least.
        recorded_members: how many members the group had; see `service_rate.service_rate`.

    Raises:
        HistoryError: the rows make no history: steps of different lengths, a step of a partition twice,
            nothing known at all.
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
    """Refuse a history that is too much for this machine's memory.

    Raises:
        HistoryError: it has more steps times partitions than fit.
    """
    if steps * partitions > _MOST_CELLS:
        raise HistoryError(
            f"group {group!r}: {steps:,} steps of {partitions:,} partitions are too many at once: "
            f"choose a part with --since and --until"
        )


def missing_times(recorded: Recorded, since: datetime | None, until: datetime | None) -> str | None:
    """What was asked for and is not in a group's history, in words; None: it is all there."""
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
    """Topic -> partitions, and each row's place among the partitions in the planners' order."""
    if int(rows.partition.min()) < 0:
        raise HistoryError(f"group {group!r}: a partition with the number {int(rows.partition.min())}")
    names, which = np.unique(rows.topic.astype(str), return_inverse=True)
    counts = np.zeros(len(names), np.int64)
    np.maximum.at(counts, which, rows.partition + 1)
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))
    topics = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
    return topics, first[which] + rows.partition


def _refuse_doubles(group: str, rows: LoadColumns, cell: npt.NDArray[np.int64]) -> None:
    _, place, times = np.unique(cell, return_index=True, return_counts=True)
    if (times > 1).any():
        row = int(place[np.argmax(times > 1)])
        raise HistoryError(
            f"group {group!r}: {rows.topic[row]}-{rows.partition[row]} has a step more than once: "
            f"is this the output of two pipelines?"
        )


def _waiting_when_first_seen(
    arrived: Floats, served: Floats, lag: Floats, first_seen: npt.NDArray[np.int64]
) -> Floats:
    """Records that were there to read before the first step of each partition; of shape (partitions,)."""
    every = np.arange(arrived.shape[1])
    then = lag[first_seen, every] + np.nan_to_num(served[first_seen, every] - arrived[first_seen, every])
    waiting: Floats = np.maximum(np.nan_to_num(then), 0.0)
    return waiting


def _filled(table: Floats) -> Floats:
    """Fill what is NaN, column by column: linearly in between, the nearest at the ends, 0 in an empty one."""
    filled: Floats = table.copy()
    steps = np.arange(len(table))
    for column in np.flatnonzero(np.isnan(table).any(axis=0)):
        known = ~np.isnan(table[:, column])
        filled[:, column] = np.interp(steps, steps[known], table[known, column]) if known.any() else 0.0
    return filled


def _forecasts(
    rows: LoadColumns, cell: npt.NDArray[np.int64], steps: int, size: int
) -> tuple[Floats | None, float | None]:
    """The forecasts over the horizon that most of them have; others are left out, as not to be compared."""
    there = ~np.isnan(rows.forecast) & (rows.horizon_s > 0)
    if not there.any():
        return None, None
    horizons, counts = np.unique(rows.horizon_s[there], return_counts=True)
    horizon = float(horizons[np.argmax(counts)])
    there &= rows.horizon_s == horizon
    table = np.full(steps * size, np.nan)
    table[cell[there]] = np.maximum(rows.forecast[there], 0.0)
    return table.reshape(steps, size), horizon


def _whole(values: Floats) -> npt.NDArray[np.int64]:
    whole: npt.NDArray[np.int64] = np.rint(values).astype(np.int64)
    return whole
