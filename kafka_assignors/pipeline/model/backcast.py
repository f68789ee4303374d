"""Errors of forecasts, of recorded samples or of a written load table.

One task compares the forecasts of one partition, and returns only sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kafka_assignors.forecast import LoadSettings, Partition
from kafka_assignors.forecast.scoring import Score, Totals, compare, score, totals
from kafka_assignors.pipeline.model.steps import KEY, samples_of, with_numbers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

HORIZONS = (900.0, 3600.0, 21_600.0)
"""Horizons in seconds: a quarter of an hour, an hour, six hours."""

_COUNTS = ("forecasts", "strong", "judged", "within")
_TOTALS = ", ".join(f"{name} {'bigint' if name in _COUNTS else 'double'}" for name in Totals._fields)
_SCHEMA = f"group string, horizon_s double, {_TOTALS}"
_COLUMNS = ("arrived", "forecast", "forecast_error")
"""Columns of ``LOAD`` that are compared."""

_Key = tuple["pa.Scalar", ...]


class Backcast(NamedTuple):
    """Errors of the forecasts of a group, over one horizon."""

    group: str
    horizon_s: float
    score: Score


def backcast(
    samples: DataFrame, settings: LoadSettings, horizons: Sequence[float] = HORIZONS
) -> list[Backcast]:
    """Forecast at each step with the samples known then, and compare to the arrivals.

    Args:
        samples: rows of ``SAMPLES``.
        settings: settings of the model; its horizon is replaced by each of ``horizons``.
        horizons: seconds, each a whole number of steps.

    Returns:
        The errors by group and horizon, in order.

    Raises:
        OptionError: a horizon is not a whole number of steps.
    """
    by_horizon = [replace(settings, horizon_s=horizon) for horizon in horizons]
    sums = with_numbers(samples).groupBy(*KEY).applyInArrow(_over_samples(by_horizon), _SCHEMA)
    return _scored(sums)


def forecast_errors(load: DataFrame) -> list[Backcast]:
    """Compare written forecasts to the arrivals; rows of ``LOAD`` in."""
    from pyspark.sql import functions as F

    time_us = F.unix_micros("time").alias("at")
    rows = load.select(*KEY, time_us, "step_s", "horizon_s", *_COLUMNS)
    return _scored(rows.groupBy(*KEY, "step_s", "horizon_s").applyInArrow(_over_load, _SCHEMA))


def _over_samples(by_horizon: Iterable[LoadSettings]) -> Callable[[_Key, pa.Table], pa.Table]:
    def fold(key: _Key, table: pa.Table) -> pa.Table:
        samples = samples_of(table)
        scored = []
        for settings in by_horizon:
            partition = Partition(settings)
            rows, _ = partition.take(samples)
            sums = totals(rows + partition.flush(), settings)
            scored.append((key[0].as_py(), settings.horizon_s, sums))
        return _table(scored)

    return fold


def _over_load(key: _Key, table: pa.Table) -> pa.Table:
    import numpy as np

    group, _, _, step_s, horizon_s = (part.as_py() for part in key)
    settings = LoadSettings(step_s=step_s, horizon_s=horizon_s)
    times = table["at"].to_numpy()
    step = (times - times.min()) // settings.step
    known = np.full((len(_COLUMNS), int(step.max()) + 1), np.nan)
    for values, name in zip(known, _COLUMNS, strict=True):
        values[step] = table[name].to_numpy().astype(np.float64)
    arrived, forecast, error = known
    return _table([(group, horizon_s, compare(arrived, forecast, error, settings))])


def _table(scored: Sequence[tuple[str, float, Totals]]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*((group, horizon, *sums) for group, horizon, sums in scored), strict=True))
    names = ("group", "horizon_s", *Totals._fields)
    types = [pa.string(), pa.float64()]
    types += [pa.int64() if name in _COUNTS else pa.float64() for name in Totals._fields]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


def _scored(sums: DataFrame) -> list[Backcast]:
    from pyspark.sql import functions as F

    rows = (
        sums.groupBy("group", "horizon_s")
        .agg(*(F.sum(name).alias(name) for name in Totals._fields))
        .orderBy("group", "horizon_s")
        .collect()
    )
    return [
        Backcast(row.group, row.horizon_s, score(Totals(*(row[name] for name in Totals._fields))))
        for row in rows
    ]
