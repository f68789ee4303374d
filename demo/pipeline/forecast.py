"""The load model on weeks of flights in the time of the data: errors of its forecasts, gains of plans.

The replay is too fast for it: there a day lasts 1.4 s, and is over before a model learns of days.  So the
same model gets a sample every quarter of an hour of 2013.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from demo.data.events import Flight
from demo.data.flight_samples import FlightSamples, sample_flights
from demo.data.foresight import (
    LEAST_S,
    Case,
    compare,
    from_one_state,
    largest,
    moves_an_hour,
    rate_for,
)
from demo.data.traffic import HOUR_S, TOPIC, WEEK, Numbers, Traffic, traffic_of
from demo.pipeline.results import ForecastResult, HoursResult, PlansResult
from kafka_assignors.forecast import LoadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kafka_assignors.pipeline.model.backcast import Backcast

WEEKS, LEARN = 3, 2  # weeks of the year; and of these, before the first plan
FLIGHTS_S = (WEEKS + 1) * WEEK * HOUR_S
"""Span of the year to read, in seconds: a week more, so that the last one is whole."""

STEP_S, HORIZON_S = 900, 3600
BUSY = 0.95
"""How busy members are in the busiest hours: with less there is hardly any lag, with more it only grows."""

MOST_PARTITIONS = 32
MICRO = 1_000_000


def forecast_flights(
    spark: SparkSession,
    flights: Sequence[Flight],
    partitions: int,
    members: int,
    say: Callable[[str], None],
) -> ForecastResult:
    """Forecast, and plan.

    Args:
        spark: the session.
        flights: of ``FLIGHTS_S``, or more.
        partitions: of the topic; `MOST_PARTITIONS` at most are taken.
        members: of the group; no more than partitions are taken.
        say: shows the state of the work.
    """
    from kafka_assignors.pipeline.model.backcast import forecast_errors
    from kafka_assignors.pipeline.model.model import model_load

    partitions = min(partitions, MOST_PARTITIONS)
    members = min(members, partitions)
    say(f"{WEEKS} weeks of flights")
    samples = sample_flights(flights, partitions, every_s=STEP_S, days=7 * WEEKS)
    traffic = traffic_of(flights, partitions, WEEKS)
    settings = LoadSettings(step_s=STEP_S, horizon_s=HORIZON_S)
    load = model_load(_rows(spark, samples), settings).persist()
    try:
        [errors] = forecast_errors(load)
        expected = _by_hour(load, traffic)
    finally:
        load.unpersist()
    say("plans from forecasts, and from lag alone")
    return _result(errors, traffic, expected, members)


def _rows(spark: SparkSession, samples: FlightSamples) -> DataFrame:
    """Rows of ``SAMPLES``."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    looks, partitions = samples.ends.shape
    table = pa.table(
        {
            "at": np.tile(samples.times * MICRO, partitions),
            "partition": np.repeat(np.arange(partitions, dtype=np.int32), looks),
            "end_offset": samples.ends.T.reshape(-1),
            "committed_offset": samples.committed.T.reshape(-1),
        }
    )
    time = F.timestamp_micros("at")
    return spark.createDataFrame(table).select(
        time.alias("time"),
        F.lit(TOPIC).alias("group"),
        F.lit(TOPIC).alias("topic"),
        "partition",
        F.lit(0).cast("bigint").alias("begin_offset"),
        "end_offset",
        "committed_offset",
        F.lit("import").alias("source"),
        F.to_date(time).alias("date"),
    )


def _by_hour(load: DataFrame, traffic: Traffic) -> Numbers:
    """Return the forecast of each hour when it began, by partition; 0 where there was none."""
    from pyspark.sql import functions as F

    whole = F.unix_seconds("time") % HOUR_S == 0
    table: Any = (
        load.where(whole & F.col("forecast").isNotNull())
        .select(F.unix_seconds("time").alias("at"), "partition", "forecast")
        .toArrow()
    )
    expected = np.zeros(traffic.hours.shape)
    hour = (table["at"].to_numpy() - traffic.begin_s) // HOUR_S
    within = (hour >= 0) & (hour < len(expected))
    expected[hour[within], table["partition"].to_numpy()[within]] = table["forecast"].to_numpy()[within]
    return expected


def _result(errors: Backcast, traffic: Traffic, expected: Numbers, members: int) -> ForecastResult:
    score = errors.score
    return ForecastResult(
        weeks=WEEKS,
        learn=LEARN,
        partitions=expected.shape[1],
        step_s=STEP_S,
        horizon_s=HORIZON_S,
        records=int(traffic.hours.sum()),
        forecasts=score.forecasts,
        came=_rounded(score.came),
        miss=_rounded(score.mae),
        naive_miss=_rounded(score.naive_mae),
        beside_naive=_rounded(score.mase),
        beside_daily=_rounded(score.beside_daily),
        beside_weekly=_rounded(score.beside_weekly),
        hours=hours_of(traffic, expected),
        plans=plans_of(traffic, expected, members),
    )


def hours_of(traffic: Traffic, expected: Numbers) -> HoursResult:
    """The last week, hour by hour, all partitions together."""
    came, forecast = traffic.hours.sum(axis=1), expected.sum(axis=1)
    first = len(came) - WEEK
    return HoursResult(
        begins=traffic.begin_s + first * HOUR_S,
        came=came[first:].astype(int).tolist(),
        forecast=np.round(forecast[first:], 1).tolist(),
        naive=came[first - 1 : -1].astype(int).tolist(),
    )


def plans_of(traffic: Traffic, expected: Numbers, members: int, first: int = LEARN * WEEK) -> PlansResult:
    """Plan each hour both ways, from the lag and owners of a group that plans by lag alone."""
    case = Case(members, rate_for(traffic, members, BUSY), 1, first)
    found = from_one_state(case, traffic, {"forecast": expected})
    ours, by_lag = largest(found["forecast"]), largest(found["lag"])
    least = case.rate * LEAST_S / 60
    one = compare(ours, by_lag, least)
    return PlansResult(
        members=members,
        busy=BUSY,
        rate=round(60 * case.rate, 1),
        hours=len(by_lag),
        better=one.better,
        same=one.same,
        worse=one.worse,
        gain=_rounded(one.gain),
        loss=_rounded(one.loss),
        lag=_rounded(float(by_lag.mean())),
        forecast=_rounded(float(ours.mean())),
        most_lag=_rounded(float(by_lag.max())),
        most_forecast=_rounded(float(ours.max())),
        moved_lag=_rounded(moves_an_hour(found["lag"])),
        moved_forecast=_rounded(moves_an_hour(found["forecast"])),
    )


def _rounded(value: float) -> float | None:
    """Round for JSON, which has no NaN."""
    return None if math.isnan(value) else round(value, 3)
