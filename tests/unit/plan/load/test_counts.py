"""The rule of counts, compared with all plans of small groups."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group, plan_cooperative_lag_aware, plan_sticky, resolve
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.working_plan import Budget, Exchange, LoadProblem, WorkingPlan
from tests.support.plan.builders import member, next_generation
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
                    keeps = 1 - len(takes) in steps and rule.keeps(plan, exchange, Budget(10**6))
                    assert keeps == within_skew(group, after, skew)
                    compared += 1
    assert compared > 50


def test_an_exchange_beside_a_member_with_more_partitions_keeps_the_rule() -> None:
    """Member c reads another topic.  An exchange that changes no count needs no check."""
    group = Group((member("a"), member("b"), member("c", ["t1"])), {"t0": 4, "t1": 9})
    problem = LoadProblem(group)
    plan = WorkingPlan(problem, np.array([0, 0, 1, 1] + [2] * 9, np.int32))
    rule = CountRule(problem, 2)
    assert rule.keeps(plan, Exchange(0, 1, (0,), (2,)), Budget(0))
    for gives, takes in (((0,), ()), ((0,), (2, 3))):
        assert rule.keeps(plan, Exchange(0, 1, gives, takes), Budget(10**6))
        assert not rule.keeps(plan, Exchange(0, 1, gives, takes), Budget(0))


@pytest.mark.parametrize(("skew", "density"), [(2, 0.5), (3, 0.5), (2, 0.1), (3, 0.1)])
def test_few_exchanges_need_a_check_of_all_members(
    skew: int, density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comparisons of counts decide the others, of hundreds in each group."""
    rng = Random(1)
    topics = {f"t{i}": 20 for i in range(30)}
    readers = [member(f"m{i}", [t for t in topics if rng.random() < density]) for i in range(100)]
    group = Group(
        tuple(readers), topics, lags={t: [2 ** rng.randint(0, 12) for _ in range(20)] for t in topics}
    )
    group = next_generation(group, plan_sticky(group, resolve(group)), 1)
    checks = 0
    is_met = CountRule.is_met

    def counted(rule: CountRule, owners: Owners) -> bool:
        nonlocal checks
        checks += 1
        return is_met(rule, owners)

    monkeypatch.setattr(CountRule, "is_met", counted)
    plan = plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=skew)
    assert within_skew(group, plan.owners, skew)
    assert checks < 120
