"""Rebalances on uneven lag: when the leader checks, and whether it asks for one."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_assignors.plan.load.skew import SkewWatch
from kafka_assignors.simulation.churn import client_id
from kafka_assignors.simulation.group import GroupModel
from kafka_assignors.simulation.history import Counts
from kafka_assignors.simulation.scenario import Scenario


class SimulatedSkewWatcher:
    """Checks for uneven lag on the leader, with the rules of the real ``SkewWatcher``.

    Args:
        scenario: without a ``skew`` there are no checks.
        group: the simulated group.
        names: names of all members, those that join later included.
    """

    def __init__(self, scenario: Scenario, group: GroupModel, names: Sequence[str]) -> None:
        self._policy = scenario.skew
        self._pays_from = scenario.strategy.pays_from
        self._group, self._names = group, names
        # By leader, because a member that leads again remembers when it asked.
        self._watches: dict[int, SkewWatch] = {}

    def settled(self, now: float) -> float | None:
        """End a rebalance, and return the time of the leader's first check; None: never."""
        if self._policy is None:
            return None
        leader = self._group.leader
        if leader not in self._watches:
            self._watches[leader] = SkewWatch(self._policy, client_id(self._names[leader]), self._pays_from)
        watch = self._watches[leader]
        watch.begin_cool_down(now)
        return now + watch.check_s

    def next_check(self, now: float) -> float:
        """Return the time of the leader's next check."""
        return now + self._watches[self._group.leader].check_s

    def asks(self, now: float, load: Counts) -> bool:
        """Return whether the leader asks for a rebalance now; ``load`` by partition, records."""
        watch = self._watches[self._group.leader]
        largest, least = self._group.imbalance(load, watch.is_uneven)
        if watch.load_after_rebalance(now, largest, least, lambda: self._group.planned_load(load)) is None:
            return False
        watch.record_request(now)
        return True
