"""The records of one simulation: what has come, what was read, and how that goes on."""

from __future__ import annotations

import numpy as np

from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.interval import NOTHING, Interval
from kafka_assignors.simulation.serving import Slots, by_reader, shared, when_empty

__all__ = ["Work"]

_APART_S = 0.5
"""Partitions that run empty in less time than that do so at once, in the eyes of who looks at each."""


class Work:
    """Arrivals and reading from one moment to the next; who reads what is for others to say.

    Args:
        history: what arrives.
        rates: of each member, records/s at the usual pace; and at last 0, of nobody.
    """

    def __init__(self, history: History, rates: Levels) -> None:
        self._history = history
        self._rates = rates
        self._rate = rates * history.pace_at(0)
        self.now = 0.0
        self.step = 0
        self.arrived = history.start_lags.astype(np.float64)
        self.arriving: Levels = history.arrivals[0] / history.step_s
        self.read = np.zeros(history.partitions)

    @property
    def boundary(self) -> float:
        """When the step ends, seconds."""
        return (self.step + 1) * self._history.step_s

    @property
    def over(self) -> bool:
        """Whether the history has ended, and nothing comes any more."""
        return self.step >= self._history.steps

    def lag(self) -> Levels:
        """By partition."""
        return np.maximum(self.arrived - self.read, 0.0)

    def owned(self, owner: Counts) -> Levels:
        """The lag of what each member owns; and at last of what nobody does."""
        members = len(self._rates) - 1
        return by_reader(np.where(owner < 0, members, owner), self.lag(), members)

    def interval(self, length: float, reader: Slots) -> Interval:
        """So many seconds from now on, in which these read."""
        members = len(self._rates) - 1
        return Interval(
            start=self.now,
            length=length,
            lag=by_reader(reader, self.lag(), members),
            arriving=by_reader(reader, self.arriving, members),
            rate=self._rate,
        )

    def empty_at(self, reader: Slots) -> float:
        """When nothing is left, if nothing comes any more; infinite where something has no reader, or now."""
        interval = self.interval(0.0, reader)
        if interval.lag.sum() <= NOTHING:
            return np.inf
        found = self.now + float(when_empty(interval.lag, interval.arriving, interval.rate).max())
        # So little may be left that adding its time changes nothing, and time would stand still.
        return max(found, float(np.nextafter(self.now, np.inf)))

    def next_empty(self, reader: Slots) -> float:
        """When a partition that has some lag has none, in this step; infinite where none will.

        Until then each is read evenly.  It is never sooner than `_APART_S`.
        """
        lag = self.lag()
        behind = lag > NOTHING
        if not behind.any():
            return np.inf
        read = shared(np.where(behind, self._rate[reader], self.arriving), reader, self._rate[:-1])
        soonest = float(when_empty(lag[behind], self.arriving[behind], read[behind]).min())
        return self.now + max(soonest, _APART_S)

    def capacity(self, member: int) -> float:
        """Records/s that it can read now."""
        return float(self._rate[member])

    def go_on(self, until: float, reader: Slots) -> None:
        """These read until then, within the step."""
        length = until - self.now
        arrived = self.arrived + self.arriving * length
        demand = np.maximum(arrived - self.read, 0.0)
        self.read = arrived - (demand - shared(demand, reader, self._rate[:-1] * length))
        self.arrived, self.now = arrived, until

    def next_step(self) -> None:
        """The step has ended."""
        history = self._history
        self.step += 1
        if self.step == history.steps:
            # Whole records again: what floats lost on the way would be left for ever.
            self.arrived = (history.start_lags + history.arrivals.sum(axis=0)).astype(np.float64)
        self._rate = self._rates * history.pace_at(self.step)
        there = self.step < history.steps
        self.arriving = (
            history.arrivals[self.step] / history.step_s if there else np.zeros(history.partitions)
        )
