"""Reach a load with few moves."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group, plan_lag_aware
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.lightest import Lightest, lightest
from kafka_assignors.plan.load.saving import with_few_moves
from kafka_assignors.plan.load.working_plan import Budget, Exchange, LoadProblem
from kafka_assignors.plan.model import NO_MEMBER
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import (
    any_owners,
    every_owners,
    group_of,
    history,
    is_valid,
    load_of,
    moves_of,
    within_skew,
)

PLENTY = 10**8

BUSY = 26
"""More partitions than the exact search takes, so these plans come from exchanges."""


@pytest.mark.parametrize("skew", [1, 2, None])
@pytest.mark.parametrize("partitions", [4, 14])
def test_load_is_reached_without_extra_moves(skew: int | None, partitions: int) -> None:
    """The plan is valid and keeps the counts, for any limit from the lowest load on."""
    compared = 0
    for seed in range(25):
        rng = Random(seed)
        group = group_of(
            rng, members=5, topics=3, partitions=partitions, density=rng.choice((1, 0.7)), lag=100
        )
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        owners = any_owners(rng, group)
        if skew is not None:
            owners = plan_lag_aware(group).owners
        if not within_skew(group, owners, skew):
            continue
        home = history(rng, group, owners, kept=0.9)
        best = lightest(problem, rule, owners, greedy=owners, bound=0, budget=Budget(PLENTY))
        for limit in {best.load, best.enough, (best.load + load_of(problem, owners)) // 2}:
            plan = with_few_moves(
                problem, rule, owners, best=best, former_owners=home, limit=limit, budget=Budget(PLENTY)
            )
            assert is_valid(group, plan)
            assert within_skew(group, plan, skew)
            assert load_of(problem, plan) <= limit
            if not problem.equal:
                most = max(moves_of(problem, plan, home) for plan in (owners, best.owners))
                assert moves_of(problem, plan, home) <= most + 2 * len(best.exchanges)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("skew", [1, 2, None])
def test_small_groups_get_the_fewest_moves(skew: int | None) -> None:
    for seed in range(20):
        rng = Random(seed)
        group = group_of(rng, members=3, topics=2, partitions=4, density=rng.choice((1, 0.7)), lag=40)
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        plans = [plan for plan in every_owners(group) if within_skew(group, plan, skew)]
        owners = rng.choice(plans)
        home = history(rng, group, owners, kept=0.9)
        best = lightest(problem, rule, owners, greedy=owners, bound=0, budget=Budget(PLENTY))
        plan = with_few_moves(
            problem, rule, owners, best=best, former_owners=home, limit=best.enough, budget=Budget(PLENTY)
        )
        fewest = min(moves_of(problem, p, home) for p in plans if load_of(problem, p) <= best.enough)
        assert moves_of(problem, plan, home) == fewest


def busy(lags: list[int], *, members: int = 2, idle: int = 0) -> Group:
    """One topic, filled up with idle partitions of equal lag."""
    lags = lags + [idle] * (BUSY - len(lags))
    return Group(tuple(member(f"m{i}") for i in range(members)), {"t0": BUSY}, lags={"t0": lags})


def saved(
    group: Group,
    owners: list[int],
    *,
    limit: int,
    home: list[int],
    skew: int | None = 1,
    exchanges: tuple[Exchange, ...] = (),
    best: list[int] | None = None,
    work: int = PLENTY,
) -> list[int]:
    """The owners that ``with_few_moves`` returns."""
    problem = LoadProblem(group)
    best_owners = np.array(owners if best is None else best, np.int32)
    lightest_plan = Lightest(load_of(problem, best_owners), limit, list(exchanges), best_owners)
    plan = with_few_moves(
        problem,
        CountRule(problem, skew),
        np.array(owners, np.int32),
        best=lightest_plan,
        former_owners=np.array(home, np.int32),
        limit=limit,
        budget=Budget(work),
    )
    return [int(m) for m in plan]


def test_exchanges_stop_at_the_limit() -> None:
    """The second exchange would move two more partitions."""
    group = busy([60, 50, 40, 30])
    owners = [0, 0, 1, 1] + [0, 1] * 11
    exchanges = Exchange(0, 1, (1,), (2,)), Exchange(0, 1, (4,), (5,))
    after = [0, 1, 0, 1] + [0, 1] * 11
    assert saved(group, owners, limit=100, home=owners, exchanges=exchanges) == after
    assert saved(group, owners, limit=110, home=owners, exchanges=exchanges) == owners


def test_partitions_go_home_within_the_limit() -> None:
    """The last of three exchanges alone is enough, so the others are undone."""
    group = busy([60, 50, 40, 30, 3, 2])
    owners = [0, 0, 1, 1] + [0, 1] * 11
    exchanges = Exchange(0, 1, (4,), (5,)), Exchange(0, 1, (6,), (7,)), Exchange(0, 1, (1,), (2,))
    plan = saved(group, owners, limit=103, home=owners, exchanges=exchanges)
    assert plan == [0, 1, 0, 1] + [0, 1] * 11
    plan = saved(group, owners, limit=102, home=owners, exchanges=exchanges)
    assert load_of(LoadProblem(group), np.array(plan, np.int32)) <= 102


def test_a_return_prefers_to_bring_another_partition_home() -> None:
    """Two members swap their partitions back, though a heavier unowned one would fit too."""
    lags = [10, 9, 10, 9]
    home = [0, 1, NO_MEMBER, NO_MEMBER] + [0, 1] * 11
    now = [1, 0, 0, 1] + [0, 1] * 11
    group = busy(lags)
    plan = saved(group, now, limit=20, home=home)
    assert plan == [0, 1, 0, 1] + [0, 1] * 11


def test_a_partition_goes_home_without_exchange_if_counts_and_limit_allow_it() -> None:
    """It fits exactly; it does not with one record or one partition less room."""
    group = busy([10, 20, 20], idle=1)
    home = [0] * 14 + [1] * 12
    now = [1, *home[1:]]  # 13 each
    assert saved(group, now, limit=61, home=home, skew=2) == home
    assert saved(group, now, limit=60, home=home, skew=2) == now
    assert saved(group, now, limit=61, home=home, skew=1) == now


def test_no_partition_goes_home_above_the_limit() -> None:
    """The limit holds for both members: the other one would get a heavier partition in return."""
    group = busy([5, 30, 50], idle=0)
    home = [0, NO_MEMBER, NO_MEMBER] + [0, 1] * 11 + [1]
    now = [1, 0, 1] + [0, 1] * 11 + [NO_MEMBER]
    now[-1] = 0
    home[-1] = 0
    plan = saved(group, now, limit=55, home=home)
    loads = LoadProblem(group).loads(np.array(plan, np.int32))
    assert loads.max() <= 55


def test_parts_of_a_plan_go_to_the_member_that_owned_most_of_them() -> None:
    """With equal subscriptions relabelling members saves all moves; single returns would not fit."""
    group = busy([9, 8, 10, 6, 7, 5], members=3)
    home = [0, 1, 2, 0, 1, 2] + [0, 1] * 4 + [2] * 12
    best = [{0: 1, 1: 2, 2: 0}[m] for m in home]
    start = [0] * BUSY
    assert saved(group, start, limit=15, home=home, skew=None, best=best) == home


def test_members_keep_their_parts_if_relabelling_moves_more() -> None:
    """Member 0 has most of what member 1 owned; each has 8 large partitions of its own, too."""
    group = busy([10] * 8 + [1] * 10 + [11] * 8)
    home, best = [0] * 8 + [1] * 18, [0] * 18 + [1] * 8
    plan = saved(group, [0] * BUSY, limit=90, home=home, skew=None, best=best)
    assert sum(was != now for was, now in zip(home, plan, strict=True)) == 8


def test_with_unequal_subscriptions_no_member_is_relabelled() -> None:
    """And no return sends a partition to a member that does not subscribe to it."""
    topics = {"t0": 13, "t1": 13}
    members = member("a", ["t0"]), member("b", ["t0", "t1"]), member("c", ["t1"])
    group = Group(members, topics, lags={"t0": [5] * 13, "t1": [5] * 13})
    start = [0] * 13 + [2] * 13
    home = [1] * 13 + [1] * 13
    best = [0] * 9 + [1] * 4 + [1] * 4 + [2] * 9
    plan = saved(group, start, limit=45, home=home, skew=None, best=best)
    assert is_valid(group, np.array(plan, np.int32))
    assert sum(was != now for was, now in zip(home, plan, strict=True)) == 17


def test_a_return_that_needs_a_check_of_all_members_is_paid_by_the_budget() -> None:
    """The counts of c, which reads another topic, say nothing of a and b."""
    members = member("a"), member("b"), member("c", ["t1"])
    group = Group(members, {"t0": 3, "t1": BUSY})
    now, home = [0, 1, 1] + [2] * BUSY, [0, 0, 1] + [2] * BUSY
    work = 2 * len(members) + group.size
    assert saved(group, now, limit=0, home=home, skew=2, work=work + 1) == home
    assert saved(group, now, limit=0, home=home, skew=2, work=work) == now
