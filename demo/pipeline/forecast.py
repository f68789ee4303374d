"""The load model on weeks of flights in the time of the data: its forecasts of each hour, and their errors.

The replay is too fast for it: there a day lasts 1.4 s, and is over before a model learns of days.  So the
same model gets a sample every quarter of an hour of 2013.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from demo.data.events import Flight
from demo.data.flight_samples import FlightSamples, sample_flights
from demo.pipeline.ran import MICRO
from demo.pipeline.record import samples_of
from demo.pipeline.results import ForecastResult, HoursResult
from kafka_assignors.forecast import LoadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

HOUR_S, WEEK = 3600, 7 * 24  # WEEK in hours
WEEKS = 3  # of the year
FLIGHTS_S = (WEEKS + 1) * WEEK * HOUR_S
"""Span of the year to read, in seconds: a week more, so that the last one is whole."""

STEP_S, HORIZON_S = 900, HOUR_S
MOST_FORECAST_PARTITIONS = 32


def forecast_flights(
    spark: SparkSession, flights: Sequence[Flight], partitions: int, say: Callable[[str], None]
) -> ForecastResult:
    """Forecast the flights of ``FLIGHTS_S`` in few partitions; ``say`` shows the state."""
    from kafka_assignors.pipeline.model.backcast import forecast_errors
    from kafka_assignors.pipeline.model.model import model_load

    partitions = min(partitions, MOST_FORECAST_PARTITIONS)
    say(f"{WEEKS} weeks of flights")
    samples = sample_flights(flights, partitions, every_s=STEP_S, days=7 * WEEKS)
    load = model_load(_rows(spark, samples), LoadSettings(step_s=STEP_S, horizon_s=HORIZON_S)).persist()
    try:
        [errors] = forecast_errors(load)
        expected = _by_hour(load, samples)
    finally:
        load.unpersist()
    score = errors.score
    return ForecastResult(
        weeks=WEEKS,
        partitions=partitions,
        step_s=STEP_S,
        horizon_s=HORIZON_S,
        records=int(samples.ends[-1].sum()),
        forecasts=score.forecasts,
        came=_rounded(score.came),
        miss=_rounded(score.mae),
        naive_miss=_rounded(score.naive_mae),
        beside_naive=_rounded(score.mase),
        beside_best=_rounded(score.beside_best),
        hours=hours_of(samples, expected),
    )


def _rows(spark: SparkSession, samples: FlightSamples) -> DataFrame:
    looks, partitions = samples.ends.shape
    columns = {
        "at": np.tile(samples.times * MICRO, partitions),
        "group": ["flights"] * samples.ends.size,
        "partition": np.repeat(np.arange(partitions, dtype=np.int32), looks),
        "end_offset": samples.ends.T.reshape(-1),
        "committed_offset": samples.committed.T.reshape(-1),
    }
    return samples_of(spark, columns)


def _by_hour(load: DataFrame, samples: FlightSamples) -> npt.NDArray[np.float64]:
    """Return the forecast of each hour when it began, all partitions together; 0 where there was none."""
    from pyspark.sql import functions as F

    whole = F.unix_seconds("time") % HOUR_S == 0
    table: Any = (
        load.where(whole & F.col("forecast").isNotNull())
        .groupBy(F.unix_seconds("time").alias("at"))
        .agg(F.sum("forecast").alias("forecast"))
        .toArrow()
    )
    expected = np.zeros(WEEKS * WEEK)
    hour = (table["at"].to_numpy() - samples.times[0]) // HOUR_S
    within = (hour >= 0) & (hour < len(expected))
    expected[hour[within]] = table["forecast"].to_numpy()[within]
    return expected


def hours_of(samples: FlightSamples, expected: npt.NDArray[np.float64]) -> HoursResult:
    """Return the last week, hour by hour, all partitions together."""
    came = np.diff(samples.ends[:: HOUR_S // STEP_S].sum(axis=1))
    first = len(came) - WEEK
    return HoursResult(
        begins=int(samples.times[0]) + first * HOUR_S,
        came=came[first:].tolist(),
        forecast=np.round(expected[first:], 1).tolist(),
        naive=came[first - 1 : -1].tolist(),
    )


def _rounded(value: float) -> float | None:
    """Round for JSON, which has no NaN."""
    return None if math.isnan(value) else round(value, 3)
