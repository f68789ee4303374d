"""The skew watcher: when it checks a group's lag, and when it requests a rebalance."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest

from kafka_assignors.assignor.lag.skew_watcher import SkewWatcher
from kafka_assignors.lag import RebalanceOnSkew
from kafka_assignors.lag.sources import LagAnswer
from kafka_assignors.plan import Assignment, Claims, Group, TopicPartition, plan_cooperative_lag_aware
from kafka_assignors.plan.cause import Cause
from tests.support.plan.builders import member

POLICY = RebalanceOnSkew(threshold=1.5, at_least=10, for_s=20, check_s=10, cool_down_s=30, jitter=0)
GROUP = Group((member("a"), member("b")), {"t0": 4})
GIVEN = Assignment.of(GROUP, {"a": {"t0": [0, 1]}, "b": {"t0": [2, 3]}})
UNEVEN = (100, 100, 0, 0)


class World:
    """A fake keeper, consumer and clock for a watcher."""

    def __init__(self, policy: RebalanceOnSkew = POLICY, min_improvement: float = 0.1) -> None:
        self.now = 0.0
        self.current: int | None = 5
        self.lags: tuple[int, ...] = UNEVEN
        self.error: Exception | None = None
        self.looks: list[float] = []
        self.asked: list[float] = []
        self.jobs: list[tuple[float, Callable[[], object]]] = []
        self.planned: list[Claims] = []
        world = cast("Any", self)
        self.watcher = SkewWatcher(policy, world, self.plan, min_improvement, world, now=lambda: self.now)

    # the keeper

    def later(self, seconds: float, job: Callable[[], object]) -> None:
        self.jobs.append((self.now + seconds, job))

    def fetch(self, partitions: Collection[TopicPartition]) -> LagAnswer:
        self.looks.append(self.now)
        if self.error is not None:
            raise self.error
        return LagAnswer({partition: self.lags[partition.partition] for partition in partitions})

    # the consumer

    def member_id(self) -> str:
        return "a"

    def generation(self) -> int | None:
        return self.current

    def request_rejoin_threadsafe(self, cause: Cause, generation: int) -> None:
        assert (cause, generation) == (Cause.SKEW, 5)
        self.asked.append(self.now)

    # the strategy

    def plan(self, group: Group, claims: Claims) -> Assignment:
        self.planned.append(claims)
        return plan_cooperative_lag_aware(group, claims)

    def run(self, until: float) -> None:
        """Run due jobs."""
        while self.jobs and min(partition for partition, _job in self.jobs) <= until:
            self.jobs.sort(key=lambda due: due[0])
            self.now, job = self.jobs.pop(0)
            job()
        self.now = until


@pytest.fixture
def world() -> World:
    """A world whose watcher leads."""
    made = World()
    made.watcher.lead(GIVEN, 5)
    return made


def test_lasting_skew_requests_a_rebalance_and_another_after_the_cool_down(world: World) -> None:
    """The cool-down is 30 s after the last rebalance, too, and even if the requested one never comes."""
    world.run(35)
    assert (world.looks, world.asked) == ([10, 20, 30], [30])
    world.run(95)
    assert world.asked == [30, 60, 90]


@pytest.mark.parametrize(
    ("lags", "policy", "min_improvement", "plans"),
    [
        ((200, 0, 0, 0), POLICY, 0.1, False),
        (UNEVEN, POLICY, 0.6, True),
        ((100, 100, 100, 100), replace(POLICY, threshold=1, at_least=0), 0, True),
        ((0, 0, 0, 0), replace(POLICY, at_least=0), 0, False),
    ],
    ids=["one partition has all lag", "small improvement", "no improvement", "no lag"],
)
def test_rebalance_that_does_not_pay_is_not_requested(
    lags: tuple[int, ...], policy: RebalanceOnSkew, min_improvement: float, plans: bool
) -> None:
    """The owner of the only partition with lag carries it under any plan."""
    world = World(policy, min_improvement)
    world.lags = lags
    world.watcher.lead(GIVEN, 5)
    world.run(1000)
    assert (bool(world.planned), world.asked) == (plans, [])


def test_watcher_is_idle_before_it_leads() -> None:
    world = World()
    world.run(1000)
    assert not world.looks


@pytest.mark.parametrize("event", ["rebalance", "lost membership"])
def test_watcher_is_idle_when_another_member_may_lead(world: World, event: str) -> None:
    """An assignor is not notified of a lost membership."""
    world.run(25)
    if event == "rebalance":
        world.watcher.stop()
    else:
        world.current = None
    world.run(1000)
    assert (world.looks, world.asked) == ([10, 20], [])


def test_rebalance_during_a_check_is_not_requested_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(group: Group, claims: Claims) -> Assignment:
        world.current = 6
        return plan_cooperative_lag_aware(group, claims)

    monkeypatch.setattr(world.watcher, "_plan", plan)
    world.run(1000)
    assert (world.looks, world.asked) == ([10, 20, 30], [])


def test_useless_plan_is_not_repeated_at_every_check() -> None:
    """A plan keeps the interpreter from the consumer."""
    world = World(min_improvement=0.6)
    world.watcher.lead(GIVEN, 5)
    world.run(100)
    assert len(world.looks) == 10
    assert len(world.planned) == 3  # at 30, 60 and 90


def test_watcher_goes_on_after_an_exception(world: World) -> None:
    world.lags = (2**80, 0, 0, 0)  # no number of records
    for _ in range(3):
        with suppress(OverflowError):
            world.run(world.now + 10)
    assert len(world.looks) == 3


def test_leading_twice_runs_one_watch(world: World) -> None:
    world.lags = (1, 1, 1, 1)
    world.run(15)
    world.watcher.stop()
    world.watcher.lead(GIVEN, 5)
    world.run(36)
    assert world.looks == [10, 25, 35]


def test_watcher_goes_on_after_a_failed_fetch(world: World) -> None:
    world.error = OSError("no broker")
    world.run(45)
    world.error = None
    world.run(100)
    assert world.asked == [70, 100]


def test_watcher_plans_from_the_current_assignment() -> None:
    """Not from the claims of the last join."""
    stale = replace(GROUP, members=(member("a", owned={"t0": [2, 3]}), member("b", owned={"t0": [0, 1]})))
    world = World()
    world.watcher.lead(Assignment(stale, GIVEN.owners), 5)
    world.run(30)
    assert world.planned[0].owner.tolist() == [0, 0, 1, 1]


def test_request_logs_the_largest_lag(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "kafka_assignors"):
        world.run(30)
    assert caplog.messages == [
        "requesting a rebalance: the largest lag of a member is 200 records, a new plan makes it 100"
    ]
