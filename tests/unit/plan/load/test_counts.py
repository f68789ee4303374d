"""The rule of counts, compared with all plans of small groups."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.working_plan import Exchange, LoadProblem, WorkingPlan
from tests.support.builders import member
from tests.unit.plan.load.seeded import any_owners, every_owners, group_of, within_skew

SKEWS = (1, 2, 3, None)


def small(seed: int) -> tuple[Group, LoadProblem, list[Owners]]:
    rng = Random(seed)
    group = group_of(rng, members=3, topics=2, partitions=3, density=rng.choice((1, 0.7)))
    return group, LoadProblem(group), list(every_owners(group))


def test_a_member_is_within_reach_through_a_chain() -> None:
    """A partition of a could go to b, and one of b to c, which has none."""
    group = Group((member("a"), member("b", ["t0", "t1"]), member("c", ["t1"])), {"t0": 3, "t1": 1})
    problem, owners = LoadProblem(group), np.array([0, 0, 1, 1], np.int32)
    assert not CountRule(problem, 1).is_met(owners)
    assert CountRule(problem, 2).is_met(owners)
    owners = np.array([0, 0, 0, 2], np.int32)
    assert not CountRule(problem, 2).is_met(owners)
    assert CountRule(problem, 3).is_met(owners)


@pytest.mark.parametrize("skew", SKEWS)
def test_allows_and_is_met_agree_with_the_oracle(skew: int | None) -> None:
    """``allows`` is given any plan that keeps the rule; with a skew of 1 it compares sums of squares."""
    for seed in range(25):
        group, problem, plans = small(seed)
        rule = CountRule(problem, skew)
        good = [within_skew(group, plan, skew) for plan in plans]
        kept = plans[good.index(True)]
        assert [rule.allows(plan, kept) for plan in plans] == good
        assert [rule.is_met(plan) for plan in plans] == good


@pytest.mark.parametrize("skew", SKEWS)
def test_largest_and_fewest_bound_all_plans_that_keep_the_rule(skew: int | None) -> None:
    """With equal subscriptions some plan has exactly the fewest."""
    for seed in range(25):
        group, problem, plans = small(seed)
        rule = CountRule(problem, skew)
        counts = np.array([problem.counts(plan) for plan in plans if within_skew(group, plan, skew)])
        kept = next(plan for plan in plans if within_skew(group, plan, skew))
        fewest = rule.fewest(kept)
        assert (counts >= fewest).all()
        assert counts.max(initial=0) <= rule.largest(kept)
        if skew == 1:
            assert (fewest >= problem.counts(kept) - 1).all()
            assert counts.max(initial=0) == rule.largest(kept)
        if problem.equal and skew is not None:
            assert counts.min(axis=0).tolist() == fewest.tolist()


def test_with_equal_subscriptions_steps_are_exactly_those_that_keep_the_rule() -> None:
    """The counts of other subscribers count too; those of members without subscription do not."""
    problem = LoadProblem(Group((*(member(name) for name in "abcd"), member("e", [])), {"t0": 20}))
    for seed in range(300):
        rng = Random(seed)
        skew = rng.randint(1, 4)
        base = rng.randint(0, 5)
        counts = np.array([rng.randint(base, base + skew) for _ in range(4)] + [0])
        high, low = rng.sample(range(4), 2)
        wanted = []
        for step in range(-2, 3):
            after = counts[:4].copy()
            after[high] -= step
            after[low] += step
            if step == 0 or (np.ptp(after) <= skew and (skew > 1 or np.ptp(after) <= np.ptp(counts[:4]))):
                wanted.append(step)
        steps = CountRule(problem, skew).steps(counts, high, low, 2)
        if skew == 1:
            gap = counts[high] - counts[low]
            wanted = [step for step in range(-2, 3) if step in (0, gap)]
        assert steps == wanted


@pytest.mark.parametrize("skew", [1, 2, 3])
def test_exchanges_within_the_steps_keep_the_rule(skew: int) -> None:
    """With unequal subscriptions ``keeps`` also checks the other members."""
    compared = 0
    for seed in range(150):
        rng = Random(seed)
        group = group_of(rng, members=5, topics=4, partitions=3, density=0.6)
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        owners = any_owners(rng, group)
        if problem.equal or not within_skew(group, owners, skew):
            continue
        plan = WorkingPlan(problem, owners)
        for high in problem.subscribers.tolist():
            for low in problem.subscribers.tolist():
                gives = [p for p in plan.parts[high].tolist() if group.subscribed[group.topic_of[p], low]]
                others = [p for p in plan.parts[low].tolist() if group.subscribed[group.topic_of[p], high]]
                if high == low or not gives:
                    continue
                for takes in ((), *((p,) for p in others)):
                    exchange = Exchange(high, low, (gives[0],), takes)
                    after = owners.copy()
                    after[gives[0]] = low
                    after[list(takes)] = high
                    steps = rule.steps(plan.counts, high, low, 1)
                    keeps = 1 - len(takes) in steps and rule.keeps(plan, exchange)
                    assert keeps == within_skew(group, after, skew)
                    compared += 1
    assert compared > 50
