"""Forecast errors, compared to naive forecasts: the last horizon, the same time a day and a week ago.  Pure.

The model makes a forecast at the end of each step.  It is compared to the arrivals within the horizon.  A
forecast is scored if it, the arrivals within the horizon, and the arrivals of the last horizon (the *naive*
forecast) are all known.  The daily and weekly naive forecasts are scored where they are also known, and the
model's forecast is then summed again for comparison.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.forecast.fold import LoadRow
from kafka_assignors.forecast.settings import SECOND, LoadSettings

DAY = 86_400 * SECOND
WEEK = 7 * DAY

_Floats = npt.NDArray[np.float64]


class Totals(NamedTuple):
    """Sums over forecasts; the totals of several partitions can be added."""

    forecasts: int
    came: float  # records that arrived within the horizons
    miss: float  # sum of absolute errors, records
    square: float  # sum of squared errors
    naive_miss: float
    naive_square: float
    daily: int  # forecasts for which the day before is known
    daily_miss: float  # sum of absolute errors of the day before
    beside_daily: float  # sum of absolute errors of the model, over the same forecasts
    weekly: int
    weekly_miss: float
    beside_weekly: float


class Score(NamedTuple):
    """Means over forecasts; NaN without forecasts.

    ``mase`` is the mean absolute scaled error: the mean absolute error over that of the naive forecast with
    the same horizon.  Below 1 the model is better.
    """

    forecasts: int
    came: float  # records within a horizon
    mae: float
    rmse: float
    naive_mae: float
    naive_rmse: float
    mase: float
    beside_daily: float  # mean absolute error over that of the day before
    beside_weekly: float


def totals(rows: list[LoadRow], settings: LoadSettings) -> Totals:
    """Compare the forecasts of one partition to its arrivals; O(rows)."""
    if not rows:
        return Totals(*(0,) * len(Totals._fields))
    first, step = rows[0].step.at, settings.step
    index = np.array([(row.step.at - first) // step for row in rows])
    size = int(index[-1]) + 1
    arrived, forecast = np.full(size, np.nan), np.full(size, np.nan)
    arrived[index] = [np.nan if row.step.arrived is None else row.step.arrived for row in rows]
    forecast[index] = [np.nan if row.outlook is None else row.outlook.arrivals for row in rows]
    return compare(arrived, forecast, settings)


def compare(arrived: _Floats, forecast: _Floats, settings: LoadSettings) -> Totals:
    """Compare forecasts to arrivals in arrays of consecutive steps; NaN: unknown.

    Args:
        arrived: records in each step.
        forecast: records forecast for the horizon after each step.
        settings: step and horizon.
    """
    steps = settings.horizon // settings.step
    within = _sums(arrived, steps)
    came = _shifted(within, -1)
    naive = _shifted(within, steps - 1)
    known = ~np.isnan(came) & ~np.isnan(naive) & ~np.isnan(forecast)
    miss, naive_miss = np.abs(forecast - came), np.abs(naive - came)
    seasonal: list[float] = []
    for season in (DAY, WEEK):
        back = season // settings.step
        seasonal_miss = np.abs(_shifted(within, back - 1) - came)
        both = known & ~np.isnan(seasonal_miss)
        seasonal += (int(both.sum()), float(seasonal_miss[both].sum()), float(miss[both].sum()))
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
    """Return the means of totals."""
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
    """Sum ``steps`` values from each index on; NaN if a value is missing."""
    missing = np.isnan(values)
    upto = np.concatenate(([0.0], np.cumsum(np.where(missing, 0.0, values))))
    missing_upto = np.concatenate(([0], np.cumsum(missing)))
    out = np.full(len(values), np.nan)
    if steps <= len(values):
        whole = missing_upto[steps:] == missing_upto[:-steps]
        out[: len(values) - steps + 1] = np.where(whole, upto[steps:] - upto[:-steps], np.nan)
    return out


def _shifted(values: _Floats, back: int) -> _Floats:
    """Shift an array by ``back`` indices; NaN beyond its ends."""
    out = np.full(len(values), np.nan)
    if back >= 0:
        out[back:] = values[: max(len(values) - back, 0)]
    else:
        out[:back] = values[-back:]
    return out


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
