"""The mixtures of many partitions at once; results equal those of ``forecast.mixture`` bit for bit."""

from __future__ import annotations

import numpy as np

from kafka_assignors.forecast.bucket.table import Bools, Floats, Ints, RowIndex, Table
from kafka_assignors.forecast.forecasters import (
    FIRST,
    LASTING_SCORES,
    LEAST_SCORES,
    LEAST_SPREAD,
    MOST_SPREAD,
    NARROWER,
    SCORES,
    UNKNOWN_SCORES,
    WIDER,
    favour,
)
from kafka_assignors.forecast.season import added


def weights_of(table: Table, rows: RowIndex) -> Floats:
    """Return the weight of each forecaster in the mixture.  Smaller past errors give a larger weight."""
    misses = table.recent_misses[:, rows] * table.lasting_misses[:, rows]
    best = misses.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        favours = np.where(best > 0, favour(best / misses), misses <= 0)
    unscored = table.scored[rows] == 0
    favours = np.where(unscored, np.arange(len(misses))[:, None] == FIRST, favours)
    weights: Floats = favours / added(favours)
    return weights


def errors_of(table: Table, rows: RowIndex) -> Floats:
    """Return the standard error of each mixture, records; NaN: too few scores."""
    error = table.spread[rows] * table.miss[rows]
    return np.where(table.scored[rows] >= LEAST_SCORES, error, np.nan)


def score_mixtures(table: Table, rows: Ints, came: Ints, forecasts: Floats, mixture: Floats) -> None:
    """Compare forecasts (NaN: unknown) and their mixture to the records that arrived."""
    known = ~np.isnan(forecasts)
    for index, forecast in enumerate(filled(forecasts)):
        _add_miss(table, rows, index, np.abs(came - forecast), known[index])
    miss, before, spread = np.abs(came - mixture), table.miss[rows], table.spread[rows]
    factor = np.where(miss <= spread * before, NARROWER, WIDER)
    adjusted = np.minimum(np.maximum(spread * factor, LEAST_SPREAD), MOST_SPREAD)
    table.spread[rows] = np.where(table.scored[rows] > LEAST_SCORES, adjusted, spread)
    table.miss[rows] = before + (miss - before) * np.maximum(1 / SCORES, 1 / table.scored[rows])


def _add_miss(table: Table, rows: Ints, index: int, miss: Floats, known: Bools) -> None:
    """Add errors of a forecaster to its means."""
    count = table.miss_counts[index, rows]
    counted = known | (count < UNKNOWN_SCORES)
    count = np.where(counted, np.minimum(count + 1, LASTING_SCORES), count)
    table.miss_counts[index, rows] = count
    gains = np.maximum(1 / SCORES, 1 / count), 1 / count
    for means, gain in zip((table.recent_misses, table.lasting_misses), gains, strict=True):
        before = means[index, rows]
        means[index, rows] = before + (miss - before) * gain


def filled(forecasts: Floats) -> Floats:
    """Replace unknown forecasts by those of `FIRST`."""
    return np.where(np.isnan(forecasts), forecasts[FIRST], forecasts)
