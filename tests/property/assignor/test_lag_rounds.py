"""Rebalances end while lag fluctuates: real assignors in rounds, as consumers drive them."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

import pytest

from kafka_assignors import CooperativeLagAwareAssignor
from kafka_assignors.plan import TopicPartition
from tests.support.group.joining import cluster, every, joined, own, owner_of, plan_of

TOPICS = {"t": 60, "u": 40}
MOST_ROUNDS = 3


class World:
    """A group whose lag and forecasts change at every request."""

    def __init__(self, seed: int, most: int, *, with_forecast: bool) -> None:
        self._with_forecast = with_forecast
        self._random = Random(seed)
        self._most = most
        self.members: dict[str, CooperativeLagAwareAssignor] = {}
        self.held: dict[str, set[tuple[str, int]]] = {}
        self.generation = 0
        self.moved = 0

    def lags(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        draw = self._random.paretovariate
        return {partition: int(draw(1.2) * self._most) % (10 * self._most) for partition in partitions}

    def join(self, name: str, refresh_ms: float) -> None:
        self.members[name] = CooperativeLagAwareAssignor(
            lag_source=self.lags,
            lag_refresh_ms=refresh_ms,
            load_source=self.lags if self._with_forecast else None,
        )
        self.held[name] = set()

    def leave(self, name: str) -> None:
        self.members.pop(name).close()
        del self.held[name]

    def rebalance(self) -> int:
        """Run rounds until no member revokes a partition; return their number."""
        rounds, revoked = 0, True
        while revoked:
            rounds += 1
            assert rounds <= 20, "it does not settle"
            self.generation += 1
            subscriptions = [joined(name, member.metadata(TOPICS)) for name, member in self.members.items()]
            leader = next(iter(self.members.values()))
            plan = plan_of(leader.assign(cluster(TOPICS), subscriptions))
            owner_of(plan)  # checks that no partition has two owners
            revoked = False
            for name in self.members:
                new = {(topic, p) for topic, numbers in plan[name].items() for p in numbers}
                for other, holds in self.held.items():
                    assert other == name or not (new - self.held[name]) & holds, "two owners"
            for name, member in self.members.items():
                new = {(topic, p) for topic, numbers in plan[name].items() for p in numbers}
                revoked |= bool(self.held[name] - new)
                self.moved += len(self.held[name] - new)
                self.held[name] = new
                own(member, plan[name], self.generation)
        assert set().union(*self.held.values()) == every(TOPICS)
        return rounds


@pytest.mark.parametrize("with_forecast", [False, True], ids=["lag", "lag and forecasts"])
@pytest.mark.parametrize("refresh_ms", [3, 10_000], ids=["no cache", "default"])
@pytest.mark.parametrize("most", [5, 200, 100_000], ids=["hardly any lag", "little", "much"])
def test_rebalance_ends_though_lag_always_changes(most: int, refresh_ms: float, with_forecast: bool) -> None:
    """Two rounds are enough when nothing else changes; a new leader needs a third."""
    world = World(7, most, with_forecast=with_forecast)
    for number in range(8):
        world.join(f"m{number}", refresh_ms)
    assert world.rebalance() <= MOST_ROUNDS
    for number in range(3):
        world.leave(f"m{number}")
        assert world.rebalance() <= MOST_ROUNDS
        world.join(f"n{number}", refresh_ms)
        assert world.rebalance() <= MOST_ROUNDS
    for name in list(world.members):
        world.leave(name)
