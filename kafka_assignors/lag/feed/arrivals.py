"""The arrivals that several forecasts expect over one period."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire.load_feed import Forecast


def expected_of(
    forecasts: Mapping[TopicPartition, Forecast], now_ms: float
) -> tuple[dict[TopicPartition, float], dict[TopicPartition, int]]:
    """Return the arrivals that forecasts expect, and the lags in the forecasts, in records.

    All arrivals are for one period: from now to the end of the newest forecast (of several equally new ones,
    the longest).  The arrivals of other forecasts are scaled to this period.  Records that have arrived since
    a forecast do not count, because they are part of the lag.
    """
    left_ms = period_ms(forecasts, now_ms)
    arrivals = {
        partition: forecast.arrivals * (left_ms / forecast.horizon_ms)
        for partition, forecast in forecasts.items()
    }
    lags = {
        partition: round(forecast.lag)
        for partition, forecast in forecasts.items()
        if forecast.lag is not None
    }
    return arrivals, lags


def period_ms(forecasts: Mapping[TopicPartition, Forecast], now_ms: float) -> float:
    """Return the milliseconds from now to the end of the newest forecast; 0 without forecasts."""
    time_ms, horizon_ms = max(((f.time_ms, f.horizon_ms) for f in forecasts.values()), default=(0, 0))
    return max(horizon_ms - max(now_ms - time_ms, 0.0), 0.0)
