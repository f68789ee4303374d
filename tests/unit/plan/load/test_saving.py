"""Reaching a load with few moves."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Assignment, Group, plan_lag_aware
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.descent import Budget
from kafka_assignors.plan.load.lightest import Lightest, lightest
from kafka_assignors.plan.load.saving import with_few_moves
from kafka_assignors.plan.load.standing import Exchange, Field
from kafka_assignors.plan.model import NOBODY
from tests.support import load_oracle, oracle
from tests.support.builders import member
from tests.unit.plan.load.seeded import (
    any_owners,
    every_owners,
    group_of,
    history,
    is_valid,
    load_of,
    moves_of,
    rule_of,
)

BUSY = 26
"""So many partitions are too many for looking through all plans: what is found is found step by step."""


def within_skew(group: Group, owners: Owners, skew: int | None) -> bool:
    return load_oracle.within_skew(group, oracle.by_partition(Assignment(group, owners)), skew)


@pytest.mark.parametrize("skew", [1, 2, None])
@pytest.mark.parametrize("partitions", [4, 14])
def test_the_load_is_reached_with_no_more_moves_than_that_took(skew: int | None, partitions: int) -> None:
    """Valid, within the counts and the limit; the limit may be any, from what was found on."""
    compared = 0
    for seed in range(25):
        rng = Random(seed)
        group = group_of(
            rng, members=5, topics=3, partitions=partitions, density=rng.choice((1, 0.7)), lag=100
        )
        field = Field(group)
        rule = rule_of(field, skew)
        owners = any_owners(rng, group)
        if skew is not None:
            owners = plan_lag_aware(group).owners
        if not within_skew(group, owners, skew):
            continue
        home = history(rng, group, owners, kept=0.9)
        found = lightest(field, rule, owners, greedy=owners, bound=0, budget=Budget(10**8))
        for limit in {found.load, found.enough, (found.load + load_of(field, owners)) // 2}:
            plan = with_few_moves(field, rule, owners, best=found, home=home, limit=limit)
            assert is_valid(group, plan)
            assert within_skew(group, plan, skew)
            assert load_of(field, plan) <= limit
            if not field.equal:
                most = max(moves_of(field, some, home) for some in (owners, found.owners))
                assert moves_of(field, plan, home) <= most + 2 * len(found.exchanges)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("skew", [1, 2, None])
def test_of_small_groups_there_are_the_fewest_moves(skew: int | None) -> None:
    for seed in range(20):
        rng = Random(seed)
        group = group_of(rng, members=3, topics=2, partitions=4, density=rng.choice((1, 0.7)), lag=40)
        field = Field(group)
        rule = rule_of(field, skew)
        plans = [plan for plan in every_owners(group) if within_skew(group, plan, skew)]
        owners = rng.choice(plans)
        home = history(rng, group, owners, kept=0.9)
        found = lightest(field, rule, owners, greedy=owners, bound=0, budget=Budget(10**8))
        plan = with_few_moves(field, rule, owners, best=found, home=home, limit=found.enough)
        fewest = min(moves_of(field, p, home) for p in plans if load_of(field, p) <= found.enough)
        assert moves_of(field, plan, home) == fewest


def busy(lags: list[int], *, members: int = 2, idle: int = 0) -> Group:
    """One topic, with more partitions that weigh what idle ones do."""
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
) -> list[int]:
    """The owners that ``with_few_moves`` returns."""
    field = Field(group)
    best_owners = np.array(owners if best is None else best, np.int32)
    lightest_plan = Lightest(load_of(field, best_owners), limit, list(exchanges), best_owners)
    plan = with_few_moves(
        field,
        rule_of(field, skew),
        np.array(owners, np.int32),
        best=lightest_plan,
        home=np.array(home, np.int32),
        limit=limit,
    )
    return [int(m) for m in plan]


def test_exchanges_end_where_the_load_is_low_enough() -> None:
    """The second one would take two more from their homes."""
    group = busy([60, 50, 40, 30])
    owners = [0, 0, 1, 1] + [0, 1] * 11
    exchanges = Exchange(0, 1, (1,), (2,)), Exchange(0, 1, (4,), (5,))
    after = [0, 1, 0, 1] + [0, 1] * 11
    assert saved(group, owners, limit=100, home=owners, exchanges=exchanges) == after
    assert saved(group, owners, limit=110, home=owners, exchanges=exchanges) == owners


def test_what_can_go_home_within_the_limit_does() -> None:
    """Of three exchanges on the way two were for little: the last one alone is enough."""
    group = busy([60, 50, 40, 30, 3, 2])
    owners = [0, 0, 1, 1] + [0, 1] * 11
    exchanges = Exchange(0, 1, (4,), (5,)), Exchange(0, 1, (6,), (7,)), Exchange(0, 1, (1,), (2,))
    plan = saved(group, owners, limit=103, home=owners, exchanges=exchanges)
    assert plan == [0, 1, 0, 1] + [0, 1] * 11
    plan = saved(group, owners, limit=102, home=owners, exchanges=exchanges)
    assert load_of(Field(group), np.array(plan, np.int32)) <= 102


def test_what_goes_home_brings_another_one_home() -> None:
    """Two that each have the other's: both go, though something heavier, that nobody had, would fit too."""
    lags = [10, 9, 10, 9]
    home = [0, 1, NOBODY, NOBODY] + [0, 1] * 11
    now = [1, 0, 0, 1] + [0, 1] * 11
    group = busy(lags)
    plan = saved(group, now, limit=20, home=home)
    assert plan == [0, 1, 0, 1] + [0, 1] * 11


def test_one_goes_home_for_nothing_where_counts_and_room_allow_it() -> None:
    """Just as much as there is room for; not if it is one more, or if the count would be."""
    group = busy([10, 20, 20], idle=1)
    home = [0] * 14 + [1] * 12
    now = [1, *home[1:]]  # 13 each
    assert saved(group, now, limit=61, home=home, skew=2) == home
    assert saved(group, now, limit=60, home=home, skew=2) == now
    assert saved(group, now, limit=61, home=home, skew=1) == now


def test_nobody_goes_home_where_that_makes_a_load_too_large() -> None:
    """The other member's counts as well: it would get something heavier for what it gives."""
    group = busy([5, 30, 50], idle=0)
    home = [0, NOBODY, NOBODY] + [0, 1] * 11 + [1]
    now = [1, 0, 1] + [0, 1] * 11 + [NOBODY]
    now[-1] = 0
    home[-1] = 0
    plan = saved(group, now, limit=55, home=home)
    loads = Field(group).loads(np.array(plan, np.int32))
    assert loads.max() <= 55


def test_parts_of_the_plan_go_to_who_had_most_of_them() -> None:
    """With equal subscriptions members can be renamed, and then nothing moves; one by one nothing fits."""
    group = busy([9, 8, 10, 6, 7, 5], members=3)
    home = [0, 1, 2, 0, 1, 2] + [0, 1] * 4 + [2] * 12
    found = [{0: 1, 1: 2, 2: 0}[m] for m in home]
    start = [0] * BUSY
    assert saved(group, start, limit=15, home=home, skew=None, best=found) == home


def test_with_unequal_subscriptions_nobody_is_renamed() -> None:
    """And nothing goes home that would send the other way what is not read there."""
    topics = {"t0": 13, "t1": 13}
    members = member("a", ["t0"]), member("b", ["t0", "t1"]), member("c", ["t1"])
    group = Group(members, topics, lags={"t0": [5] * 13, "t1": [5] * 13})
    start = [0] * 13 + [2] * 13
    home = [1] * 13 + [1] * 13
    found = [0] * 9 + [1] * 4 + [1] * 4 + [2] * 9
    plan = saved(group, start, limit=45, home=home, skew=None, best=found)
    assert is_valid(group, np.array(plan, np.int32))
    assert sum(was != now for was, now in zip(home, plan, strict=True)) == 17
