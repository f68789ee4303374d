"""Models many partitions at once.  Results equal those of ``forecast.model`` bit for bit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.forecast.bucket.mixture import errors_of, filled, score_mixtures, weights_of
from kafka_assignors.forecast.bucket.partition import read_model
from kafka_assignors.forecast.bucket.season import Seasons
from kafka_assignors.forecast.bucket.table import ERRORS, MODELS, Floats, Ints, RowIndex, Table
from kafka_assignors.forecast.forecasters import (
    BELIEVED,
    DEVIATIONS,
    FORECASTERS,
    LEARNT,
    LEAST_SCORES,
    NORMAL,
    OTHERS,
    OUTLIER,
    QUICK,
    SCALE_DOUBT,
    SCALE_S,
)
from kafka_assignors.forecast.mixture import mean
from kafka_assignors.forecast.season import added, stretches
from kafka_assignors.forecast.settings import QUARTER, SECOND, LoadSettings

_SEASONAL = [forecaster.seasonal for forecaster in FORECASTERS]
_TREND = np.array([[forecaster.trend] for forecaster in FORECASTERS])


class Outlooks(NamedTuple):
    """The forecasts of many partitions; fields and units are those of ``Outlook``.  NaN: unknown."""

    level: Floats
    trend: Floats
    season: Floats
    arrivals: Floats
    error: Floats


class Models:
    """Learns one step of many partitions at a time."""

    __slots__ = ("_seasons", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._seasons = Seasons(table)

    def clear(self) -> None:
        """Forget cached seasons.  Call this after rows are added, dropped or stored in the table."""
        self._seasons.clear()

    def learn(self, rows: RowIndex, at: int, arrived: Ints) -> Outlooks:
        """Learn a step that ends at the same time in all these partitions, and forecast from its end."""
        table, scale = self._table, self._table.scale
        rate = arrived / table.settings.step_s
        quarter = (at - 1) // QUARTER
        season, (*_, usual) = self._seasons.addition(quarter, rows), self._seasons.past_rates(quarter, rows)
        weight = self._seasons.weighted_seconds(at - table.settings.step, at, rows)
        self._scale(rows, rate, usual * (weight / table.settings.step_s))
        table.seen[rows] += 1
        table.total[rows] += arrived
        expected = table.levels[QUICK, rows] + scale.keep * table.trends[QUICK, rows] + season
        clipped = self._clipped(rows, rate, expected)
        values = np.empty((MODELS, len(rate)))
        for index, forecaster in enumerate(FORECASTERS):
            value = clipped if forecaster.trend else rate
            values[index] = value - season if forecaster.seasonal else value
        self._follow(rows, values)
        self._seasons.learn(rows, at, arrived)
        self._score(rows, at)
        forecasts = self._each(rows, at)
        weights, known = weights_of(table, rows), filled(forecasts)
        mixture = mean(weights, known)
        if at // table.settings.step % scale.stride == 0:
            table.changed.add("scores")
            slot = table.slot(at)
            table.due[slot, rows] = at + table.settings.horizon
            table.due_total[slot, rows] = table.total[rows]
            for index, forecast in enumerate((*forecasts, mixture)):
                table.due_forecasts[slot, index, rows] = forecast
        return self._outlooks(rows, at, weights, known, mixture)

    def skip(self, rows: Ints, steps: Ints) -> None:
        """Take a number of unknown steps, as ``Model.skip``."""
        table, keep = self._table, self._table.scale.keep
        table.total[rows] = table.run[rows] = 0
        # numpy's power may differ from Python's in the last bit.
        table.trends[:, rows] *= np.array([keep**number for number in steps.tolist()])
        if table.due[:, rows].any():
            table.changed.add("scores")
            table.due[:, rows] = table.due_total[:, rows] = 0
            table.due_forecasts[:, :, rows] = 0.0

    def outlook(self, rows: Ints, at: int) -> Outlooks:
        """Forecast from a time on."""
        weights, forecasts = weights_of(self._table, rows), filled(self._each(rows, at))
        return self._outlooks(rows, at, weights, forecasts, mean(weights, forecasts))

    def _scale(self, rows: RowIndex, rate: Floats, usual: Floats) -> None:
        """Update the means of recent and usual arrivals, where the usual ones are known."""
        table, gain = self._table, self._table.scale.scale_gain
        known = ~np.isnan(usual)
        for array, value in ((table.recent, rate), (table.expected, usual)):
            before = array[rows]
            array[rows] = np.where(known, before + gain * (value - before), before)

    def _clipped(self, rows: RowIndex, rate: Floats, expected: Floats) -> Floats:
        """Return the rates, clipped where they are outliers and not yet a new level; see `OUTLIER`."""
        table, seconds = self._table, self._table.settings.step_s
        deviation = rate - expected
        usual, run, seen = table.deviation[rows], table.run[rows], table.seen[rows]
        least = np.sqrt(np.maximum(expected, 0.0) * seconds + 1) / seconds
        most = OUTLIER * np.maximum(usual, least)
        judged = seen > LEARNT
        outlier = judged & (np.abs(deviation) > most)
        side = np.where(deviation > 0, 1, -1)
        run = np.where(judged, np.where(outlier, np.where(run * side > 0, run + side, side), 0), run)
        deviation = np.where(outlier & (np.abs(run) < BELIEVED), side * most, deviation)
        table.run[rows] = run
        table.deviation[rows] = usual + (NORMAL * np.abs(deviation) - usual) * np.maximum(
            1 / DEVIATIONS, 1 / seen
        )
        clipped: Floats = expected + deviation
        return clipped

    def _follow(self, rows: RowIndex, values: Floats) -> None:
        """Update the level and the trend of each forecaster."""
        table, scale = self._table, self._table.scale
        seen, levels, trends = table.seen[rows], table.levels[:, rows], table.trends[:, rows]
        gain = np.maximum(np.array(scale.gains)[:, None], 1 / seen)
        drift = scale.keep * trends
        miss = values - levels - drift
        first = seen == 1
        table.levels[:, rows] = np.where(first, values, levels + drift + gain * miss)
        table.trends[:, rows] = np.where(first, trends, drift + _TREND * gain * miss)

    def _score(self, rows: RowIndex, at: int) -> None:
        """Compare the forecasts whose horizon ends now to the arrivals."""
        table = self._table
        made_at = at - table.settings.horizon
        if made_at // table.settings.step % table.scale.stride:
            return
        slot = table.slot(made_at)
        rows = np.arange(table.size)[rows]
        rows = rows[table.due[slot, rows] == at]
        if not len(rows):
            return
        table.changed.add("scores")
        came = table.total[rows] - table.due_total[slot, rows]
        table.last[rows] = came
        forecasts, mixture = table.due_forecasts[slot][:-1, rows], table.due_forecasts[slot, -1, rows]
        score_mixtures(table, rows, came, forecasts, mixture)
        table.due[slot, rows] = table.due_total[slot, rows] = 0
        table.due_forecasts[slot][:, rows] = 0.0

    def _each(self, rows: RowIndex, at: int) -> Floats:
        """Return the records within the horizon, as ``Model._each``; NaN: unknown."""
        table, scale, horizon_s = self._table, self._table.scale, self._table.settings.horizon_s
        levels, trends, last = table.levels[:, rows], table.trends[:, rows], table.last[rows]
        ahead = stretches(at, at + table.settings.horizon)
        season, past, lowest = self._ahead(rows, ahead)
        grown = scale.grown(horizon_s)
        forecasts = np.empty((ERRORS, levels.shape[1]))
        for index, seasonal in enumerate(_SEASONAL):
            level, trend = levels[index], trends[index]
            least = (
                level + np.minimum(0.0, trend * scale.keep / (1 - scale.keep)) + (lowest if seasonal else 0.0)
            )
            records = level * horizon_s + trend * grown + (season if seasonal else 0.0)
            low = np.flatnonzero(least < 0)
            if len(low):
                few = np.arange(table.size)[rows][low]
                adds = [self._seasons.addition(quarter, few) if seasonal else 0.0 for quarter, *_ in ahead]
                seconds = [(end - start) / SECOND for _, start, end in ahead]
                records[low] = scale.at_least_0(level[low], trend[low], adds, seconds, np.maximum)
            forecasts[index] = records
        recent, usual = table.recent[rows], table.expected[rows]
        factor = (recent * SCALE_S + SCALE_DOUBT) / (usual * SCALE_S + SCALE_DOUBT)
        forecasts[MODELS] = last
        forecasts[MODELS + 1 : -1] = past[:-1]
        forecasts[-1] = factor * past[-1]
        return forecasts

    def _ahead(self, rows: RowIndex, ahead: list[tuple[int, int, int]]) -> tuple[Floats, Floats, Floats]:
        """Look up the season within the horizon, whose `stretches` are ``ahead``.

        Returns:
            Three arrays: the records that the season adds; the records by each of the `PastRates`, of shape
            (4, partitions); the season's least addition (records/s).
        """
        seasons = self._seasons
        season, past, lowest = [], [], []
        for quarter, start, end in (ahead[0], *ahead[1:][-1:]):
            adds = seasons.addition(quarter, rows)
            season.append(adds * ((end - start) / SECOND))
            past.append(seasons.past_rates(quarter, rows) * seasons.weighted_seconds(start, end, rows))
            lowest.append(adds)
        if len(ahead) > 2:  # the first, the last, and whole quarters between them
            between = seasons.between(ahead[1][0], ahead[-1][0])
            for several, sums in zip((season, past, lowest), between, strict=True):
                several.insert(1, sums[..., rows])
        return added(season), added(past), np.minimum.reduce(lowest)

    def _outlooks(
        self, rows: RowIndex, at: int, weights: Floats, forecasts: Floats, mixture: Floats
    ) -> Outlooks:
        table = self._table
        levels, trends = table.levels[:, rows], table.trends[:, rows]
        season = self._seasons.addition(at // QUARTER, rows)
        shown = [
            level if seasonal else level - season for level, seasonal in zip(levels, _SEASONAL, strict=True)
        ]
        shown += [records / table.settings.horizon_s - season for records in forecasts[-OTHERS:]]
        return Outlooks(
            level=mean(weights, shown),
            trend=mean(weights, [*trends, *[np.zeros(len(season))] * OTHERS]),
            season=season,
            arrivals=mixture,
            error=errors_of(table, rows),
        )


def forecast_parts(arrivals: Ints, end: int, settings: LoadSettings, parts: int) -> Floats:
    """Learn arrivals, and forecast from their end on.

    Cost: about 0.5 ms per step, plus 0.3 µs per step and partition.  Then about 1 ms per partition, because
    each model is copied and forecasts alone.

    Args:
        arrivals: records of each step, of shape (steps, partitions).
        end: end of the last step, microseconds since 1970.
        settings: length of a step and of the horizon.
        parts: number of equal parts of the horizon.

    Returns:
        Records of each part, of shape (parts, partitions).  NaN: there are too few arrivals to score
        ``LEAST_SCORES`` forecasts.
    """
    table = Table(settings)
    table.grow(arrivals.shape[1])
    models, first = Models(table), end - len(arrivals) * settings.step
    for number, arrived in enumerate(arrivals, 1):
        models.learn(slice(None), first + number * settings.step, arrived)
    expected = np.full((parts, table.size), np.nan)
    for row in np.flatnonzero(table.scored >= LEAST_SCORES).tolist():
        expected[:, row] = read_model(table, row).parts(end, parts)
    return expected
