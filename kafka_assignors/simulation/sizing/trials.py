"""Tries sizes of a group in the simulation.

A size is a number of members.  A trial simulates a settled group: the strategy has planned from the present
owners, and the group keeps that plan.  The cost of the rebalance is another figure (``cost``).

Members may have unequal capacities.  A newcomer has the median of the present ones.  A smaller size is tried
with the slowest of the present members, because any members may leave.  Plans break ties by member ids, which
newcomers do not have yet.  So a size of unequal members is tried twice: with ascending and descending ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafka_assignors.plan.capacity import median_ratio
from kafka_assignors.simulation.churn import client_id, first_members
from kafka_assignors.simulation.group import GroupModel
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.simulation.scenario import Scenario, Strategy
from kafka_assignors.simulation.simulate import simulate
from kafka_assignors.simulation.sizing.target import Limits, largest_backlog

_MOST_ROUNDS = 10  # of one rebalance; a cooperative one has two


class SizeTrials:
    """Tries sizes of one group.

    Args:
        strategy: plans the group.
        present: number of members now; None: unknown.
        owners: by partition, its present owner, as a member's number; None: unknown, so each size is planned
            without history.
        capacities: by present member, ascending; empty: all 1.

    Attributes:
        present: number of members now; None: unknown.
        present_owners: by partition, its present owner; None: unknown.
        newcomer: capacity of a member that is not present yet.
        fastest: the largest capacity of a member.
    """

    def __init__(
        self,
        strategy: Strategy,
        present: int | None = None,
        owners: Counts | None = None,
        capacities: Sequence[float] = (),
    ) -> None:
        self._strategy = strategy
        self.present, self.present_owners = present, owners
        self._capacities = list(capacities)
        self.newcomer = median_ratio(capacities) if capacities else 1.0
        self.fastest = max(capacities, default=1.0)

    def holds(self, history: History, wanted: Sequence[Limits], members: int) -> bool:
        """Return whether a size keeps all limits."""
        trials = [(owners, limit) for owners in self.planned(history, members) for limit in wanted]
        if any(_falls_behind(owners, limit, self.rates(limit, members)) for owners, limit in trials):
            return False
        return all(self.is_within(owners, limit, members) for owners, limit in trials)

    def lower_bound(self, limit: Limits, most: int) -> int:
        """Return a lower bound of the size that keeps a limit, but no more than ``most``.

        At any moment, the group's total lag must be no more than all members read in the time allowed.  A
        real group may need more members, because a partition has only one owner.
        """
        history, rates = limit.counted, self.rates(limit, most)
        start, arrivals = history.start_lags.sum(keepdims=True), history.arrivals.sum(axis=1, keepdims=True)
        allowed_s = float(limit.allowed.max(initial=0.0))
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            rate = float(rates[:middle].sum())
            fits = float(largest_backlog(start, arrivals, rate * history.step_s)[0]) <= rate * allowed_s
            low, high = (low, middle) if fits else (middle, high)
        return high

    def load(self, history: History) -> Counts:
        """Return the load of each partition: its lag, and with a strategy ``by_load`` also its arrivals."""
        return history.start_lags + (history.arrivals.sum(axis=0) if self._strategy.by_load else 0)

    def owners(self, members: int, load: Counts, topics: dict[str, int], names: Sequence[str]) -> Counts:
        """Return the owners after the strategy's rebalance to a size.

        ``names`` include those of members that leave.
        """
        group = GroupModel(self._strategy, topics, names, self._of_size(len(names)))
        before = 0 if self.present_owners is None else self.present or 0
        for number in range(before):
            group.join(number)
        if self.present_owners is not None:
            group.settle(self.present_owners.copy())
        for number in range(before, members):
            group.join(number)
        for number in range(members, before):
            group.remove(number)
        for _ in range(_MOST_ROUNDS):
            if not group.round(load).again:
                break
        return group.owner

    def planned(self, history: History, members: int) -> list[Counts]:
        """Return the owners in the plan of a size; for unequal members, in a plan for each order of ids."""
        load = self.load(history)
        names = first_members(max(members, self.present or 0))
        orders: list[Sequence[str]] = [names]
        if len(set(self._capacities)) > 1:
            ascending = sorted(names, key=client_id)
            orders = [ascending, ascending[::-1]]
        return [self.owners(members, load, dict(history.topics), order) for order in orders]

    def _of_size(self, members: int) -> list[float]:
        """Return the capacities of the members of a size."""
        return (self._capacities + [self.newcomer] * (members - len(self._capacities)))[:members]

    def rates(self, limit: Limits, members: int) -> Levels:
        """Return the records/s of the members of a size."""
        return limit.rate / self.fastest * np.array(self._of_size(members))

    def is_within(self, owners: Counts, limit: Limits, members: int) -> bool:
        """Return whether a size keeps a limit with these owners."""
        return bool((self.time_lags(limit.counted, owners, limit.rate, members) <= limit.allowed).all())

    def time_lags(self, history: History, owners: Counts, rate: float, members: int) -> Levels:
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
