"""The mixture: the mean of several forecasts, weighted by their errors so far, and its own error.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kafka_assignors.forecast.forecasters import (
    FIRST,
    FORECASTERS,
    LASTING_SCORES,
    LEAST_SCORES,
    LEAST_SPREAD,
    MOST_SPREAD,
    NARROWER,
    NORMAL,
    OTHERS,
    SCORES,
    UNKNOWN_SCORES,
    WIDER,
    Real,
    favour,
)
from kafka_assignors.forecast.season import added


class Mixture:
    """The errors of each forecaster, of ``OTHERS`` and of their mixture."""

    __slots__ = ("_weights", "lasting_misses", "miss", "miss_counts", "recent_misses", "spread")

    def __init__(self) -> None:
        # Mean absolute errors of each forecaster, records, and the number of scores in them.
        self.recent_misses = [0.0] * (len(FORECASTERS) + OTHERS)
        self.lasting_misses = list(self.recent_misses)
        self.miss_counts = [0] * len(self.recent_misses)  # up to `LASTING_SCORES`
        self.miss = 0.0  # mean absolute error of the mixture
        self.spread = NORMAL  # standard error / ``miss``
        self._weights: list[float] | None = None  # a cache of `weights`

    @property
    def scored(self) -> int:
        """The number of scores so far, up to `LASTING_SCORES`.

        It is counted for `FIRST`, whose forecast is always known.
        """
        return self.miss_counts[FIRST]

    @property
    def error(self) -> float | None:
        """The standard error of the mixture, records; None: too few scores."""
        return self.spread * self.miss if self.scored >= LEAST_SCORES else None

    def score(self, came: int, forecasts: Sequence[float], mixture: float) -> None:
        """Compare forecasts (NaN: unknown) and their mixture to the records that arrived."""
        self._weights = None
        for index, (forecast, known) in enumerate(zip(filled(forecasts), forecasts, strict=True)):
            self._add_miss(index, abs(came - forecast), known=not math.isnan(known))
        miss = abs(came - mixture)
        if self.scored > LEAST_SCORES:
            factor = NARROWER if miss <= self.spread * self.miss else WIDER
            self.spread = min(max(self.spread * factor, LEAST_SPREAD), MOST_SPREAD)
        self.miss += (miss - self.miss) * max(1 / SCORES, 1 / self.scored)

    def _add_miss(self, index: int, miss: float, *, known: bool) -> None:
        """Add the error of a forecast to the means of its forecaster."""
        count = self.miss_counts[index]
        if known or count < UNKNOWN_SCORES:
            count = self.miss_counts[index] = min(count + 1, LASTING_SCORES)
        self.recent_misses[index] += (miss - self.recent_misses[index]) * max(1 / SCORES, 1 / count)
        self.lasting_misses[index] += (miss - self.lasting_misses[index]) * (1 / count)

    def weights(self) -> list[float]:
        """Return the weight of each forecaster and of ``OTHERS``; the sum is 1."""
        if self._weights is None:
            both = zip(self.recent_misses, self.lasting_misses, strict=True)
            misses = [recent * lasting for recent, lasting in both]
            best = min(misses)
            if not self.scored:
                favours = [float(index == FIRST) for index in range(len(misses))]
            elif best > 0:
                favours = [favour(best / miss) for miss in misses]
            else:
                favours = [float(miss <= 0) for miss in misses]
            total = added(favours)
            self._weights = [favour / total for favour in favours]
        return self._weights


def filled(forecasts: Sequence[float]) -> list[float]:
    """Replace unknown forecasts by that of `FIRST`."""
    return [forecasts[FIRST] if math.isnan(records) else records for records in forecasts]


def mean(weights: Iterable[Real], values: Iterable[Real]) -> Real:
    """Return the mean of values, with weights whose sum is 1."""
    return added(weight * value for weight, value in zip(weights, values, strict=True))
