"""Exchanges that lower the largest load until none does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group, Member
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.descent import descend
from kafka_assignors.plan.load.exchange import Pair, best_bundles, best_single
from kafka_assignors.plan.load.working_plan import Budget, Exchange, LoadProblem, WorkingPlan
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import (
    any_owners,
    group_of,
    history,
    is_valid,
    load_of,
    moves_of,
    within_skew,
)

PLENTY = 10**9


def undone(plan: WorkingPlan, exchanges: list[Exchange]) -> list[int]:
    """The owners before these exchanges."""
    owner = plan.owner.copy()
    for exchange in reversed(exchanges):
        owner[list(exchange.gives)] = exchange.high
        owner[list(exchange.takes)] = exchange.low
    return [int(m) for m in owner]


def plan_of(group: Group, owners: list[int]) -> WorkingPlan:
    return WorkingPlan(LoadProblem(group), np.array(owners, np.int32))


def lowered(plan: WorkingPlan, goal: int = 0, home: Owners | None = None) -> list[Exchange]:
    """Lower the largest load of a plan with even counts."""
    return descend(plan, CountRule(plan.problem, 1), goal, Budget(PLENTY), home)


@pytest.mark.parametrize("skew", [1, 2, None])
@pytest.mark.parametrize("calm", [False, True])
def test_load_falls_within_the_rules(skew: int | None, calm: bool) -> None:
    """The plan is valid and keeps the counts, with no more moves, and all exchanges are returned."""
    fell = 0
    for seed in range(120):
        rng = Random(seed)
        group = group_of(rng, members=5, topics=4, partitions=4, density=rng.choice((1, 0.6)))
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        owners = any_owners(rng, group)
        if not within_skew(group, owners, skew):
            continue
        home = history(rng, group, owners, kept=0.5) if calm else None
        plan = WorkingPlan(problem, owners)
        done = descend(plan, rule, 0, Budget(PLENTY), home)
        assert is_valid(group, plan.owner)
        assert within_skew(group, plan.owner, skew)
        assert plan.load == load_of(problem, plan.owner) <= load_of(problem, owners)
        assert undone(plan, done) == owners.tolist()
        if home is not None:
            assert moves_of(problem, plan.owner, home) <= moves_of(problem, owners, home)
        fell += plan.load < load_of(problem, owners)
    assert fell > 5


def test_descent_ends_only_when_no_pair_can_improve() -> None:
    """For the member with the largest load and any other."""
    for seed in range(80):
        rng = Random(seed)
        group = group_of(rng, members=5, topics=3, partitions=5, density=rng.choice((1, 0.7)), lag=1000)
        problem = LoadProblem(group)
        rule = CountRule(problem, None)
        plan = WorkingPlan(problem, any_owners(rng, group))
        descend(plan, rule, 0, Budget(PLENTY))
        high = plan.highest
        for low in problem.subscribers.tolist():
            # A difference of one record cannot be improved.
            if low != high and plan.loads[high] - plan.loads[low] > 1:
                for most, search in ((1, best_single), (2, best_bundles)):
                    pair = Pair(plan, high, low, rule.steps(plan.counts, high, low, most))
                    assert search(pair) is None


def test_descent_ends_at_the_goal_or_without_budget() -> None:
    """At the goal, or when the budget is spent."""
    group = Group((member("a"), member("b")), {"t0": 4}, lags={"t0": [60, 40, 40, 20]})
    problem = LoadProblem(group)
    owners = np.array([0, 0, 1, 1], np.int32)
    for goal, budget, load in ((100, PLENTY, 100), (99, PLENTY, 80), (0, PLENTY, 80), (0, 1, 100)):
        plan = WorkingPlan(problem, owners)
        descend(plan, CountRule(problem, 1), goal, Budget(budget))
        assert plan.load == load


def test_a_difference_of_two_records_is_worth_an_exchange() -> None:
    group = Group((member("a"), member("b")), {"t0": 4}, lags={"t0": [5, 4, 4, 3]})
    plan = plan_of(group, [0, 0, 1, 1])
    lowered(plan)
    assert plan.load == 8


RELAYED = Group(
    (member("a", ["t0"]), member("b", ["t0", "t1"]), member("c", ["t1"])),
    {"t0": 3, "t1": 3},
    lags={"t0": [100, 100, 1], "t1": [100, 2, 3]},
)
"""Member a has two heavy partitions that c cannot read; b could take one and pass on one as heavy."""


def test_load_is_relayed_where_no_direct_exchange_helps() -> None:
    plan = plan_of(RELAYED, [0, 0, 1, 1, 2, 2])
    done = lowered(plan)
    assert (len(done), plan.load) == (2, 103)


@pytest.mark.parametrize(
    ("members", "lags", "stay_home"),
    [
        (RELAYED.members, RELAYED.lags, True),
        ((member("a"), member("b"), member("c", ["t1"])), {"t0": [100, 100, 99, 100], "t1": [1, 1]}, False),
        (RELAYED.members, {"t0": [50, 50, 1], "t1": [60, 50, 0]}, False),
    ],
    ids=["takes partitions from home", "finds none to pass on", "gives b the old largest load"],
)
def test_a_failed_relay_is_undone(
    members: tuple[Member, ...], lags: Mapping[str, Sequence[int]], stay_home: bool
) -> None:
    """Member b could take a heavy partition."""
    group = Group(members, {topic: len(of_topic) for topic, of_topic in lags.items()}, lags=lags)
    owners = [0, 0, 1, 1, 2, 2]
    plan = plan_of(group, owners)
    assert lowered(plan, home=plan.owner.copy() if stay_home else None) == []
    assert plan.owner.tolist() == owners


def test_the_best_of_several_partners_is_taken() -> None:
    """With b, the least loaded, the load falls to 95; with c to 90."""
    group = Group(tuple(member(name) for name in "abc"), {"t0": 6}, lags={"t0": [50, 50, 45, 0, 40, 20]})
    plan = plan_of(group, [0, 0, 1, 1, 2, 2])
    assert lowered(plan, 90)[0].low == 2
