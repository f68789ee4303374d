"""How good forecasts are: of a history that was recorded, or of the load that was written.

Each partition is one task's work; only sums leave it.
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

__all__ = ["HORIZONS", "Backcast", "backcast", "forecast_errors"]

HORIZONS = (900.0, 3600.0, 21_600.0)
"""Seconds: a quarter of an hour, an hour, six."""

_COUNTS = ("forecasts", "daily", "weekly")
_TOTALS = ", ".join(f"{name} {'bigint' if name in _COUNTS else 'double'}" for name in Totals._fields)
_SCHEMA = f"group string, horizon_s double, {_TOTALS}"

_Key = tuple["pa.Scalar", ...]


class Backcast(NamedTuple):
    """How the forecasts of a group did, over one horizon."""

    group: str
    horizon_s: float
    score: Score


def backcast(
    samples: DataFrame, settings: LoadSettings, horizons: Sequence[float] = HORIZONS
) -> list[Backcast]:
    """Forecast at each step of a history what was known then, and compare to what came.

    Args:
        samples: rows of ``SAMPLES``.
        settings: of the model; the horizon is one of ``horizons``.
        horizons: seconds, each a whole number of steps.

    Returns:
        One a group and horizon, in order.

    Raises:
        OptionError: a horizon does not fit the step.
    """
    of_each = [replace(settings, horizon_s=horizon) for horizon in horizons]
    sums = with_numbers(samples).groupBy(*KEY).applyInArrow(_over_samples(of_each), _SCHEMA)
    return _scored(sums)


def forecast_errors(load: DataFrame) -> list[Backcast]:
    """Compare the forecasts that were written to what came; rows of ``LOAD`` in."""
    from pyspark.sql import functions as F

    rows = load.select(*KEY, F.unix_micros("time").alias("at"), "step_s", "horizon_s", "arrived", "forecast")
    return _scored(rows.groupBy(*KEY, "step_s", "horizon_s").applyInArrow(_over_load, _SCHEMA))


def _over_samples(of_each: Iterable[LoadSettings]) -> Callable[[_Key, pa.Table], pa.Table]:
    def fold(key: _Key, table: pa.Table) -> pa.Table:
        samples = samples_of(table)
        found = []
        for settings in of_each:
            partition = Partition(settings)
            rows, _ = partition.take(samples)
            found.append((key[0].as_py(), settings.horizon_s, totals(rows + partition.flush(), settings)))
        return _table(found)

    return fold


def _over_load(key: _Key, table: pa.Table) -> pa.Table:
    import numpy as np

    group, _, _, step_s, horizon_s = (part.as_py() for part in key)
    settings = LoadSettings(step_s=step_s, horizon_s=horizon_s)
    at = table["at"].to_numpy()
    place = (at - at.min()) // settings.step
    arrived, said = np.full((2, int(place.max()) + 1), np.nan)
    arrived[place] = table["arrived"].to_numpy().astype(np.float64)
    said[place] = table["forecast"].to_numpy().astype(np.float64)
    return _table([(group, horizon_s, compare(arrived, said, settings))])


def _table(found: Sequence[tuple[str, float, Totals]]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*((group, horizon, *sums) for group, horizon, sums in found), strict=True))
    names = ("group", "horizon_s", *Totals._fields)
    types = [pa.string(), pa.float64()]
    types += [pa.int64() if name in _COUNTS else pa.float64() for name in Totals._fields]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


def _scored(sums: DataFrame) -> list[Backcast]:
    from pyspark.sql import functions as F

    found = (
        sums.groupBy("group", "horizon_s")
        .agg(*(F.sum(name).alias(name) for name in Totals._fields))
        .orderBy("group", "horizon_s")
        .collect()
    )
    return [
        Backcast(row.group, row.horizon_s, score(Totals(*(row[name] for name in Totals._fields))))
        for row in found
    ]
