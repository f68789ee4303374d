"""The least number of members that keeps the time lag within a target, by trying sizes in the simulation.

A size is a number of members.  It is tried with a settled group: the strategy has planned it from the present
owners, and it keeps that plan.  The cost of the rebalance is another figure (``sizing``).

Members may have unequal capacities.  A newcomer has the median of the present ones.  A smaller size is tried
with the slowest of the present members, because any members may leave.  Plans break ties by member ids, which
newcomers do not have yet.  So a size of unequal members is tried twice: with ascending and descending ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafka_assignors.plan import Group
from kafka_assignors.plan.capacity import median_ratio
from kafka_assignors.simulation.churn import client_id, first_members
from kafka_assignors.simulation.group import GroupModel
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.scenario import Scenario, Strategy
from kafka_assignors.simulation.simulate import simulate
from kafka_assignors.simulation.sizing.target import (
    NEAR,
    Limits,
    Target,
    largest_backlog,
    limits,
    required_limits,
)

_MOST_ONE_BY_ONE = 64
"""Most sizes that are tried one by one.  Then the search takes larger strides, and bisects the last one.  So
it may miss a smaller size if a planner's loads do not fall with each further member."""

TOLERANCE = 1.05
"""The present plan and the largest size may have this many times the allowed time lag."""

_MOST_ROUNDS = 10  # of one rebalance; a cooperative one has two


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
    """Tries sizes of one group.

    Args:
        strategy: plans the group.
        target: the time lag to hold.
        present: number of members now; None: unknown.
        owners: by partition, its present owner, as a member's number; None: unknown, so each size is planned
            without history.
        capacities: by present member, ascending; empty: all 1.

    Attributes:
        newcomer: capacity of a member that is not present yet.
        fastest: the largest capacity of a member.
    """

    def __init__(
        self,
        strategy: Strategy,
        target: Target,
        present: int | None = None,
        owners: Counts | None = None,
        capacities: Sequence[float] = (),
    ) -> None:
        self._strategy, self._target = strategy, target
        self._present, self._owners = present, owners
        self._capacities = list(capacities)
        self.newcomer = median_ratio(capacities) if capacities else 1.0
        self.fastest = max(capacities, default=1.0)

    def least(self, history: History, rate: float, most: int | None = None, at_least: int = 1) -> Least:
        """Return the least size that holds the target in a history.

        Args:
            history: the arrivals.
            rate: records/s that a size counts on from the fastest member (``usable_rate``).
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
            self._reason(history, reachable, members - 1) if members > at_least else None,
            None if reachable == wanted else self._reason(history, wanted, members),
        )

    def old_plan(self, history: History, rate: float) -> LatePartition | None:
        """Return the partition that waits too long with its present owner, at the members' whole rates.

        Args:
            history: the arrivals.
            rate: records/s that a size counts on from the fastest member (``usable_rate``).

        Returns:
            None: there is none; or the owners are unknown, so the next rebalance plans them; or a new plan of
            the present size would not hold the target either.
        """
        if self._owners is None or self._present is None:
            return None
        wanted = required_limits(history, rate, self._target)
        if _bound(wanted[0], self._rates(wanted[0], self._present + 1)) > self._present:
            return None  # without the simulation, which takes long for a group far behind
        limit = limits(history, rate / (1 - self._target.headroom), self._target)
        time_lags = self._time_lags(limit.counted, self._owners, limit.rate, self._present)
        if (time_lags <= TOLERANCE * limit.allowed).all():
            return None
        if not self._holds(history, wanted, self._present):
            return None
        return self._reason_of(history, self._owners, limit, self._present)

    def load(self, history: History) -> Counts:
        """Return the records of each partition that the strategy plans with."""
        return history.start_lags + (history.arrivals.sum(axis=0) if self._strategy.by_load else 0)

    def _reachable(self, history: History, limit: Limits, most: int) -> Limits:
        """Return the limits, relaxed where not even the largest size keeps them."""
        time_lags: Levels = np.max(
            [
                self._time_lags(limit.counted, owners, limit.rate, most)
                for owners in self._planned(history, most)
            ],
            axis=0,
        )
        is_late = time_lags > TOLERANCE * limit.allowed
        if not is_late.any():
            return limit
        return replace(limit, allowed=np.where(is_late, time_lags * NEAR, limit.allowed))

    def _search(self, history: History, wanted: Sequence[Limits], most: int, at_least: int) -> int:
        """Return the least size that keeps the limits; ``most`` is not tried."""
        low = members = max(_bound(wanted[0], self._rates(wanted[0], most)), at_least)
        failed = low - 1
        while members < most and not self._holds(history, wanted, members):
            failed = members
            stride = 1 if members - low < _MOST_ONE_BY_ONE else members // 16
            members = min(members + stride, most)
        while members - failed > 1:
            middle = (failed + members) // 2
            if self._holds(history, wanted, middle):
                members = middle
            else:
                failed = middle
        return members

    def owners(self, members: int, load: Counts, topics: dict[str, int], names: Sequence[str]) -> Counts:
        """Return the owners after the strategy's rebalance to a size.

        ``names`` include those of members that leave.
        """
        group = GroupModel(self._strategy, topics, names, self._of_size(len(names)))
        before = 0 if self._owners is None else self._present or 0
        for number in range(before):
            group.join(number)
        if self._owners is not None:
            group.settle(self._owners.copy())
        for number in range(before, members):
            group.join(number)
        for number in range(members, before):
            group.remove(number)
        for _ in range(_MOST_ROUNDS):
            if not group.round(load).again:
                break
        return group.owner

    def _holds(self, history: History, wanted: Sequence[Limits], members: int) -> bool:
        trials = [(owners, limit) for owners in self._planned(history, members) for limit in wanted]
        if any(_falls_behind(owners, limit, self._rates(limit, members)) for owners, limit in trials):
            return False
        return all(self._is_within(owners, limit, members) for owners, limit in trials)

    def _of_size(self, members: int) -> list[float]:
        """Return the capacities of the members of a size."""
        return (self._capacities + [self.newcomer] * (members - len(self._capacities)))[:members]

    def _rates(self, limit: Limits, members: int) -> Levels:
        """Return the records/s of the members of a size."""
        return limit.rate / self.fastest * np.array(self._of_size(members))

    def _is_within(self, owners: Counts, limit: Limits, members: int) -> bool:
        return bool((self._time_lags(limit.counted, owners, limit.rate, members) <= limit.allowed).all())

    def _planned(self, history: History, members: int) -> list[Counts]:
        """Return the owners that a size is planned with; for unequal members, once for each order of ids."""
        load = self.load(history)
        names = first_members(max(members, self._present or 0))
        orders: list[Sequence[str]] = [names]
        if len(set(self._capacities)) > 1:
            ascending = sorted(names, key=client_id)
            orders = [ascending, ascending[::-1]]
        return [self.owners(members, load, dict(history.topics), order) for order in orders]

    def _time_lags(self, history: History, owners: Counts, rate: float, members: int) -> Levels:
        """Return the largest time lag of each partition in the simulation, which lasts until all is read."""
        names, capacities, unit_rate = first_members(members), self._of_size(members), rate / self.fastest
        scenario = Scenario(
            history="",
            strategy=self._strategy,
            members=members,
            service_rate=unit_rate,
            capacities=dict(zip(names, capacities, strict=True)),
            owners=tuple(names[owner] for owner in owners.tolist()),
            drain_limit_s=history.records / (unit_rate * min(capacities)),  # all on the slowest member
        )
        return simulate(history, scenario, series=False).time_lags

    def _reason(self, history: History, wanted: Sequence[Limits], members: int) -> LatePartition:
        """Return the partition, and its member, that make a size too small."""
        trials = [(owners, limit) for owners in self._planned(history, members) for limit in wanted]
        # The first trial that fails.  If all others pass, the last one fails, and need not be simulated.
        owners, limit = next(
            (trial for trial in trials[:-1] if not self._is_within(*trial, members)), trials[-1]
        )
        return self._reason_of(history, owners, limit, members)

    def _reason_of(self, history: History, owners: Counts, limit: Limits, members: int) -> LatePartition:
        time_lags = counted_time_lags = self._time_lags(limit.counted, owners, limit.rate, members)
        if limit.hot.any():  # report the time lag of all records, also of those that the limit does not count
            time_lags = self._time_lags(history, owners, limit.rate, members)
        load = (history.start_lags + history.arrivals.sum(axis=0)) / history.length_s
        # Of partitions that wait equally long, the one with the largest load.
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
            rate=float(self._rates(limit, members)[owners[worst]]),
        )


def _bound(limit: Limits, rates: Levels) -> int:
    """Return a size below which no plan keeps a limit.

    At any moment, the group's total lag must be no more than all members read in the time allowed.  A real
    group may need more members, because a partition has only one owner.  ``rates`` are the records/s of the
    members of the largest size.
    """
    history = limit.counted
    start, arrivals = history.start_lags.sum(keepdims=True), history.arrivals.sum(axis=1, keepdims=True)
    allowed_s = float(limit.allowed.max(initial=0.0))
    low, high = 0, len(rates)
    while high - low > 1:
        middle = (low + high) // 2
        rate = float(rates[:middle].sum())
        fits = float(largest_backlog(start, arrivals, rate * history.step_s)[0]) <= rate * allowed_s
        low, high = (low, middle) if fits else (middle, high)
    return high


def _falls_behind(owners: Counts, limit: Limits, rates: Levels) -> bool:
    """Return whether a member has more lag at one moment than it reads in the time allowed.

    Such a size needs no simulation.
    """
    history, members = limit.counted, len(rates)
    allowed_s = np.zeros(members)
    np.maximum.at(allowed_s, owners, limit.allowed)
    start, *arrivals = (
        np.bincount(owners, records, members).astype(np.float64)
        for records in (history.start_lags, *history.arrivals)
    )
    largest = largest_backlog(start, arrivals, rates * history.step_s)
    return bool((largest > rates * allowed_s).any())
