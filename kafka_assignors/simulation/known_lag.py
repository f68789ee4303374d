"""What the leader is told of lag: not what it is, but what members last saw of it.

As ``adapter.LagAssignor`` does it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan import NOBODY, Group, enough_expected, with_expected
from kafka_assignors.simulation.history import Counts, Levels

__all__ = ["Told", "foreseen"]


class Told:
    """The lag that counts in a round, by partition.

    A member looks at what it owns when it gets it and every so many seconds after that, and reports the last
    look when it joins.  The leader asks for what nobody reports, and remembers the answers for as long; what
    it saw itself counts before what others report.

    Args:
        size: partitions.
        refresh_s: seconds between two looks.
    """

    def __init__(self, size: int, refresh_s: float) -> None:
        self._refresh_s = refresh_s
        self._past: deque[tuple[float, Levels]] = deque()
        self._since = 0.0  # the last assignment
        self._reported = np.zeros(size, np.bool_)
        self._seen = np.zeros(size)
        self._seen_at = np.full(size, -np.inf)
        self._leader = NOBODY

    def passed(self, now: float, lag: Levels) -> None:
        """It is so much now; in between it changed evenly."""
        self._past.append((now, lag))
        while len(self._past) > 2 and self._past[1][0] <= now - self._refresh_s:
            self._past.popleft()

    def assigned(self, now: float, owners: Counts) -> None:
        """A round has ended: everybody looks at what it owns now."""
        self._since = now
        self._reported = owners != NOBODY

    def gone(self, partitions: npt.NDArray[np.bool_]) -> None:
        """Who owned these is not in the group any more, and reports nothing."""
        self._reported = self._reported & ~partitions

    def looked(self, now: float, lag: Levels, leader: int) -> None:
        """The leader has looked at everything."""
        self._leader = leader
        self._seen, self._seen_at = lag.copy(), np.full(len(lag), now)

    def lag(self, now: float, lag: Levels, leader: int) -> Levels:
        """What is known in a round now, when it is really ``lag``."""
        if leader != self._leader:
            self._leader, self._seen_at = leader, np.full(len(lag), -np.inf)
        recent = self._seen_at > now - self._refresh_s
        asked = ~(recent | self._reported)
        known = np.where(recent, self._seen, np.where(self._reported, self._report(now, lag), lag))
        self._seen = np.where(asked, lag, self._seen)
        self._seen_at = np.where(asked, now, self._seen_at)
        return known

    def _report(self, now: float, lag: Levels) -> Levels:
        """What it was at the last look."""
        looks = np.floor((now - self._since) / self._refresh_s)
        at = self._since + looks * self._refresh_s
        after = now, lag
        for then, there in reversed(self._past):
            if then <= at:
                part = (at - then) / (after[0] - then) if after[0] > then else 0.0
                return there + part * (after[1] - there)
            after = then, there
        return after[1]


def foreseen(topics: Mapping[str, int], expected: Levels) -> Counts:
    """What forecasts add to the lag of each partition, as the feed's reader has it.

    Args:
        topics: topic -> partitions.
        expected: to arrive, by partition; NaN where there is no forecast.

    Returns:
        Records by partition; 0 for all, where there are forecasts for less than half of the partitions.
    """
    group = Group((), topics, lags={topic: [0] * count for topic, count in topics.items()})
    known = np.flatnonzero(~np.isnan(expected))
    arrivals = {group.at(partition): float(expected[partition]) for partition in known.tolist()}
    return with_expected(group, arrivals, {}).lag if enough_expected(group, arrivals) else group.lag
