"""Errors of the forecasts in a load table.  Spark's workers sum up the errors of each partition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import Score, Totals, compare, score
from kafka_assignors.pipeline.model.steps import KEY

_COUNTS = ("forecasts", "strong", "judged", "within")
_SCHEMA = "group string, horizon_s double, " + ", ".join(
    f"{name} {'bigint' if name in _COUNTS else 'double'}" for name in Totals._fields
)
_COLUMNS = ("arrived", "forecast", "forecast_error")
"""Columns of ``LOAD`` that `compare` takes."""


class Backcast(NamedTuple):
    """Errors of the forecasts of a group, over one horizon."""

    group: str
    horizon_s: float
    score: Score


def forecast_errors(load: DataFrame) -> list[Backcast]:
    """Compare the forecasts in rows of ``LOAD`` to the arrivals, by group and horizon."""
    time_us = F.unix_micros("time").alias("at")
    rows = load.select(*KEY, time_us, "step_s", "horizon_s", *_COLUMNS)
    of_partitions = rows.groupBy(*KEY, "step_s", "horizon_s").applyInArrow(_over_load, _SCHEMA)
    sums = of_partitions.groupBy("group", "horizon_s").agg(*map(F.sum, Totals._fields))
    return [
        Backcast(group, horizon_s, score(Totals(*totals)))
        for group, horizon_s, *totals in sums.orderBy("group", "horizon_s").collect()
    ]


def _over_load(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
    group, _, _, step_s, horizon_s = (part.as_py() for part in key)
    settings = LoadSettings(step_s=step_s, horizon_s=horizon_s)
    times = table["at"].to_numpy()
    step = (times - times.min()) // settings.step
    known = np.full((len(_COLUMNS), int(step.max()) + 1), np.nan)
    for values, name in zip(known, _COLUMNS, strict=True):
        values[step] = table[name].to_numpy().astype(np.float64)
    arrived, forecast, error = known
    sums = compare(arrived, forecast, error, settings)
    return pa.Table.from_pylist([{"group": group, "horizon_s": horizon_s, **sums._asdict()}])
