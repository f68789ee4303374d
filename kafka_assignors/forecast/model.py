"""How many records will arrive: level, trend and season, at several speeds at once.  Pure.

Rules:
- Exponential smoothing (Holt and Winters), additive.  Speeds are times, not weights: the length of a step
  changes little.
- Which speed is right depends on the traffic and on the horizon.  So several *forecasters* run side by
  side; each is scored by what it said a horizon ago, and the better it was, the more its word counts.  The
  naive forecast (what arrived in the last horizon arrives again) is one of them.
- The error is what the mixture itself missed by, over that horizon.
- Of a fixed size, whatever a partition went through; a step is O(quarters of an hour in the horizon).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kafka_assignors.forecast.season import Season
from kafka_assignors.forecast.settings import QUARTER, SECOND, LoadSettings

__all__ = ["FORECASTERS", "Forecaster", "Model", "Outlook", "Pending"]


class Forecaster(NamedTuple):
    """One speed.

    A level follows what arrives within ``horizons * horizon + seconds``.
    """

    horizons: float
    seconds: float
    seasonal: bool
    trend: float  # how much of a change of the level is taken for a trend, 0 to 1


FORECASTERS = (
    Forecaster(0.25, 0.0, seasonal=False, trend=0.1),
    Forecaster(0.25, 0.0, seasonal=True, trend=0.1),
    Forecaster(1.0, 0.0, seasonal=True, trend=0.0),
    Forecaster(0.0, 4 * 86400.0, seasonal=True, trend=0.0),
)
"""Quick ones for what changes all the time, slow ones for what is steady but for its season."""

_FIRST = 1  # speaks for all until there is a score
_QUICK = 1  # whose expectation decides what an outlier is

BACKCASTS = 8
"""How many forecasts wait at a time to be scored."""
_SCORES = 64.0
"""Back-casts that count, about: eight horizons."""
_FAVOUR = 8.0
"""Power of the scores: with half the error of another a forecaster counts 256 times as much."""
_LEAST_SCORES = 3
"""Before so many nothing is said of the error."""
_OUTLIER = 4.0
"""So many times the usual deviation is one; the quick forecasters see it cut to that."""
_BELIEVED = 3
"""So many in a row, all to one side, are none."""
_LEARNT = 12
"""Before so many steps nothing is an outlier."""
_DEVIATIONS = 50.0
"""Steps that count for the usual deviation, about."""
_NORMAL = 1.25
"""Standard deviation over mean deviation, of a normal distribution."""


class Outlook(NamedTuple):
    """What is expected after a step.

    ``level``, ``trend`` and ``season`` are of the forecasters' mixture.
    """

    level: float  # records/s, without the season
    trend: float  # records/s per step
    season: float  # records/s that the time at hand adds
    arrivals: float  # records within the horizon
    error: float | None  # standard error of arrivals; None: too early to tell


class Pending(NamedTuple):
    """A forecast that waits for what comes."""

    due: int
    total: int  # arrivals counted when it was made
    said: tuple[float, ...]  # by each forecaster, by the naive one, by all of them together


class Model:
    """Learns step by step, and forecasts from the step learnt last."""

    __slots__ = (
        "ahead", "ahead_of", "deviation", "gains", "keep", "last", "levels", "misses", "pending", "run",
        "said", "said_at", "scored", "season", "seen", "settings", "square", "stride", "total", "trends",
        "trusted",
    )  # fmt: skip

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.season = Season()
        self.levels = [0.0] * len(FORECASTERS)
        self.trends = [0.0] * len(FORECASTERS)
        self.seen = 0  # steps
        self.deviation = 0.0  # usual, of one step from what was expected, records/s
        self.run = 0  # outliers in a row; below 0: too small ones
        self.total = 0  # arrivals since the last step that is not known
        self.last: float | None = None  # arrivals within a whole horizon, the last that was seen
        self.pending: list[Pending] = []
        self.scored = 0
        self.misses = [0.0] * (len(FORECASTERS) + 1)  # mean of what each missed by, records
        self.square = 0.0  # mean square of what all together missed by
        self.gains = [
            1 - math.exp(-settings.step_s / (one.horizons * settings.horizon_s + one.seconds))
            for one in FORECASTERS
        ]
        self.keep = math.exp(-settings.step_s / settings.horizon_s)  # of a trend, from step to step
        self.stride = max(1, settings.horizon // settings.step // BACKCASTS)
        # What follows from the rest, kept because it is asked for again and again.
        self.trusted: list[float] | None = None  # the weights
        self.said: list[float] = []  # by each, after the last step
        self.said_at = -1
        self.ahead: list[float] = []  # what the quarters from here on add
        self.ahead_of = (-1, -1)

    def learn(self, at: int, arrived: int) -> None:
        """Take one step, the next one.

        Args:
            at: its end, microseconds.
            arrived: records that arrived in it.
        """
        step = self.settings.step
        rate = arrived / self.settings.step_s
        adds = self.season.adds((at - 1) // QUARTER)
        self.seen += 1
        self.total += arrived
        tamed = self._tamed(rate, self.levels[_QUICK] + self.keep * self.trends[_QUICK] + adds)
        for place, (one, gain) in enumerate(zip(FORECASTERS, self.gains, strict=True)):
            self._follow(place, one, max(gain, 1 / self.seen), tamed if one.trend else rate, adds)
        self.season.learn(at, rate, step)
        while self.pending and self.pending[0].due <= at:
            self._score(self.pending.pop(0))
        self.said, self.said_at = self._each(at), at
        if at // step % self.stride == 0:
            mixed = _mean(self._weights(), self.said)
            self.pending.append(Pending(at + self.settings.horizon, self.total, (*self.said, mixed)))

    def skip(self) -> None:
        """Take a step that is not known: what was said before it can no longer be scored."""
        self.pending.clear()
        self.total = 0
        self.run = 0
        self.trends = [trend * self.keep for trend in self.trends]

    def outlook(self, at: int) -> Outlook | None:
        """Forecast from the end of a step on; None: nothing was learnt yet."""
        if not self.seen:
            return None
        weights, season = self._weights(), self.season.adds(at // QUARTER)
        here = [
            level if one.seasonal else level - season
            for one, level in zip(FORECASTERS, self.levels, strict=True)
        ]
        here.append(here[0] if self.last is None else self.last / self.settings.horizon_s - season)
        return Outlook(
            level=_mean(weights, here),
            trend=_mean(weights, [*self.trends, 0.0]),
            season=season,
            arrivals=_mean(weights, self.said if at == self.said_at else self._each(at)),
            error=math.sqrt(self.square) if self.scored >= _LEAST_SCORES else None,
        )

    def _tamed(self, rate: float, expected: float) -> float:
        """The rate with its surprise cut to what is usual, unless it goes on."""
        surprise = rate - expected
        if self.seen > _LEARNT:
            seconds = self.settings.step_s
            least = math.sqrt(max(expected, 0.0) * seconds + 1) / seconds  # chance alone does as much
            most = _OUTLIER * max(self.deviation, least)
            if abs(surprise) <= most:
                self.run = 0
            else:
                side = 1 if surprise > 0 else -1
                self.run = self.run + side if self.run * side > 0 else side
                if abs(self.run) < _BELIEVED:
                    surprise = side * most
        self.deviation += (_NORMAL * abs(surprise) - self.deviation) * max(1 / _DEVIATIONS, 1 / self.seen)
        return expected + surprise

    def _follow(self, place: int, one: Forecaster, gain: float, rate: float, adds: float) -> None:
        value = rate - adds if one.seasonal else rate
        was, drift = self.levels[place], self.keep * self.trends[place]
        if self.seen == 1:
            self.levels[place] = value
            return
        self.levels[place] = was + drift + gain * (value - was - drift)
        self.trends[place] = drift + one.trend * gain * (value - was - drift)

    def _score(self, forecast: Pending) -> None:
        came = self.total - forecast.total
        self.last = float(came)
        self.scored += 1
        self.trusted = None
        gain = max(1 / _SCORES, 1 / self.scored)
        *each, mixed = forecast.said
        for place, said in enumerate(each):
            self.misses[place] += (abs(came - said) - self.misses[place]) * gain
        self.square += ((came - mixed) ** 2 - self.square) * gain

    def _weights(self) -> list[float]:
        """How much the word of each counts; the sum is 1."""
        if self.trusted is None:
            best = min(self.misses)
            if not self.scored:
                favours = [float(place == _FIRST) for place in range(len(self.misses))]
            elif best > 0:
                favours = [(best / miss) ** _FAVOUR for miss in self.misses]
            else:
                favours = [float(miss <= 0) for miss in self.misses]
            total = sum(favours)
            self.trusted = [favour / total for favour in favours]
        return self.trusted

    def _each(self, at: int) -> list[float]:
        """What each forecaster expects to arrive within the horizon, records; the naive one comes last."""
        horizon_s = self.settings.horizon_s
        stretches = self._stretches(at)
        season = sum(adds * seconds for adds, seconds in stretches)
        lowest = min(adds for adds, _ in stretches)
        grown = self._grown(horizon_s)
        said = []
        for one, level, trend in zip(FORECASTERS, self.levels, self.trends, strict=True):
            least = level + min(0.0, trend * self.keep / (1 - self.keep)) + (lowest if one.seasonal else 0.0)
            if least >= 0:
                records = level * horizon_s + trend * grown + (season if one.seasonal else 0.0)
            else:
                records = self._not_below_nothing(level, trend, stretches, seasonal=one.seasonal)
            said.append(records)
        said.append(said[_FIRST] if self.last is None else self.last)
        return said

    def _not_below_nothing(
        self, level: float, trend: float, stretches: list[tuple[float, float]], *, seasonal: bool
    ) -> float:
        """Records of one forecaster where its rate would fall below 0, quarter by quarter."""
        records = after = done = 0.0
        for adds, seconds in stretches:
            after += seconds
            grown = self._grown(after)
            records += max(0.0, (level + (adds if seasonal else 0.0)) * seconds + trend * (grown - done))
            done = grown
        return records

    def _grown(self, seconds: float) -> float:
        """What a trend of 1 comes to within so many seconds.

        After n steps it has added keep + keep^2 + ... + keep^n to the rate; this is the integral of that.
        """
        horizon_s = self.settings.horizon_s
        faded = horizon_s * (1 - math.exp(-seconds / horizon_s))
        return self.keep / (1 - self.keep) * (seconds - faded)

    def _stretches(self, at: int) -> list[tuple[float, float]]:
        """The quarters of an hour ahead: what each adds, and how many seconds of it are in the horizon."""
        stop, quarter = at + self.settings.horizon, at // QUARTER
        if self.ahead_of != (quarter, self.season.changes):
            last = (quarter * QUARTER + QUARTER - 1 + self.settings.horizon) // QUARTER
            self.ahead = [self.season.adds(place) for place in range(quarter, last + 1)]
            self.ahead_of = (quarter, self.season.changes)
        found, start = [], at
        for adds in self.ahead:
            quarter += 1
            end = min(stop, quarter * QUARTER)
            found.append((adds, (end - start) / SECOND))
            if end == stop:
                break
            start = end
        return found


def _mean(weights: list[float], values: list[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
