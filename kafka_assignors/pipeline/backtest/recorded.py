"""The history of a group, from columns of the load table.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.parts import MICROSECONDS, Frame, Part
from kafka_assignors.pipeline.backtest.service_rate import Floats, largest_rates, service_rate
from kafka_assignors.simulation import History


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The recorded history of a group.

    A partition is empty before its first row.  It is also empty after its last row, if that is more than an
    hour (or three steps, if longer) before the end of the history: its topic was deleted, for example.

    Attributes:
        history: the history.  Its ``service_rate`` is measured; None: the group never had a long backlog.
        lag: recorded lag of the whole group at the end of each step, of shape (steps,); NaN if the lag of a
            partition is unknown.
        unknown: unknown part of the arrivals, 0 to 1; they are interpolated in time, by partition.
        never_known: number of partitions without any known arrivals; they count as empty.
        appeared: number of partitions whose first row is after the first step.
        ended: by partition, whether it is empty after its last row.
        newest_lag: by partition, the newest known lag; NaN if none is known.
        lag_age: by partition, the steps from then to the end.
    """

    history: History
    lag: Floats
    unknown: float
    never_known: int
    appeared: int
    ended: npt.NDArray[np.bool_]
    newest_lag: Floats
    lag_age: npt.NDArray[np.int64]


MakeArray = Callable[[str, tuple[int, int], type], npt.NDArray[Any]]
"""Makes an array to be filled; takes its name, shape and type."""


def in_memory(_: str, shape: tuple[int, int], kind: type) -> npt.NDArray[Any]:
    """Make an array in memory."""
    return np.empty(shape, kind)


def joined(
    frame: Frame,
    parts: Iterable[Part],
    *,
    recorded_members: int | None,
    make_array: MakeArray,
) -> Recorded:
    """Join the parts of a history, which have each partition once, in any order.

    If ``parts`` is an iterator, at most two are in memory at a time.

    Raises:
        HistoryError: no arrivals are known.
    """
    shape = frame.steps, frame.partitions
    arrivals = make_array("arrivals", shape, np.int64)
    expected = None if frame.horizon_s is None else make_array("expected", shape, np.float64)
    start_lags, lag_age = (np.zeros(frame.partitions, np.int64) for _ in range(2))
    newest_lag = np.zeros(frame.partitions)
    lag, served, known_lag = (np.zeros(frame.steps) for _ in range(3))
    rates = np.zeros(1)
    ended = np.zeros(frame.partitions, bool)
    counts = np.zeros(4, np.int64)
    for part in parts:
        columns = slice(part.begin, part.begin + len(part.start_lags))
        arrivals[:, columns], start_lags[columns], ended[columns] = part.arrivals, part.start_lags, part.ended
        newest_lag[columns], lag_age[columns] = part.newest_lag, part.lag_age
        if expected is not None:
            expected[:, columns] = part.expected
        lag, served, known_lag = lag + part.lag, served + part.served, known_lag + part.known_lag
        # Empty rates (of all parts): the history is too short for a rate.
        rates = np.maximum(rates, part.rates) if part.rates.size else part.rates
        counts += part.cells, part.unknown, part.never_known, part.appeared
    cells, unknown, never_known, appeared = counts.tolist()
    if never_known == frame.partitions:
        raise HistoryError(f"group {frame.group!r}: not one step with known arrivals")
    if recorded_members is not None:
        rates = largest_rates(served[:, None], known_lag[:, None], frame.step_s) / recorded_members
    return Recorded(
        history=History(
            group=frame.group,
            step_s=frame.step_s,
            topics=frame.topics,
            arrivals=arrivals,
            start_lags=start_lags,
            service_rate=service_rate(rates, frame.step_s),
            expected=expected,
            horizon_s=frame.horizon_s,
            starts_at=(frame.first - frame.step_us) / MICROSECONDS,
        ),
        lag=lag,
        unknown=unknown / max(cells, 1),
        never_known=never_known,
        appeared=appeared,
        ended=ended,
        newest_lag=newest_lag,
        lag_age=lag_age,
    )


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
