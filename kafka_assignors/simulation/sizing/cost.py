"""The simulated cost of scaling the group to a size (a number of members) now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafka_assignors.plan import Assignment, Claims, Group, with_expected
from kafka_assignors.simulation.churn import ChurnStep, Kind, first_members
from kafka_assignors.simulation.history import Counts, History
from kafka_assignors.simulation.scenario import Scenario, Strategy
from kafka_assignors.simulation.simulate import simulate

_AT_ONCE_S = 1e-3  # churn must be after the start, and before the end


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a size, from now until all records that arrive within the horizon are read.

    Reading may go on for an hour after the horizon, or for the length of the horizon if that is longer.
    Records that are still unread count with their wait until then, because a group far behind would take very
    long to simulate.

    Attributes:
        members: the size.
        moved: number of partitions that get another owner.
        rebalances: number of rounds.
        pause_s: member-seconds without reading.
        time_lag_s: the largest time lag, seconds, without headroom.
    """

    members: int
    moved: int
    rebalances: int
    pause_s: float
    time_lag_s: float


@dataclass(frozen=True, slots=True, eq=False)
class PresentGroup:
    """The present group; its members read without headroom."""

    history: History
    strategy: Strategy
    members: int
    owners: Counts | None
    capacities: list[float]
    newcomer: float  # capacity of a member that joins

    def cost(self, to: int) -> Cost:
        """Simulate the group, with another size from now on."""
        kind: Kind = "join" if to > self.members else "leave"
        # The oldest members leave first, so a group that shrinks has its fastest members first.  In a group
        # that grows, capacities ascend as in `SizeTrials`.
        order = np.argsort(np.array(self.capacities) * (-1 if kind == "leave" else 1), kind="stable")
        owners, capacities = renumbered(order, self.owners, self.capacities)
        at_once_s = min(_AT_ONCE_S, self.history.length_s / 2)
        names = first_members(max(self.members, to))
        capacities += [self.newcomer] * (len(names) - self.members)
        scenario = Scenario(
            history="",
            strategy=self.strategy,
            members=self.members,
            churn=(ChurnStep(kind, at_once_s),) * abs(to - self.members),
            capacities=dict(zip(names, capacities, strict=True)),
            owners=None if owners is None else tuple(names[owner] for owner in owners.tolist()),
        )
        outcome = simulate(self.history, scenario, series=False)
        return Cost(to, outcome.moved, outcome.rebalances, outcome.pause_s, outcome.time_lag_max)


def with_arrivals(strategy: Strategy, arrivals: Counts) -> Strategy:
    """Return the strategy, planning with these arrivals instead of those of ``History.expected``."""
    if not strategy.by_load:
        return strategy

    def plan(group: Group, claims: Claims) -> Assignment:
        expected = {group.at(index): float(records) for index, records in enumerate(arrivals.tolist())}
        return strategy.plan(with_expected(group, expected, {}), claims)

    return replace(strategy, plan=plan, by_lag=True, by_load=False)


def renumbered(
    order: Counts, owners: Counts | None, capacities: Sequence[float]
) -> tuple[Counts | None, list[float]]:
    """Return owners and capacities after renumbering: the new member ``n`` is the old ``order[n]``."""
    return None if owners is None else np.argsort(order)[owners], [capacities[member] for member in order]
