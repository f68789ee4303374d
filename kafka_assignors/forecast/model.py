"""Forecast of arrivals: level, trend and season, at several speeds.  Pure.

Rules:
- Additive exponential smoothing (Holt-Winters).  Smoothing is set by time constants, not weights, so
  the length of a step hardly matters.
- The best speed depends on the traffic and on the horizon.  So several *forecasters* run side by side.  Each
  is scored by its mean errors over its last 64 forecasts, and over 256: about 8 and 32 horizons with the
  default settings.  Smaller errors give more weight in the *mixture*, their weighted mean.  Simple forecasts
  take part as well, such as the arrivals of the last horizon (``OTHERS``).
- The reported error is that of the mixture over the horizon, times a factor.  The factor follows the
  outcomes, so that 68 % of them are within the reported error.
- ``forecast.bucket`` adds floats in the same order and takes ``exp`` from the same code.  So it computes the
  same bits for many partitions at once.
- The size of the model is fixed.  A step takes O(quarters of an hour in the horizon).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from kafka_assignors.forecast.forecasters import (
    BACKCASTS,
    BELIEVED,
    DEVIATIONS,
    FORECASTERS,
    LEARNT,
    NORMAL,
    OTHERS,
    OUTLIER,
    QUICK,
    SCALE_DOUBT,
    SCALE_S,
    Forecaster,
    Real,
)
from kafka_assignors.forecast.mixture import Mixture, filled, mean
from kafka_assignors.forecast.season import PastRates, Season, added, slots_of, stretches
from kafka_assignors.forecast.settings import QUARTER, SECOND, LoadSettings


class Outlook(NamedTuple):
    """The forecast at the end of a step, by the mixture of the forecasters."""

    level: float  # records/s, without the season
    trend: float  # records/s per step
    season: float  # records/s added by the time of day and week
    arrivals: float  # records within the horizon
    error: float | None  # standard error of arrivals; None: too few scores


class Pending(NamedTuple):
    """A forecast to be scored at the end of its horizon."""

    due: int  # end of its horizon, microseconds since 1970
    total: int  # `Model.total` when the forecast was made
    # One for each forecaster, each of `OTHERS`, and the mixture; in single precision.  NaN: unknown.
    forecasts: tuple[float, ...]


class Model:
    """Learns step by step, and forecasts from the last step."""

    __slots__ = (
        "ahead", "ahead_of", "deviation", "expected", "forecasts", "forecasts_at", "gains", "keep", "last",
        "levels", "mixture", "pending", "recent", "run", "scale_gain", "season", "seen", "settings", "stride",
        "total", "trends",
    )  # fmt: skip

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.season = Season(settings.zone, slots_of(settings.step))
        self.levels = [0.0] * len(FORECASTERS)
        self.trends = [0.0] * len(FORECASTERS)
        self.seen = 0  # steps
        self.deviation = 0.0  # usual deviation of a step from its expectation, records/s
        self.run = 0  # outliers in a row; below 0: outliers below the expectation
        self.total = 0  # arrivals since the last unknown step
        self.last: float | None = None  # arrivals within the last known horizon
        self.pending: list[Pending] = []
        self.mixture = Mixture()
        self.recent = 0.0  # mean rate over `SCALE_S`, of steps with a ``Season.usual_rate``
        self.expected = 0.0  # mean usual rate of these steps
        self.gains = [
            1 - math.exp(-settings.step_s / (forecaster.horizons * settings.horizon_s + forecaster.seconds))
            for forecaster in FORECASTERS
        ]
        self.scale_gain = 1 - math.exp(-settings.step_s / SCALE_S)
        self.keep = math.exp(-settings.step_s / settings.horizon_s)  # damping of the trend by a step
        self.stride = max(1, settings.horizon // settings.step // BACKCASTS)
        # Caches: their values follow from the attributes above.
        self.forecasts: list[float] = []  # of each forecaster and `OTHERS`, after the last step
        self.forecasts_at = -1
        self.ahead: list[tuple[float, PastRates]] = []  # results of `Season` for the quarters ahead
        self.ahead_of = (-1, -1)

    def learn(self, at: int, arrived: int) -> None:
        """Learn the next step.

        Args:
            at: its end, microseconds.
            arrived: records that arrived in it.
        """
        step = self.settings.step
        rate = arrived / self.settings.step_s
        quarter = (at - 1) // QUARTER
        season, usual = self.season.addition(quarter), self.season.usual_rate(quarter)
        if not math.isnan(usual):
            usual *= self.season.weighted_seconds(at - step, at) / self.settings.step_s
            self.recent += self.scale_gain * (rate - self.recent)
            self.expected += self.scale_gain * (usual - self.expected)
        self.seen += 1
        self.total += arrived
        clipped = self._clipped(rate, self.levels[QUICK] + self.keep * self.trends[QUICK] + season)
        for index, (forecaster, gain) in enumerate(zip(FORECASTERS, self.gains, strict=True)):
            value = clipped if forecaster.trend else rate
            self._follow(index, forecaster, max(gain, 1 / self.seen), value, season)
        self.season.learn(at, arrived, step)
        while self.pending and self.pending[0].due <= at:
            self._score(self.pending.pop(0))
        forecasts = self._each(at)
        self.forecasts, self.forecasts_at = filled(forecasts), at
        if at // step % self.stride == 0:
            mixture = mean(self.mixture.weights(), self.forecasts)
            due = at + self.settings.horizon
            single = np.array((*forecasts, mixture), "f4").tolist()
            self.pending.append(Pending(due, self.total, tuple(single)))

    def skip(self, steps: int) -> None:
        """Take a number of unknown steps.  Pending forecasts can no longer be scored."""
        self.pending.clear()
        self.total = 0
        self.run = 0
        self.trends = [trend * self.keep**steps for trend in self.trends]

    def take(self, at: int, arrived: int | None, steps: int, *, end_known: bool) -> Outlook | None:
        """Take a `LoadStep`, and forecast from its end on.

        Returns None if the step's end offset is unknown, or if no step was learnt yet.  After a gap or a
        reset with a known end offset, the level from before is the best estimate.
        """
        if arrived is None:
            self.skip(steps)
            return self.outlook(at) if end_known else None
        self.learn(at, arrived)
        return self.outlook(at)

    def outlook(self, at: int) -> Outlook | None:
        """Forecast from the end of a step on; None if no step was learnt."""
        if not self.seen:
            return None
        weights, season = self.mixture.weights(), self.season.addition(at // QUARTER)
        forecasts = self.forecasts if at == self.forecasts_at else filled(self._each(at))
        levels = [
            level if forecaster.seasonal else level - season
            for forecaster, level in zip(FORECASTERS, self.levels, strict=True)
        ]
        levels += [records / self.settings.horizon_s - season for records in forecasts[-OTHERS:]]
        return Outlook(
            level=mean(weights, levels),
            trend=mean(weights, [*self.trends, *[0.0] * OTHERS]),
            season=season,
            arrivals=mean(weights, forecasts),
            error=self.mixture.error,
        )

    def parts(self, at: int, count: int) -> list[float]:
        """Forecast the records of each of ``count`` equal parts of the horizon, from the end of a step on."""
        ends = [self.settings.horizon * part // count for part in range(1, count + 1)]
        within = [mean(self.mixture.weights(), filled(self._each(at, end))) for end in ends]
        return [max(last - first, 0.0) for first, last in pairwise([0.0, *within])]

    def _clipped(self, rate: float, expected: float) -> float:
        """Return the rate, clipped if it is an outlier and not yet a new level."""
        deviation = rate - expected
        if self.seen > LEARNT:
            seconds = self.settings.step_s
            least = math.sqrt(max(expected, 0.0) * seconds + 1) / seconds  # deviation by chance (Poisson)
            most = OUTLIER * max(self.deviation, least)
            if abs(deviation) <= most:
                self.run = 0
            else:
                side = 1 if deviation > 0 else -1
                self.run = self.run + side if self.run * side > 0 else side
                if abs(self.run) < BELIEVED:
                    deviation = side * most
        self.deviation += (NORMAL * abs(deviation) - self.deviation) * max(1 / DEVIATIONS, 1 / self.seen)
        return expected + deviation

    def _follow(self, index: int, forecaster: Forecaster, gain: float, rate: float, season: float) -> None:
        value = rate - season if forecaster.seasonal else rate
        level, drift = self.levels[index], self.keep * self.trends[index]
        if self.seen == 1:
            self.levels[index] = value
            return
        self.levels[index] = level + drift + gain * (value - level - drift)
        self.trends[index] = drift + forecaster.trend * gain * (value - level - drift)

    def _score(self, pending: Pending) -> None:
        """Score a forecast whose horizon has ended."""
        came = self.total - pending.total
        self.last = float(came)
        *forecasts, mixture = pending.forecasts
        self.mixture.score(came, forecasts, mixture)

    def _each(self, at: int, within: int | None = None) -> list[float]:
        """Forecast the records in the horizon, or in its first ``within`` microseconds.

        Returns the forecasts of all forecasters, then those of `OTHERS`.  NaN: unknown.
        """
        whole_s = self.settings.horizon_s
        horizon_s = whole_s if within is None else within / SECOND
        ahead = self._ahead(at, self.settings.horizon if within is None else within)
        adds, earlier, seconds, weights = zip(*ahead, strict=True)
        season = _total([add * length for add, length in zip(adds, seconds, strict=True)])
        weighted = ([rate * weight for rate in rates] for rates, weight in zip(earlier, weights, strict=True))
        *past, usual = (_total(list(records)) for records in zip(*weighted, strict=True))
        lowest = min(adds)
        grown = self.grown(horizon_s)
        forecasts = []
        for forecaster, level, trend in zip(FORECASTERS, self.levels, self.trends, strict=True):
            seasonal = forecaster.seasonal
            least = level + min(0.0, trend * self.keep / (1 - self.keep)) + (lowest if seasonal else 0.0)
            if least >= 0:
                records = level * horizon_s + trend * grown + (season if seasonal else 0.0)
            else:
                records = self.at_least_0(level, trend, adds if seasonal else repeat(0.0), seconds, max)
            forecasts.append(records)
        forecasts.append(math.nan if self.last is None else self.last * (horizon_s / whole_s))
        scale = (self.recent * SCALE_S + SCALE_DOUBT) / (self.expected * SCALE_S + SCALE_DOUBT)
        return [*forecasts, *past, scale * usual]

    def at_least_0(
        self,
        level: Real,
        trend: Real,
        adds: Iterable[Real | float],
        seconds: Sequence[float],
        maximum: Callable[[float, Real], Real],
    ) -> Real:
        """Add the records of all quarters, each at least 0, because the rate of a quarter may fall below 0.

        Args:
            level: records/s at the start, of one partition or of many.
            trend: records/s per step.
            adds: seasonal addition of each quarter, records/s.
            seconds: of each quarter, within the horizon.
            maximum: ``max`` or ``np.maximum``.
        """
        records: Any = 0.0
        end = grown_before = 0.0
        for add, length in zip(adds, seconds, strict=False):
            end += length
            grown = self.grown(end)
            records += maximum(0.0, (level + add) * length + trend * (grown - grown_before))
            grown_before = grown
        result: Real = records
        return result

    def grown(self, seconds: float) -> float:
        """Return the records that a trend of 1 record/s per step adds within a number of seconds.

        After n steps the trend has added keep + keep^2 + ... + keep^n to the rate.  Integrate that sum.
        """
        horizon_s = self.settings.horizon_s
        faded = horizon_s * (1 - math.exp(-seconds / horizon_s))
        return self.keep / (1 - self.keep) * (seconds - faded)

    def _ahead(self, at: int, within: int) -> list[tuple[float, PastRates, float, float]]:
        """Look up the quarters of an hour in the ``within`` microseconds after ``at``.

        Returns:
            For each quarter: the addition of the season (records/s), the past rates of the quarter, and its
            seconds and weighted seconds (`Season.weighted_seconds`) in that time.
        """
        quarter = at // QUARTER
        if self.ahead_of != (quarter, self.season.changes):
            last = (quarter * QUARTER + QUARTER - 1 + self.settings.horizon) // QUARTER
            ahead = range(quarter, last + 1)
            self.ahead = [
                (self.season.addition(quarter), self.season.past_rates(quarter)) for quarter in ahead
            ]
            self.ahead_of = (quarter, self.season.changes)
        return [
            (add, rates, (end - start) / SECOND, self.season.weighted_seconds(start, end))
            for (_, start, end), (add, rates) in zip(stretches(at, at + within), self.ahead, strict=False)
        ]


def _total(values: list[float]) -> float:
    """Add values in the order of ``forecast.bucket``, which caches the sum of all but the first and last."""
    return added([values[0], added(values[1:-1]), *values[1:][-1:]])
