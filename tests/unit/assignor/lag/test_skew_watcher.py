"""On the leader: who looks at the lag of the group, when, and when a rebalance is asked for."""

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
from tests.support.builders import member

POLICY = RebalanceOnSkew(threshold=1.5, at_least=10, for_s=20, check_s=10, cool_down_s=30, jitter=0)
GROUP = Group((member("a"), member("b")), {"t0": 4})
GIVEN = Assignment.of(GROUP, {"a": {"t0": [0, 1]}, "b": {"t0": [2, 3]}})
UNEVEN = (100, 100, 0, 0)


class World:
    """A keeper, a consumer and a clock: what a watcher sees, and what it does."""

    def __init__(self, policy: RebalanceOnSkew = POLICY, min_improvement: float = 0.1) -> None:
        self.now = 0.0
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

    def look(self, partitions: Collection[TopicPartition]) -> LagAnswer:
        self.looks.append(self.now)
        if self.error is not None:
            raise self.error
        return LagAnswer({at: self.lags[at.partition] for at in partitions})

    # the consumer

    def member_id(self) -> str:
        return "a"

    def request_rejoin_threadsafe(self) -> None:
        self.asked.append(self.now)

    # the strategy

    def plan(self, group: Group, claims: Claims) -> Assignment:
        self.planned.append(claims)
        return plan_cooperative_lag_aware(group, claims)

    def run(self, until: float) -> None:
        """Do what is due."""
        while self.jobs and min(at for at, _job in self.jobs) <= until:
            self.jobs.sort(key=lambda due: due[0])
            self.now, job = self.jobs.pop(0)
            job()
        self.now = until


def test_it_asks_when_lag_has_been_uneven_for_a_while() -> None:
    """It cools down for 30 s after the rebalance that made it leader; then it has lasted long enough."""
    world = World()
    world.watcher.lead(GIVEN)
    world.run(35)
    assert (world.looks, world.asked) == ([10, 20, 30], [30])


def test_it_does_not_ask_when_no_plan_would_help() -> None:
    """All lag is in one partition: whoever has it has it."""
    world = World()
    world.lags = (200, 0, 0, 0)
    world.watcher.lead(GIVEN)
    world.run(1000)
    assert not world.asked


def test_it_does_not_ask_when_a_plan_would_help_too_little() -> None:
    world = World(min_improvement=0.6)
    world.watcher.lead(GIVEN)
    world.run(1000)
    assert world.planned
    assert not world.asked


def test_it_does_not_ask_for_what_changes_nothing_though_any_improvement_would_do() -> None:
    world = World(replace(POLICY, threshold=1, at_least=0), min_improvement=0)
    world.lags = (100, 100, 100, 100)
    world.watcher.lead(GIVEN)
    world.run(1000)
    assert world.planned
    assert not world.asked


def test_an_idle_group_is_left_alone() -> None:
    world = World(replace(POLICY, at_least=0), min_improvement=0)
    world.lags = (0, 0, 0, 0)
    world.watcher.lead(GIVEN)
    world.run(1000)
    assert not world.planned


def test_it_is_quiet_before_it_leads() -> None:
    world = World()
    world.run(1000)
    assert not world.looks


def test_it_is_quiet_from_the_moment_a_rebalance_begins() -> None:
    """Whoever leads after it."""
    world = World()
    world.watcher.lead(GIVEN)
    world.run(25)
    world.watcher.stop()
    world.run(1000)
    assert (world.looks, world.asked) == ([10, 20], [])


def test_it_is_quiet_once_it_leads_no_more() -> None:
    """A lost membership is told to nobody."""
    world = World()
    leads = [True]
    world.watcher.lead(GIVEN, lambda: leads[0])
    world.run(25)
    leads[0] = False
    world.run(1000)
    assert (world.looks, world.asked) == ([10, 20], [])


def test_a_plan_that_does_not_help_is_not_made_at_every_look() -> None:
    """It takes the interpreter from the consumer."""
    world = World(min_improvement=0.6)
    world.watcher.lead(GIVEN)
    world.run(100)
    assert len(world.looks) == 10
    assert len(world.planned) == 3  # at 30, 60 and 90


def test_a_look_that_breaks_is_not_the_last() -> None:
    world = World()
    world.lags = (2**80, 0, 0, 0)  # no number of records
    world.watcher.lead(GIVEN)
    for _ in range(3):
        with suppress(OverflowError):
            world.run(world.now + 10)
    assert len(world.looks) == 3


def test_two_times_leader_is_one_watch() -> None:
    world = World()
    world.lags = (1, 1, 1, 1)
    world.watcher.lead(GIVEN)
    world.run(15)
    world.watcher.stop()
    world.watcher.lead(GIVEN)
    world.run(36)
    assert world.looks == [10, 25, 35]


def test_it_asks_again_only_after_the_cool_down() -> None:
    """Should the rebalance it asked for never come."""
    world = World()
    world.watcher.lead(GIVEN)
    world.run(95)
    assert world.asked == [30, 60, 90]


def test_a_look_that_fails_is_not_the_last() -> None:
    world = World()
    world.error = OSError("nobody there")
    world.watcher.lead(GIVEN)
    world.run(45)
    world.error = None
    world.run(100)
    assert world.asked == [70, 100]


def test_it_plans_from_what_everybody_has() -> None:
    """As a rebalance would find it; not from what they said when they joined."""
    stale = replace(GROUP, members=(member("a", owned={"t0": [2, 3]}), member("b", owned={"t0": [0, 1]})))
    world = World()
    world.watcher.lead(Assignment(stale, GIVEN.owners))
    world.run(30)
    assert world.planned[0].owner.tolist() == [0, 0, 1, 1]


def test_it_says_what_it_asks_for(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.watcher.lead(GIVEN)
    with caplog.at_level(logging.INFO, "kafka_assignors"):
        world.run(30)
    assert caplog.messages == [
        "requesting a rebalance: the largest lag of a member is 200 records, a new plan makes it 100"
    ]
