"""How well forecasts did: beside the last value, and beside the same time a day and a week ago.  Pure.

At the end of each step a forecast was made with what was known then; it is compared to what came within the
horizon.  A forecast counts where all of these are known: what came, what arrived in the last horizon (the
*naive* forecast: the same again), and the forecast itself.  Seasonal ones are counted where they are known,
too, and the forecast once more beside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.forecast.fold import Row
from kafka_assignors.forecast.settings import SECOND, LoadSettings

__all__ = ["Score", "Totals", "score", "totals"]

DAY = 86_400 * SECOND
WEEK = 7 * DAY

_Floats = npt.NDArray[np.float64]


class Totals(NamedTuple):
    """Sums over forecasts, so that those of many partitions can be added."""

    forecasts: int
    came: float  # records
    miss: float  # sum of what the forecast missed by, records
    square: float  # of its squares
    naive_miss: float
    naive_square: float
    daily: int  # forecasts with a known day before
    daily_miss: float  # of the same time a day before
    beside_daily: float  # of the forecast, of those
    weekly: int
    weekly_miss: float
    beside_weekly: float


class Score(NamedTuple):
    """Means over forecasts; NaN where there are none.

    ``mase`` is the mean miss beside the naive forecast's: below 1 it is better.  (The mean absolute scaled
    error, scaled by the naive forecast over the same horizon.)
    """

    forecasts: int
    came: float  # records within a horizon
    mae: float
    rmse: float
    naive_mae: float
    naive_rmse: float
    mase: float
    beside_daily: float  # mean miss beside that of the same time a day before
    beside_weekly: float


def totals(rows: list[Row], settings: LoadSettings) -> Totals:
    """Compare one partition's forecasts to what came; O(rows)."""
    if not rows:
        return Totals(*(0,) * len(Totals._fields))
    first, step = rows[0].step.at, settings.step
    place = np.array([(row.step.at - first) // step for row in rows])
    size = int(place[-1]) + 1
    arrived, said = np.full(size, np.nan), np.full(size, np.nan)
    arrived[place] = [np.nan if row.step.arrived is None else row.step.arrived for row in rows]
    said[place] = [np.nan if row.outlook is None else row.outlook.arrivals for row in rows]
    return compare(arrived, said, settings)


def compare(arrived: _Floats, said: _Floats, settings: LoadSettings) -> Totals:
    """The same for arrays of consecutive steps; NaN: not known.

    Args:
        arrived: records in each step.
        said: records expected within the horizon from the end of each step on.
        settings: step and horizon.
    """
    steps = settings.horizon // settings.step
    within = _sums(arrived, steps)  # of the steps from each on
    came = _shifted(within, -1)
    naive = _shifted(within, steps - 1)
    known = ~np.isnan(came) & ~np.isnan(naive) & ~np.isnan(said)
    miss, naive_miss = np.abs(said - came), np.abs(naive - came)
    seasonal: list[float] = []
    for season in (DAY, WEEK):
        back = season // settings.step
        before = np.abs(_shifted(within, back - 1) - came)
        both = known & ~np.isnan(before)
        seasonal += (int(both.sum()), float(before[both].sum()), float(miss[both].sum()))
    return Totals(
        int(known.sum()),
        float(came[known].sum()),
        float(miss[known].sum()),
        float((miss[known] ** 2).sum()),
        float(naive_miss[known].sum()),
        float((naive_miss[known] ** 2).sum()),
        int(seasonal[0]), seasonal[1], seasonal[2],
        int(seasonal[3]), seasonal[4], seasonal[5],
    )  # fmt: skip


def score(sums: Totals) -> Score:
    """Means of totals."""
    n = sums.forecasts
    return Score(
        n,
        _ratio(sums.came, n),
        _ratio(sums.miss, n),
        float(np.sqrt(_ratio(sums.square, n))),
        _ratio(sums.naive_miss, n),
        float(np.sqrt(_ratio(sums.naive_square, n))),
        _ratio(sums.miss, sums.naive_miss),
        _ratio(sums.beside_daily, sums.daily_miss),
        _ratio(sums.beside_weekly, sums.weekly_miss),
    )


def _sums(values: _Floats, steps: int) -> _Floats:
    """Sums of so many values from each place on; NaN where one is missing."""
    missing = np.isnan(values)
    upto = np.concatenate(([0.0], np.cumsum(np.where(missing, 0.0, values))))
    gone = np.concatenate(([0], np.cumsum(missing)))
    out = np.full(len(values), np.nan)
    if steps <= len(values):
        whole = gone[steps:] == gone[:-steps]
        out[: len(values) - steps + 1] = np.where(whole, upto[steps:] - upto[:-steps], np.nan)
    return out


def _shifted(values: _Floats, back: int) -> _Floats:
    """At each place the value so many places before; NaN beyond the ends."""
    out = np.full(len(values), np.nan)
    if back >= 0:
        out[back:] = values[: max(len(values) - back, 0)]
    else:
        out[:back] = values[-back:]
    return out


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
