"""The lowest largest load."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group, plan_lag_aware
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.lightest import TOLERANCE, Lightest, lightest
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.working_plan import Budget, LoadProblem, WorkingPlan
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import any_owners, every_owners, group_of, is_valid, load_of, within_skew


def search(group: Group, rule: CountRule, owners: Owners, bound: int = 0) -> Lightest:
    problem = LoadProblem(group)
    greedy = plan_lag_aware(group).owners
    return lightest(problem, rule, owners, greedy=greedy, bound=bound, budget=Budget(10**9))


@pytest.mark.parametrize("skew", [1, 2, None])
def test_small_groups_get_the_lowest_load_of_all_plans(skew: int | None) -> None:
    """The plan is valid and keeps the rule; the tolerance does not weaken the search."""
    for seed in range(25):
        rng = Random(seed)
        group = group_of(rng, members=3, topics=3, partitions=3, density=rng.choice((1, 0.7)), lag=1000)
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        plans = [plan for plan in every_owners(group) if within_skew(group, plan, skew)]
        start = rng.choice(plans)
        best = search(group, rule, start)
        assert is_valid(group, best.owners)
        assert rule.allows(best.owners, start)
        assert best.load == load_of(problem, best.owners) == min(load_of(problem, plan) for plan in plans)
        assert best.load <= best.enough <= best.load + best.load // TOLERANCE
        plan = WorkingPlan(problem, start)
        for exchange in best.exchanges:
            plan.do(exchange)
            assert within_skew(group, plan.owner, skew)


@pytest.mark.parametrize("skew", [3, None])
def test_larger_groups_get_no_worse_load_than_by_greedy_or_redeal(skew: int | None) -> None:
    """Nor is a load above that of the greedy plan good enough."""
    compared = 0
    for seed in range(40):
        rng = Random(seed)
        group = group_of(rng, members=4, topics=2, partitions=30, lag=rng.choice((20, 1000, 100_000)))
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        fresh = redeal(problem, any_owners(rng, group), np.ones(group.size, np.bool_), keep_counts=False)
        if not within_skew(group, fresh, skew):
            continue
        start = fresh if skew else any_owners(rng, group)
        anew = redeal(problem, start, np.ones(group.size, np.bool_), keep_counts=skew is not None)
        best = search(group, rule, start, bound=-(-int(group.lag.sum()) // len(group.members)))
        assert within_skew(group, best.owners, skew)
        assert best.load == load_of(problem, best.owners) <= best.enough
        greedy = plan_lag_aware(group).owners
        if within_skew(group, greedy, skew):
            compared += 1
            assert best.enough <= load_of(problem, greedy)
        if group.size > 24:
            goal = -(-int(group.lag.sum()) // len(group.members)) * (1 + 1 / TOLERANCE)
            assert best.load <= max(load_of(problem, anew), goal)
    assert compared > 10


def test_the_goal_is_at_most_the_greedy_load() -> None:
    """Even within the tolerance, or the search could end above the load it must reach."""
    lags = [505, 679, 112, 47, 19, 361, 683, 293, 594, 256, 641, 142, 910, 609, 811, 1, 526, 157, 673, 298]
    lags += [43, 547, 73, 345, 949, 897, 393]
    group = Group((member("a"), member("b")), {"t0": 27}, lags={"t0": lags})
    problem = LoadProblem(group)
    greedy = plan_lag_aware(group).owners
    start = redeal(problem, greedy, np.ones(27, np.bool_), keep_counts=True)
    for owners in (start, np.array([0, 1] * 13 + [0], np.int32)):
        best = search(group, CountRule(problem, 1), owners, bound=-(-sum(lags) // 2))
        assert best.load <= best.enough <= load_of(problem, greedy)


def test_a_greedy_plan_that_breaks_the_rule_is_no_start() -> None:
    """It gives the first member every partition, which breaks the skew."""
    topics = tuple(f"t{i}" for i in range(27))
    group = Group((member("a", topics), member("b", topics)), dict.fromkeys(topics, 1), lags={"t0": [1]})
    problem = LoadProblem(group)
    owners = np.arange(27, dtype=np.int32) % 2
    best = search(group, CountRule(problem, 1), owners)
    assert sorted(problem.counts(best.owners).tolist()) == [13, 14]
