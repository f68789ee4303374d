"""The recorded load of a group: arrivals by step and partition, and the lag at the start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import ProblemError

Counts = npt.NDArray[np.int64]
Levels = npt.NDArray[np.float64]

_MOST = 2**52
"""Maximum records of a history, because the simulation uses floats, which have no fractions beyond 2^52."""

_ROUNDING = 1e-9
"""A time up to this fraction of a step before the end of the step counts as the end, for rounding errors."""


class KnownForecast(NamedTuple):
    """The newest forecast that is known at some time.

    Attributes:
        step: the step at whose end it was made.
        arrivals: by partition, records expected in its whole horizon; NaN without a forecast.
        left: the part of the horizon that is still ahead, above 0, at most 1.
    """

    step: int
    arrivals: Levels
    left: float


@dataclass(frozen=True, eq=False)
class History:
    """A recorded load, cut into steps of equal length.

    Arrays "by partition" are in the planners' order: topics by name, each topic's partitions from 0 (as in
    ``plan.Group``).  Within a step records arrive evenly.

    Attributes:
        group: the group's id.
        step_s: length of a step, seconds.
        topics: topic -> number of partitions.
        arrivals: records that arrived in each step, int64 of shape (steps, partitions).
        start_lags: lag at the start, records, int64 of shape (partitions,).
        service_rate: records/s that one member reads while it has lag; None: unknown.
        pace: speed of the members in each step, as a multiple of ``service_rate`` (a database may be slow at
            noon), float64 of shape (steps,).  None: 1 in each step.  After the history it is 1.
        expected: arrivals (records) forecast at the end of each step for the following ``horizon_s``, float64
            of shape (steps, partitions), NaN without a forecast.  None: no forecasts.
        horizon_s: length of the forecasts, seconds.
        starts_at: start of the first step, seconds since 1970; the simulation does not use it.

    Raises:
        ProblemError: a field is invalid; the message begins with ``history.`` and its name.
    """

    group: str
    step_s: float
    topics: Mapping[str, int]
    arrivals: Counts
    start_lags: Counts
    service_rate: float | None = None
    pace: Levels | None = None
    expected: Levels | None = None
    horizon_s: float | None = None
    starts_at: float = 0.0

    def __post_init__(self) -> None:
        _above_0("step_s", self.step_s)
        if self.service_rate is not None:
            _above_0("service_rate", self.service_rate)
        if not self.topics:
            raise ProblemError("history.topics: there is none")
        if negative := [topic for topic, count in self.topics.items() if count < 0]:
            raise ProblemError(f"history.topics: {min(negative)!r} has a negative number of partitions")
        object.__setattr__(self, "topics", dict(sorted(self.topics.items())))
        size = sum(self.topics.values())
        arrivals = _counts("arrivals", self.arrivals)
        if arrivals.ndim != 2 or arrivals.shape[1] != size or not len(arrivals):
            raise ProblemError(
                f"history.arrivals: expected (steps, {size} partitions) with at least one step, "
                f"got {arrivals.shape}"
            )
        start = _counts("start_lags", self.start_lags)
        if start.shape != (size,):
            raise ProblemError(f"history.start_lags: expected ({size} partitions,), got {start.shape}")
        _refuse_too_many(float(arrivals.sum(dtype=np.float64)) + float(start.sum(dtype=np.float64)))
        object.__setattr__(self, "arrivals", arrivals)
        object.__setattr__(self, "start_lags", start)
        if self.pace is not None:
            pace = np.asarray(self.pace, np.float64)
            if pace.shape != (len(arrivals),):
                raise ProblemError(f"history.pace: expected ({len(arrivals)} steps,), got {pace.shape}")
            if not (np.isfinite(pace) & (pace > 0)).all():
                raise ProblemError("history.pace: a value is not a number above 0")
            object.__setattr__(self, "pace", pace)
        if self.expected is not None:
            self._check_expected(self.expected, arrivals.shape)

    def _check_expected(self, given: Levels, shape: tuple[int, ...]) -> None:
        expected = np.asarray(given, np.float64)
        if expected.shape != shape:
            raise ProblemError(f"history.expected: expected {shape} as arrivals have, got {expected.shape}")
        if (expected < 0).any() or np.isinf(expected).any():
            raise ProblemError("history.expected: a forecast is negative or infinite")
        if self.horizon_s is None:
            raise ProblemError("history.horizon_s: missing, but there are forecasts")
        _above_0("horizon_s", self.horizon_s)
        object.__setattr__(self, "expected", expected)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.arrivals)

    @property
    def partitions(self) -> int:
        """Number of partitions of all topics."""
        return len(self.start_lags)

    @property
    def length_s(self) -> float:
        """Seconds from the start of the first step to the end of the last one."""
        return self.steps * self.step_s

    @cached_property
    def records(self) -> int:
        """All records, the lag at the start included."""
        return int(self.arrivals.sum() + self.start_lags.sum())

    def pace_at(self, step: int) -> float:
        """Return the pace of members in a step, which may be after the history."""
        return 1.0 if self.pace is None or step >= self.steps else float(self.pace[step])

    def forecast_at(self, now: float, delay_s: float) -> KnownForecast | None:
        """Return the newest forecast known at a time.

        Args:
            now: seconds since the start.  After the end of the history the last forecast ages.
            delay_s: a forecast is known this many seconds after the end of its step.

        Returns:
            None if no forecast is known yet, or the horizon of the newest one is over.
        """
        if self.expected is None or self.horizon_s is None:
            return None
        ended_steps = min(math.floor((now - delay_s) / self.step_s + _ROUNDING), self.steps)
        left = 1 - (now - ended_steps * self.step_s) / self.horizon_s
        if ended_steps <= 0 or left <= 0:
            return None
        return KnownForecast(ended_steps - 1, self.expected[ended_steps - 1], left)

    def scaled(self, factor: float) -> History:
        """Multiply all counts by a factor.  Rounding errors of arrivals do not add up over the steps.

        Raises:
            ProblemError: the factor is not above 0, or there are too many records.
        """
        _above_0("scaled", factor)
        _refuse_too_many(self.records * factor)  # before they overflow int64
        scaled = np.rint(np.cumsum(self.arrivals, axis=0) * factor)
        return replace(
            self,
            arrivals=np.diff(scaled.astype(np.int64), axis=0, prepend=0),
            start_lags=np.rint(self.start_lags * factor).astype(np.int64),
            expected=None if self.expected is None else self.expected * factor,
        )


def _refuse_too_many(records: float) -> None:
    if records > _MOST:
        raise ProblemError(f"history.arrivals: more than {_MOST:,} records in all")


def _above_0(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ProblemError(f"history.{name}: {value!r} is not a number above 0")


def _counts(name: str, given: Counts) -> Counts:
    """Check that an array has whole numbers, 0 or more, and return it as int64."""
    array = np.asarray(given)
    if array.dtype.kind not in "iu":
        raise ProblemError(f"history.{name}: expected whole numbers, got {array.dtype}")
    if array.size and int(array.max()) > _MOST:  # before the cast, because uint64 may be more than int64
        raise ProblemError(f"history.{name}: more than {_MOST:,} records in all")
    if array.size and int(array.min()) < 0:
        raise ProblemError(f"history.{name}: a number of records is negative")
    return array.astype(np.int64, copy=False)
