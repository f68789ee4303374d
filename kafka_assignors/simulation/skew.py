"""A rebalance for the sake of even loads: when the leader looks, and whether it asks for one."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_assignors.plan.load.skew import SkewWatch
from kafka_assignors.simulation.churn import client_id
from kafka_assignors.simulation.crew import Crew
from kafka_assignors.simulation.history import Counts
from kafka_assignors.simulation.scenario import Scenario

__all__ = ["Watch"]


class Watch:
    """Looks on for whoever leads, by the code of ``adapter.SkewWatcher``.

    Args:
        scenario: without a ``skew`` nobody looks.
        crew: whose leader it is.
        names: of all members that ever are.
    """

    def __init__(self, scenario: Scenario, crew: Crew, names: Sequence[str]) -> None:
        self._policy = scenario.skew
        self._pays_from = scenario.strategy.pays_from
        self._crew, self._names = crew, names
        # A member that leads again remembers when it asked.
        self._watches: dict[int, SkewWatch] = {}

    def settled(self, now: float) -> float | None:
        """A rebalance has ended; when the leader looks first, None: never."""
        if self._policy is None:
            return None
        leader = self._crew.leader
        if leader not in self._watches:
            who = client_id(self._names[leader])
            self._watches[leader] = SkewWatch(self._policy, who, self._pays_from)
        watch = self._watches[leader]
        watch.settled(now)
        return now + watch.check_s

    def next_look(self, now: float) -> float:
        """When the leader looks again."""
        return now + self._watches[self._crew.leader].check_s

    def asks(self, now: float, load: Counts) -> bool:
        """Whether the leader, who looks now, asks for a rebalance; ``load`` by partition, records."""
        watch = self._watches[self._crew.leader]
        largest, least = self._crew.imbalance(load, watch.counts)
        if watch.worth(now, largest, least, lambda: self._crew.could_be(load)) is None:
            return False
        watch.asked(now)
        return True
