"""A series for a plot."""

from __future__ import annotations

import numpy as np

from kafka_assignors.pipeline.backtest.job import downsampled
from kafka_assignors.simulation import Series


def series(count: int) -> Series:
    at = np.arange(count, dtype=np.float64) * 10
    lag = (np.arange(count) * 7919 % 1009).astype(np.float64)
    return Series(at, lag, lag / 2, lag / 4, at / 5, np.full(count, 3))


def test_short_series_is_unchanged() -> None:
    one = series(10)
    assert downsampled(one, 10) is one


def test_both_ends_and_every_peak_stay_within_the_maximum_number_of_points() -> None:
    for count in (11, 12, 99, 1000, 5003):
        one = series(count)
        one.lag[count // 3] = 5000.0
        few = downsampled(one, 10)
        assert len(few.at) == 10
        assert (few.at[0], few.at[-1]) == (0.0, one.at[-1])
        assert (np.diff(few.at) > 0).all()
        assert few.lag.max() == 5000.0
        places = np.searchsorted(one.at, few.at)
        assert (few.lag == one.lag[places]).all()
        assert (few.largest_member_lag == one.largest_member_lag[places]).all()
        assert (few.time_lag == one.time_lag[places]).all()
