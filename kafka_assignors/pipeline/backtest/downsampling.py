"""Reduces a series to the points of a plot.  Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.simulation import Series

POINTS = 300
"""Maximum number of points of a series."""


def downsampled(series: Series, points: int = POINTS) -> Series:
    """Keep the point with the largest lag of each few points, so that no peak is lost.

    The first and the last point stay.  A short series is returned unchanged.
    """
    count = len(series.at)
    if count <= points:
        return series
    inner = np.arange(1, count - 1)
    starts = inner[np.searchsorted(inner * (points - 2) // (count - 1), np.arange(points - 2))]
    ends = np.append(starts[1:], count - 1)
    peaks = [start + int(np.argmax(series.lag[start:end])) for start, end in zip(starts, ends, strict=True)]
    return _points(series, np.array([0, *peaks, count - 1]))


def _points(series: Series, indices: npt.NDArray[np.int64]) -> Series:
    return Series(
        at=series.at[indices],
        lag=series.lag[indices],
        largest_member_lag=series.largest_member_lag[indices],
        unowned_lag=series.unowned_lag[indices],
        time_lag=series.time_lag[indices],
        members=series.members[indices],
    )
