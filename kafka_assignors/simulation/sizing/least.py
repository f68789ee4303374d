"""The least number of members that keeps the time lag within a target, and why fewer do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafka_assignors.plan import Group
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.sizing.target import NEAR, Limits, Target, limits, required_limits
from kafka_assignors.simulation.sizing.trials import SizeTrials

_MOST_ONE_BY_ONE = 64
"""The search tries this many sizes one by one, from the lower bound on.  Then it takes larger strides, and
bisects the last one.  So it may miss a smaller size if a planner's loads do not fall with each new member."""

TOLERANCE = 1.05
"""The present plan and the largest size may have this many times the allowed time lag."""


@dataclass(frozen=True, slots=True)
class LatePartition:
    """The partition that is most above its limit, and its member: why a size is too small.

    Attributes:
        members: number of members tried.
        topic: topic of the partition.
        partition: its number.
        time_lag_s: its largest time lag, seconds.
        arriving: records/s of the partition, with its present lag spread over the time tried.
        member_partitions: number of partitions of its member.
        member_arriving: records/s of its member's partitions, in the same way.
        rate: records/s that its member reads in this trial.
    """

    members: int
    topic: str
    partition: int
    time_lag_s: float
    arriving: float
    member_partitions: int
    member_arriving: float
    rate: float

    @property
    def is_mostly_one_partition(self) -> bool:
        """Whether the partition alone is more than half of its member's load."""
        return 2 * self.arriving > self.member_arriving


@dataclass(frozen=True, slots=True)
class Least:
    """A least number of members.

    Attributes:
        members: the number.
        reason: why one member fewer is not enough; None: no smaller size is allowed.
        missed: the partition whose records wait too long with any number of members, because of the strategy.
            None: the size holds the target.
    """

    members: int
    reason: LatePartition | None
    missed: LatePartition | None = None


class Search:
    """Searches the least size of one group.

    Args:
        trials: tries sizes of the group.
        target: the time lag to hold.
    """

    def __init__(self, trials: SizeTrials, target: Target) -> None:
        self._trials, self._target = trials, target

    def least(self, history: History, rate: float, most: int | None = None, at_least: int = 1) -> Least:
        """Return the least size that holds the target in a history.

        Args:
            history: the arrivals.
            rate: records/s of the fastest member (``usable_rate``).
            most: a size that counts as holding the target without a trial.  None: the number of partitions,
                beyond which members are idle.  If not even that size holds the target, because of the
                strategy, the result is the least size that is about as good as that one.
            at_least: no smaller size is tried.
        """
        wanted = required_limits(history, rate, self._target)
        largest = max(history.partitions, at_least) if most is None else most
        members = self._search(history, wanted, largest, at_least)
        reachable = wanted
        if most is None and members == largest:
            reachable = tuple(self._reachable(history, limit, largest) for limit in wanted)
            if reachable != wanted:
                members = self._search(history, reachable, largest, at_least)
        return Least(
            members,
            self._late_partition(history, reachable, members - 1) if members > at_least else None,
            None if reachable == wanted else self._late_partition(history, wanted, members),
        )

    def old_plan(self, history: History, rate: float) -> LatePartition | None:
        """Return the partition that waits too long with its present owner, at rates without headroom.

        Args:
            history: the arrivals.
            rate: records/s of the fastest member (``usable_rate``).

        Returns:
            None: there is none; or the owners are unknown, so the next rebalance plans them; or a new plan of
            the present size would not hold the target either.
        """
        present, owners = self._trials.present, self._trials.present_owners
        if present is None or owners is None:
            return None
        wanted = required_limits(history, rate, self._target)
        if self._trials.lower_bound(wanted[0], present + 1) > present:
            return None  # without the simulation, which takes long for a group far behind
        limit = limits(history, rate / (1 - self._target.headroom), self._target)
        time_lags = self._trials.time_lags(limit.counted, owners, limit.rate, present)
        if (time_lags <= TOLERANCE * limit.allowed).all():
            return None
        if not self._trials.holds(history, wanted, present):
            return None
        return self._latest_partition(history, owners, limit, present)

    def _reachable(self, history: History, limit: Limits, most: int) -> Limits:
        """Return the limits, relaxed where not even the largest size keeps them."""
        time_lags: Levels = np.max(
            [
                self._trials.time_lags(limit.counted, owners, limit.rate, most)
                for owners in self._trials.planned(history, most)
            ],
            axis=0,
        )
        is_late = time_lags > TOLERANCE * limit.allowed
        if not is_late.any():
            return limit
        return replace(limit, allowed=np.where(is_late, time_lags * NEAR, limit.allowed))

    def _search(self, history: History, wanted: Sequence[Limits], most: int, at_least: int) -> int:
        """Return the least size that keeps the limits; ``most`` is not tried."""
        low = members = max(self._trials.lower_bound(wanted[0], most), at_least)
        failed = low - 1
        while members < most and not self._trials.holds(history, wanted, members):
            failed = members
            stride = 1 if members - low < _MOST_ONE_BY_ONE else members // 16
            members = min(members + stride, most)
        while members - failed > 1:
            middle = (failed + members) // 2
            if self._trials.holds(history, wanted, middle):
                members = middle
            else:
                failed = middle
        return members

    def _late_partition(self, history: History, wanted: Sequence[Limits], members: int) -> LatePartition:
        """Return the partition that makes a size too small, and its member."""
        trials = [(owners, limit) for owners in self._trials.planned(history, members) for limit in wanted]
        # Take the first trial that fails.  If all others pass, the last one fails, so it is not simulated.
        owners, limit = next(
            (trial for trial in trials[:-1] if not self._trials.is_within(*trial, members)), trials[-1]
        )
        return self._latest_partition(history, owners, limit, members)

    def _latest_partition(
        self, history: History, owners: Counts, limit: Limits, members: int
    ) -> LatePartition:
        """Return the partition that is most above its limit with these owners."""
        time_lags = counted_time_lags = self._trials.time_lags(limit.counted, owners, limit.rate, members)
        if limit.hot.any():  # report the time lag of all records, also of those that the limit does not count
            time_lags = self._trials.time_lags(history, owners, limit.rate, members)
        load = (history.start_lags + history.arrivals.sum(axis=0)) / history.length_s
        # If partitions are equally far above their limits, take the one with the largest load.
        worst = int(np.lexsort((load, np.round(counted_time_lags / limit.allowed, 3)))[-1])
        has_same_owner = owners == owners[worst]
        place = Group((), history.topics).at(worst)
        return LatePartition(
            members=members,
            topic=place.topic,
            partition=place.partition,
            time_lag_s=float(time_lags[worst]),
            arriving=float(load[worst]),
            member_partitions=int(has_same_owner.sum()),
            member_arriving=float(load[has_same_owner].sum()),
            rate=float(self._trials.rates(limit, members)[owners[worst]]),
        )
