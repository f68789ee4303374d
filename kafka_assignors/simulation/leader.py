"""The leader: the lag it plans with, and the rebalances it requests on uneven lag."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from kafka_assignors.plan import NO_MEMBER, Group
from kafka_assignors.plan.arrays import Mask
from kafka_assignors.plan.load.expected import in_whole_records, is_enough
from kafka_assignors.plan.load.skew import SkewWatch
from kafka_assignors.simulation.churn import client_id
from kafka_assignors.simulation.group import GroupModel
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.scenario import Scenario


class KnownLag:
    """The lag of each partition as the leader knows it in a round, by the rules of ``assignor.lag``.

    Times are seconds since the start, and lag is in records.

    A member fetches the lag of its partitions when it gets them, and every ``refresh_s`` after that.  It
    reports the last answer when it joins.  The leader fetches the lag that no member reports, and keeps the
    answers for ``refresh_s``.  The leader's answers take precedence over reports.
    """

    def __init__(self, size: int, refresh_s: float) -> None:
        self._refresh_s = refresh_s
        self._past: deque[tuple[float, Levels]] = deque()  # time, and real lag by partition
        self._assigned_at = 0.0
        self._is_reported = np.zeros(size, np.bool_)
        self._fetched = np.zeros(size)
        self._fetched_at = np.full(size, -np.inf)
        self._leader = NO_MEMBER

    def record(self, now: float, lag: Levels) -> None:
        """Record the current real lag.  Between two calls the lag is interpolated."""
        self._past.append((now, lag))
        while len(self._past) > 2 and self._past[1][0] <= now - self._refresh_s:
            self._past.popleft()

    def assigned(self, now: float, owners: Counts) -> None:
        """End a round: each member fetches the lag of its partitions."""
        self._assigned_at = now
        self._is_reported = owners != NO_MEMBER

    def removed(self, partitions: Mask) -> None:
        """Drop the reports for the partitions of a removed member."""
        self._is_reported = self._is_reported & ~partitions

    def leader_fetched(self, now: float, lag: Levels, leader: int) -> None:
        """Record that the leader fetched the lag of all partitions."""
        self._leader = leader
        self._fetched, self._fetched_at = lag.copy(), np.full(len(lag), now)

    def lag(self, now: float, lag: Levels, leader: int) -> Levels:
        """Return the lag that the leader plans with; ``lag`` is the real lag, by partition."""
        if leader != self._leader:
            self._leader, self._fetched_at = leader, np.full(len(lag), -np.inf)
        is_recent = self._fetched_at > now - self._refresh_s
        to_fetch = ~(is_recent | self._is_reported)
        known = np.where(is_recent, self._fetched, np.where(self._is_reported, self._report(now, lag), lag))
        self._fetched = np.where(to_fetch, lag, self._fetched)
        self._fetched_at = np.where(to_fetch, now, self._fetched_at)
        return known

    def _report(self, now: float, lag: Levels) -> Levels:
        """Return the real lag at the time of the members' last fetch, interpolated."""
        fetches = np.floor((now - self._assigned_at) / self._refresh_s)
        fetched_at = self._assigned_at + fetches * self._refresh_s
        later, later_lag = now, lag
        for earlier, earlier_lag in reversed(self._past):
            if earlier <= fetched_at:
                part = (fetched_at - earlier) / (later - earlier) if later > earlier else 0.0
                return earlier_lag + part * (later_lag - earlier_lag)
            later, later_lag = earlier, earlier_lag
        return later_lag


def expected_arrivals(topics: Mapping[str, int], expected: Levels) -> Counts:
    """Return the records that forecasts add to the lag of each partition, by the rules of ``with_expected``.

    Args:
        topics: topic -> number of partitions.
        expected: forecast arrivals by partition, records; NaN without a forecast.

    Returns:
        Records by partition; all 0 if fewer than half of the partitions have a forecast.
    """
    if not is_enough(int((~np.isnan(expected)).sum()), len(expected)):
        return np.zeros(len(expected), np.int64)
    return in_whole_records(expected, Group((), topics).topic_of)


class Leader:
    """Knows the lag, and requests rebalances by the rules of the real ``SkewWatcher``.

    It requests none in a scenario without a ``skew``.  Times are seconds since the start, lag is in records.

    Attributes:
        known_lag: the lag the leader plans with; strategies that plan by counts ignore it.
    """

    def __init__(self, history: History, scenario: Scenario, group: GroupModel, names: Sequence[str]) -> None:
        self._history, self._scenario, self._group, self._names = history, scenario, group, names
        self.known_lag = KnownLag(history.partitions, scenario.strategy.lag_refresh_s)
        self._expected: tuple[int, Counts] | None = None  # step, and arrivals forecast at its end
        # By member, because a member that leads again remembers its requests.
        self._watches: dict[int, SkewWatch] = {}

    def load(self, now: float, lag: Levels) -> Counts:
        """Return the load to plan with: the known lag, and forecast arrivals if the strategy uses them."""
        return self._with_expected(now, self.known_lag.lag(now, lag, self._group.leader))

    def first_check(self, now: float) -> float | None:
        """Start the cool-down after a rebalance; return when to check for uneven lag first, None if never."""
        if self._scenario.skew is None:
            return None
        leader = self._group.leader
        if leader not in self._watches:
            self._watches[leader] = SkewWatch(
                self._scenario.skew, client_id(self._names[leader]), self._scenario.strategy.min_improvement
            )
        watch = self._watches[leader]
        watch.begin_cool_down(now)
        return now + watch.check_s

    def next_check(self, now: float) -> float:
        """Return the time of the next check."""
        return now + self._watches[self._group.leader].check_s

    def request_if_uneven(self, now: float, lag: Levels) -> bool:
        """Fetch the lag and request a rebalance if one pays; return whether the leader requested one.

        Args:
            now: seconds.
            lag: by partition, the real lag.
        """
        leader = self._group.leader
        self.known_lag.leader_fetched(now, lag, leader)
        load, watch = self._with_expected(now, lag), self._watches[leader]
        largest, least = self._group.imbalance(load, watch.is_uneven)
        if watch.load_after_rebalance(now, largest, least, lambda: self._group.planned_load(load)) is None:
            return False
        watch.record_request(now)
        return True

    def _with_expected(self, now: float, lag: Levels) -> Counts:
        load = np.rint(lag).astype(np.int64)
        if not self._scenario.strategy.by_load:
            return load
        known = self._history.forecast_at(now, self._scenario.forecast_delay_s)
        if known is None:
            return load
        if self._expected is None or self._expected[0] != known.step:
            self._expected = known.step, expected_arrivals(self._history.topics, known.arrivals)
        # Records that have arrived since the forecast are part of the lag already.
        ahead: Counts = np.rint(self._expected[1] * known.left).astype(np.int64)
        return load + ahead
