"""The forecasters of the mixture, its constants, and the weight of an error.  Pure."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

_Real = TypeVar("_Real", float, npt.NDArray[np.float64])


class Forecaster(NamedTuple):
    """One speed of smoothing.

    The time constant of the level is ``horizons * horizon + seconds``.
    """

    horizons: float
    seconds: float
    seasonal: bool
    trend: float  # part of a change of the level that counts as trend, 0 to 1


FORECASTERS = (
    Forecaster(0.25, 0.0, seasonal=False, trend=0.1),
    Forecaster(0.25, 0.0, seasonal=True, trend=0.1),
    Forecaster(1.0, 0.0, seasonal=True, trend=0.0),
    Forecaster(0.0, 4 * 86400.0, seasonal=True, trend=0.0),
)
"""Quick forecasters for changing traffic, slow ones for steady traffic with a season."""

FIRST = 1  # index of the forecaster that has all the weight until there are scores
QUICK = 1  # index of the forecaster whose expectation defines outliers

BACKCASTS = 8
"""Number of forecasts a horizon that are scored."""
SCORES = 64.0
"""About as many scores weigh in a mean error: eight horizons."""
LEAST_SCORES = 3
"""The error is unknown before as many scores."""
OUTLIER = 4.0
"""A step further off than this many usual deviations is an outlier.  Quick forecasters see it clipped."""
BELIEVED = 3
"""As many outliers in a row on one side are a new level, and are not clipped."""
LEARNT = 12
"""No step is an outlier before as many steps."""
DEVIATIONS = 50.0
"""About as many steps weigh in the usual deviation."""
NORMAL = 1.25
"""Standard deviation over mean absolute deviation of a normal distribution."""

OTHERS = 5
"""Forecasts beside those of `FORECASTERS`: naive, a day ago, a week ago, *usual*, and *scaled*.

The usual forecast is the mean of the last weeks at the same time.  Another one scales it by recent arrivals
over the usual ones.  As long as one of them is unknown, it repeats the forecast of `FIRST`.
"""
SCALE_S = 28_800.0
"""Recent arrivals are those of about as many seconds."""
SCALE_DOUBT = 10.0
"""As many records are added to recent and usual arrivals, because few records prove little."""
WIDER, NARROWER = 1.0276, 0.98738
"""Factors of the standard error, after an outcome beyond it and within it: 68 % stay within."""
LEAST_SPREAD, MOST_SPREAD = 0.25, 4.0
"""Limits of the standard error, in mean absolute errors."""


def favour(ratio: _Real) -> _Real:
    """Return the eighth power: half the error gives 256 times the weight."""
    square = ratio * ratio
    fourth = square * square
    return fourth * fourth
