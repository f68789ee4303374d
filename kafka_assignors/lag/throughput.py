"""Arrival rates of partitions, measured from their end offsets and smoothed.  No I/O."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.plan import TopicPartition

_FRESH_S = 120.0
"""Seconds for which a member's own rate, once it counts, takes precedence over one that another reports."""

_KEPT_S = 3600.0
"""A measurement drops rates that are older than this many seconds."""

_LATE_S = 10.0
"""A lower end offset within this many seconds is a late answer, because two fetches may run at once."""

_LEAST_PART = 1 / 15
"""A rate counts once it was measured for this part of the window: one record in 50 ms is not 20/s."""


@dataclass(frozen=True, slots=True)
class _Rate:
    """The rate of a partition."""

    rate: float  # records a second; 0 without a measurement
    measured_s: float  # seconds for which it was measured; the window, if another member reported it
    end: int | None  # end offset at ``at_s``; None: another member reported the rate
    at_s: float  # when it was measured or reported, seconds
    is_own: bool = False  # whether this member has measured any part of it

    def after(self, end: int, at_s: float, window_s: float) -> _Rate:
        """Return the rate after one more measurement."""
        seconds = at_s - self.at_s
        if self.end is None:
            return replace(self, end=end, at_s=at_s)
        if end < self.end:  # a late answer, or the topic was created again
            return self if seconds < _LATE_S else _Rate(0.0, 0.0, end, at_s)
        if seconds <= 0:
            return self
        weight = min(self.measured_s, window_s)
        rate = (self.rate * weight + end - self.end) / (weight + seconds)
        return _Rate(rate, self.measured_s + seconds, end, at_s, is_own=True)


class Throughput:
    """Keeps the arrival rates of partitions, and expects the same to arrive.  Any thread may call it.

    It is the ``LoadSource`` of ``load_source="throughput"``.

    Args:
        window_s: earlier measurements weigh no more than this many seconds of new ones.  Use an hour to
            predict the arrivals of an hour, because the few records of a shorter time vary by chance.  A rate
            counts once it was measured for a fifteenth of the window, or reported by another member.  The
            window is also the horizon of the forecasts.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._rates: dict[TopicPartition, _Rate] = {}
        self._lock = threading.Lock()

    def measure(self, ends: Mapping[TopicPartition, int], at_s: float) -> None:
        """Take the end offsets of partitions.

        Args:
            ends: offset of the next record to be written.
            at_s: seconds, on a clock that never goes back.
        """
        with self._lock:
            for partition, end in ends.items():
                known = self._rates.get(partition)
                first = _Rate(0.0, 0.0, end, at_s)
                self._rates[partition] = first if known is None else known.after(end, at_s, self._window_s)
            since = at_s - _KEPT_S
            self._rates = {partition: rate for partition, rate in self._rates.items() if rate.at_s > since}

    def learn(self, rates: Mapping[TopicPartition, float], at_s: float) -> None:
        """Take another member's rates, records a second, unless an own rate counts and is fresh."""
        with self._lock:
            for partition, rate in rates.items():
                known = self._rates.get(partition)
                is_own = known is not None and known.is_own and self._is_known(known)
                if known is None or not is_own or known.at_s < at_s - _FRESH_S:
                    self._rates[partition] = _Rate(rate, self._window_s, None, at_s)

    def rates(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, float]:
        """Return the known rates of partitions, records a second."""
        with self._lock:
            known = ((partition, self._rates.get(partition)) for partition in partitions)
            return {p: rate.rate for p, rate in known if rate is not None and self._is_known(rate)}

    def begin(self) -> None:
        """Do nothing: members measure once they own partitions."""

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """Return the records that each partition with a known rate receives within the window."""
        rates = self.rates(partitions)
        return Expected(
            {partition: rate * self._window_s for partition, rate in rates.items()},
            problem="" if len(rates) == len(partitions) else "arrivals have not been measured yet",
            is_logged=True,
            period_s=self._window_s,
        )

    def close(self) -> None:
        """Do nothing: there is no thread."""

    def _is_known(self, rate: _Rate) -> bool:
        return rate.measured_s >= _LEAST_PART * self._window_s
