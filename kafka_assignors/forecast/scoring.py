"""Forecast errors, compared to simple forecasts.  Pure.

The model makes a forecast at the end of each step.  A score compares the arrivals within the horizon to this
forecast, and to the *naive* forecast: the arrivals of the horizon before.

There are five *baselines*: the arrivals of the last horizon, of a day ago and of a week ago, the mean of the
last `WEEKS` weeks, and that mean times a factor.  The factor is the arrivals of the last day, divided by the
mean of the same day in these weeks.  It is 1 if the ratio is unknown.  Forecasts for which all five are known
are also compared to the *best* baseline: the one with the least mean absolute error over these forecasts of a
partition.  So the best baseline is chosen with hindsight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.forecast.settings import SECOND, LoadSettings

DAY = 86_400 * SECOND
WEEK = 7 * DAY
WEEKS = 3

_Floats = npt.NDArray[np.float64]


class Totals(NamedTuple):
    """Sums over forecasts; the totals of several partitions can be added."""

    forecasts: int
    came: float  # records that arrived within the horizons
    miss: float  # sum of absolute errors, records
    square: float  # sum of squared errors
    naive_miss: float
    naive_square: float
    strong: int  # forecasts for which all baselines are known
    best_miss: float  # sum of absolute errors of the best baseline, over the ``strong`` forecasts
    model_miss: float  # sum of absolute errors of the model, over the ``strong`` forecasts
    judged: int  # forecasts with a standard error
    within: int  # forecasts that missed by at most their standard error


class Score(NamedTuple):
    """Means over forecasts; NaN without forecasts.

    ``mase`` is the mean absolute scaled error: the mean absolute error divided by that of the naive forecast
    with the same horizon.  ``beside_best`` is the mean absolute error divided by that of the best baseline.
    Below 1 the model is better.
    """

    forecasts: int
    came: float  # records within a horizon
    mae: float
    rmse: float
    naive_mae: float
    naive_rmse: float
    mase: float
    beside_best: float
    coverage: float  # of the forecasts with a standard error, the part that missed by no more than it


def compare(arrived: _Floats, forecast: _Floats, error: _Floats, settings: LoadSettings) -> Totals:
    """Compare forecasts to arrivals in arrays of consecutive steps; NaN: unknown.

    Args:
        arrived: records in each step.
        forecast: records forecast for the horizon after each step.
        error: standard error of each forecast, records.
        settings: step and horizon.
    """
    came = _shifted(_sums(arrived, settings.horizon // settings.step), -1)
    misses = {name: np.abs(baseline - came) for name, baseline in baselines(arrived, settings).items()}
    miss, naive_miss = np.abs(forecast - came), misses["last horizon"]
    known = ~np.isnan(miss) & ~np.isnan(naive_miss)
    strong = known & np.all([~np.isnan(baseline_miss) for baseline_miss in misses.values()], axis=0)
    judged = known & ~np.isnan(error)
    return Totals(
        forecasts=int(known.sum()),
        came=float(came[known].sum()),
        miss=float(miss[known].sum()),
        square=float((miss[known] ** 2).sum()),
        naive_miss=float(naive_miss[known].sum()),
        naive_square=float((naive_miss[known] ** 2).sum()),
        strong=int(strong.sum()),
        best_miss=min(float(baseline_miss[strong].sum()) for baseline_miss in misses.values()),
        model_miss=float(miss[strong].sum()),
        judged=int(judged.sum()),
        within=int((miss[judged] <= error[judged]).sum()),
    )


def baselines(arrived: _Floats, settings: LoadSettings) -> dict[str, _Floats]:
    """Return simple forecasts of the records in the horizon after each step, by name; NaN: unknown."""
    steps, day = settings.horizon // settings.step, DAY // settings.step
    within = _sums(arrived, steps)
    weekly = [_ago(within, weeks * WEEK, settings) for weeks in range(1, WEEKS + 1)]
    mean = np.where(np.isnan(weekly[0]), np.nan, _known_mean(weekly))
    usual = _known_mean([_shifted(arrived, weeks * WEEK // settings.step) for weeks in range(1, WEEKS + 1)])
    came, expected = (_shifted(_sums(values, day), day - 1) for values in (arrived, usual))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = came / expected
    return {
        "last horizon": _shifted(within, steps - 1),
        "day ago": _ago(within, DAY, settings),
        "week ago": weekly[0],
        "mean of weeks": mean,
        "mean of weeks, scaled": mean * np.where(np.isfinite(scale), scale, 1.0),
    }


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
        _ratio(sums.model_miss, sums.best_miss),
        _ratio(sums.within, sums.judged),
    )


def _ago(within: _Floats, ago: int, settings: LoadSettings) -> _Floats:
    """Return the arrivals of the horizon that began ``ago`` microseconds before each step's end.

    NaN: that horizon is not over.
    """
    if settings.horizon > ago:
        return np.full(len(within), np.nan)
    return _shifted(within, ago // settings.step - 1)


def _known_mean(arrays: list[_Floats]) -> _Floats:
    """Return the mean of the known values at each index; NaN where none is known."""
    count = np.sum([~np.isnan(values) for values in arrays], axis=0)
    total = np.nansum(arrays, axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _sums(values: _Floats, steps: int) -> _Floats:
    """Sum ``steps`` values from each index on; NaN if a value is missing."""
    is_missing = np.isnan(values)
    upto = np.concatenate(([0.0], np.cumsum(np.where(is_missing, 0.0, values))))
    missing_upto = np.concatenate(([0], np.cumsum(is_missing)))
    out = np.full(len(values), np.nan)
    if steps <= len(values):
        is_whole = missing_upto[steps:] == missing_upto[:-steps]
        out[: len(values) - steps + 1] = np.where(is_whole, upto[steps:] - upto[:-steps], np.nan)
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
