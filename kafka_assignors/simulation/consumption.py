"""The records of one simulation: arrived and read so far."""

from __future__ import annotations

import numpy as np

from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.serving import NOTHING, Interval, Readers, by_reader, records_read, when_empty

_LEAST_S = 0.5
"""Minimum length, seconds, of an interval that ends because a partition runs empty."""


class Consumption:
    """Counts arrived and read records as time advances.  `Readers` name the member that reads each partition.

    ``rates`` are by member, records/s in a step of pace 1 (`History.pace`); the last one, 0, stands for no
    reader.

    Attributes:
        now: seconds since the start.
        step: the current step.
        arrived: by partition, records arrived since the start, the lag at the start included.
        arriving: by partition, arrivals in the current step, records/s.
        read: by partition, records read since the start.
    """

    def __init__(self, history: History, rates: Levels) -> None:
        self._history = history
        self._rates, self._members = rates, len(rates) - 1
        self._rate = rates * history.pace_at(0)
        self.now = 0.0
        self.step = 0
        self.arrived = history.start_lags.astype(np.float64)
        self.arriving: Levels = history.arrivals[0] / history.step_s
        self.read = np.zeros(history.partitions)

    @property
    def boundary(self) -> float:
        """End of the current step, seconds."""
        return (self.step + 1) * self._history.step_s

    @property
    def history_ended(self) -> bool:
        """Whether the history has ended, so no more records arrive."""
        return self.step >= self._history.steps

    def lag(self) -> Levels:
        """Return the lag by partition, records."""
        return np.maximum(self.arrived - self.read, 0.0)

    def lag_by_owner(self, owner: Counts) -> Levels:
        """Return the lag by owner, records; the last is that of partitions without an owner."""
        return by_reader(np.where(owner < 0, self._members, owner), self.lag(), self._members)

    def interval(self, length: float, reader: Readers) -> Interval:
        """Return the interval of ``length`` seconds from now, with these readers."""
        return Interval(
            start=self.now,
            length=length,
            lag=by_reader(reader, self.lag(), self._members),
            arriving=by_reader(reader, self.arriving, self._members),
            rate=self._rate,
        )

    def empty_at(self, reader: Readers) -> float:
        """Return when the lag of all partitions is 0, seconds since the start, at the current rates.

        Infinite if some lag has no reader or never falls to 0, or if the lag is 0 now.
        """
        interval = self.interval(0.0, reader)
        if interval.lag.sum() <= NOTHING:
            return np.inf
        empty_at = self.now + float(when_empty(interval.lag, interval.arriving, interval.rate).max())
        # Advance by at least one float, because a tiny remaining time may vanish in the sum.
        return max(empty_at, float(np.nextafter(self.now, np.inf)))

    def next_empty(self, reader: Readers) -> float:
        """Return when the next partition with lag runs empty, seconds since the start, at the current rates.

        Infinite if none will.  The time is at least ``_LEAST_S`` from now.
        """
        lag = self.lag()
        is_behind = lag > NOTHING
        if not is_behind.any():
            return np.inf
        read = records_read(np.where(is_behind, self._rate[reader], self.arriving), reader, self._rate[:-1])
        soonest = float(when_empty(lag[is_behind], self.arriving[is_behind], read[is_behind]).min())
        return self.now + max(soonest, _LEAST_S)

    def capacity(self, member: int) -> float:
        """Return the records/s that a member can read now."""
        return float(self._rate[member])

    def advance(self, until: float, reader: Readers) -> None:
        """Advance to a time within the step, with these readers."""
        length = until - self.now
        arrived = self.arrived + self.arriving * length
        demand = np.maximum(arrived - self.read, 0.0)
        # Computed in this order, `read` is exactly `arrived` where all was read.
        self.read = arrived - (demand - records_read(demand, reader, self._rate[:-1] * length))
        self.arrived, self.now = arrived, until

    def next_step(self) -> None:
        """Start the next step."""
        history = self._history
        self.step += 1
        if self.step == history.steps:
            # Compute the sum again exactly, because records lost to rounding would never be read.
            self.arrived = (history.start_lags + history.arrivals.sum(axis=0)).astype(np.float64)
        self._rate = self._rates * history.pace_at(self.step)
        self.arriving = (
            np.zeros(history.partitions)
            if self.history_ended
            else history.arrivals[self.step] / history.step_s
        )
