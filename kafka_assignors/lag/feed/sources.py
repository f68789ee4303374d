"""Sources of forecasts: a feed, or a user's function."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from kafka_assignors.background import Background
from kafka_assignors.lag.sources import FunctionLag, Lags, one_line
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire.load_feed import Forecast

log = logging.getLogger("kafka_assignors")

_LEAST_REFRESH_S = 0.05
_END_S = 1.0
"""Seconds that ``close`` waits for the thread, because a user's function may not end."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Forecasts for a set of partitions, over the same period for all of them."""

    arrivals: Mapping[TopicPartition, float] = field(default_factory=dict)  # records expected to arrive
    lags: Lags = field(default_factory=dict)  # records left to read when the forecast was made
    problem: str = ""  # why some forecasts are missing, as a line for the user; empty if none is missing
    is_logged: bool = False  # the problem needs no warning, because it is logged already, or passes soon
    period_s: float = 0.0  # length of the period, seconds; 0: unknown
    age_s: float = 0.0  # age of the oldest forecast, seconds; 0: unknown


class LoadSource(Protocol):
    """A source of forecasts."""

    def begin(self) -> None:
        """Start fetching forecasts; called at every join, on the consumer's I/O thread."""

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """Return forecasts without waiting: the consumer's I/O thread calls it.  May raise any exception."""

    def close(self) -> None:
        """End all threads."""


class PolledLoad:
    """Polls a user's function on a daemon thread, and keeps its last answer.

    Polling starts with the first requested partitions and ends with ``close``.  Callers never wait for the
    function.

    Args:
        function: takes partitions and returns the expected records of each partition that it knows.
        refresh_s: seconds from one answer to the next call.
        max_age_s: older answers are ignored.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(
        self,
        function: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]],
        refresh_s: float,
        max_age_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = FunctionLag(function, "load_source", whole=False)
        self._refresh_s = max(refresh_s, _LEAST_REFRESH_S)
        self._max_age_s = max_age_s
        self._now = now
        self._thread = Background("kafka-assignors-load", now)
        self._process = os.getpid()
        self._closed = False
        self._wanted: frozenset[TopicPartition] = frozenset()
        # One thread writes the attributes below, others read them.
        self._called_at: float | None = None  # None: no call is under way
        self._answer: tuple[Lags, float] | None = None
        self._problem = ""

    # --- any thread ---

    def begin(self) -> None:
        """Resume polling in a forked process, which has no thread of its own."""
        if not self._closed and self._process != os.getpid():
            self._process, self._called_at = os.getpid(), None
            self._thread = Background("kafka-assignors-load", self._now)
            if self._wanted:
                self._start(self._wanted)

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """Return the last answer.  New partitions start a call, after the running one if any."""
        if not self._closed and not self._wanted.issuperset(partitions):
            self._start(frozenset(partitions))
        now, answer, called_at = self._now(), self._answer, self._called_at
        problem = self._problem
        if called_at is not None and now - called_at > self._refresh_s:
            problem = f"load_source has not answered for {now - called_at:,.0f} s"
        if answer is None:
            return Expected(problem=problem or "load_source has not answered yet", is_logged=not problem)
        arrivals, answered_at = answer
        if now - answered_at > self._max_age_s:
            return Expected(
                problem=problem or f"the last answer of load_source is {now - answered_at:,.0f} s old"
            )
        known = {partition: float(arrivals[partition]) for partition in partitions if partition in arrivals}
        is_pending = not problem and len(known) < len(partitions)  # an answer that lacks some is a problem
        if is_pending:
            new = len(partitions) - len(known)
            problem = f"load_source has not answered yet for {new:,} new partition{'s' * (new != 1)}"
        return Expected(known, problem=problem, is_logged=is_pending)

    def close(self) -> None:
        """End the thread; wait up to a second for the function."""
        self._closed = True
        if self._process != os.getpid():
            return
        self._thread.stop()
        if not self._thread.join(_END_S):
            log.warning("load_source has not ended within %g s of close()", _END_S)

    def _start(self, wanted: frozenset[TopicPartition]) -> None:
        """Start polling for these partitions, instead of others."""
        self._wanted = wanted
        try:
            self._thread.submit(partial(self._poll, wanted))
        except RuntimeError:  # the thread cannot start, so the next ``look`` tries again
            self._wanted = frozenset()
            raise

    # --- its own thread ---

    def _poll(self, partitions: frozenset[TopicPartition]) -> None:
        if partitions is not self._wanted:
            return  # a newer job polls for other partitions
        self._called_at = self._now()
        try:
            answer = self._source.lags(sorted(partitions), self._refresh_s)
        except BaseException as error:  # the last answer is valid until it is too old
            self._problem = one_line(error)
            log.debug("load_source: %s", self._problem)
        else:
            self._answer, self._problem = (answer.lags, self._now()), answer.problem
        self._called_at = None
        self._thread.submit(partial(self._poll, partitions), self._refresh_s)


def expected_of(
    forecasts: Mapping[TopicPartition, Forecast], now_ms: float
) -> tuple[dict[TopicPartition, float], dict[TopicPartition, int]]:
    """Return the arrivals that forecasts expect, and the lags in the forecasts, in records.

    All arrivals are for one period: from now to the end of the newest forecast (of several equally new ones,
    the longest).  Each forecast's arrivals are scaled to this period.  Records that have arrived since a
    forecast was made do not count, because they are part of the lag.
    """
    left_ms = period_ms(forecasts, now_ms)
    arrivals = {
        partition: forecast.arrivals * (left_ms / forecast.horizon_ms)
        for partition, forecast in forecasts.items()
    }
    lags = {
        partition: round(forecast.lag)
        for partition, forecast in forecasts.items()
        if forecast.lag is not None
    }
    return arrivals, lags


def period_ms(forecasts: Mapping[TopicPartition, Forecast], now_ms: float) -> float:
    """Return the milliseconds from now to the end of the newest forecast; 0 without forecasts.

    For a forecast whose time is in the future, return its horizon.
    """
    time_ms, horizon_ms = max(((f.time_ms, f.horizon_ms) for f in forecasts.values()), default=(0, 0))
    return max(horizon_ms - max(now_ms - time_ms, 0.0), 0.0)
