"""The forecasters of the mixture, its constants, and the weight of an error.  Pure."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Real = TypeVar("Real", float, npt.NDArray[np.float64])


class Forecaster(NamedTuple):
    """One speed of smoothing: the level's time constant is ``horizons * horizon_s + seconds``, in seconds."""

    horizons: float
    seconds: float
    seasonal: bool
    trend: float  # part of a change of the level that counts as trend, 0 to 1; 0: no trend


FORECASTERS = (
    Forecaster(0.25, 0.0, seasonal=False, trend=0.1),
    Forecaster(0.25, 0.0, seasonal=True, trend=0.1),
    Forecaster(1.0, 0.0, seasonal=True, trend=0.0),
    Forecaster(0.0, 4 * 86400.0, seasonal=False, trend=0.0),
)
"""Two quick forecasters, without and with a season; one that averages about a horizon, with a season; and a
slow one without a season."""

FIRST = 1  # index of the forecaster that has all the weight until a forecast is scored
QUICK = 1  # index of the forecaster whose expectation defines outliers

BACKCASTS = 8
"""About this many forecasts per horizon are scored."""
SCORES = 64.0
"""A recent mean error covers about this many scores, which takes eight horizons."""
LASTING_SCORES = 256
"""A lasting mean error covers about this many scores."""
UNKNOWN_SCORES = 16
"""While the forecast of a forecaster is unknown, its number of scores grows no further than this."""
LEAST_SCORES = 3
"""Until this many forecasts are scored, the error is unknown."""
OUTLIER = 4.0
"""A step is an outlier if it deviates by more than this many usual deviations.

Forecasters with a trend learn an outlier's value cut to that limit; the others learn its full value.
"""
BELIEVED = 3
"""After this many outliers in a row on one side, the last one is a new level, and is not clipped."""
LEARNT = 12
"""Steps can be outliers only after this many steps."""
DEVIATIONS = 50.0
"""The usual deviation is a mean of about this many last steps."""
NORMAL = 1.25
"""Standard deviation over mean absolute deviation of a normal distribution."""

OTHERS = 5
"""Number of forecasts beside those of `FORECASTERS`.  In their order:

- *naive*: the arrivals of the last horizon that was scored.
- *day ago* and *week ago*: the arrivals at the same time of the day before and of the week before.
- *typical*: the mean of the last weeks at the same time of similar days, scaled to this day of the week.
- *scaled*: the mean of the last weeks at the same time, times a ratio: recent arrivals, divided by the usual
  arrivals of the same hours.

Where a forecast is unknown, that of `FIRST` replaces it.
"""
SCALE_S = 28_800.0
"""Recent arrivals are those of about this many last seconds."""
SCALE_DOUBT = 10.0
"""This many records are added to recent and to usual arrivals, because few records prove little."""
WIDER, NARROWER = 1.0276, 0.98738
"""Factors of the standard error after an outcome outside of it, and after one within it: 68 % stay within."""
LEAST_SPREAD, MOST_SPREAD = 0.25, 4.0
"""Limits of the standard error, in mean absolute errors."""


def favour(ratio: Real) -> Real:
    """Return the fifth power of the ratio of two errors, each a recent mean error times a lasting one."""
    square = ratio * ratio
    return square * square * ratio
