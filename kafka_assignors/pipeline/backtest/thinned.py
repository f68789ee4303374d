"""Pure: a series with as many points as a plot has room for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.simulation import Series

__all__ = ["POINTS", "thinned"]

POINTS = 300
"""Of a series, at most."""


def thinned(series: Series, points: int = POINTS) -> Series:
    """Of each few moments only the one with the most lag, so that no peak of it is lost.

    The first and the last moment stay.  A series that is short enough stays as it is.
    """
    count = len(series.at)
    if count <= points:
        return series
    inner = np.arange(1, count - 1)
    starts = inner[np.searchsorted(inner * (points - 2) // (count - 1), np.arange(points - 2))]
    ends = np.append(starts[1:], count - 1)
    peaks = [start + int(np.argmax(series.lag[start:end])) for start, end in zip(starts, ends, strict=True)]
    return series_at(series, np.array([0, *peaks, count - 1]))


def series_at(series: Series, places: npt.NDArray[np.int64]) -> Series:
    """Only those moments of it."""
    return Series(
        at=series.at[places],
        lag=series.lag[places],
        largest_member_lag=series.largest_member_lag[places],
        unowned_lag=series.unowned_lag[places],
        time_lag=series.time_lag[places],
        members=series.members[places],
    )
