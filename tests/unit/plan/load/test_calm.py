"""The plan with only the moves that the rule of counts needs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Assignment, Group, resolve
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.load.calm import calm_owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.working_plan import Budget, LoadProblem
from tests.support.builders import member, next_generation
from tests.unit.plan.load.seeded import (
    any_owners,
    every_owners,
    group_of,
    load_of,
    moves_of,
    within_skew,
)


def calm(group: Group, skew: int | None) -> Owners:
    problem = LoadProblem(group)
    return calm_owners(
        group,
        resolve(group),
        problem,
        CountRule(problem, skew),
        bounds=LagBound(group),
        budget=Budget(10**8),
    )


def owned(rng: Random, group: Group) -> Group:
    """Give most partitions a random owner; one member may be new."""
    owners = any_owners(rng, group)
    new = rng.choice((-1, 0))
    owned_by = {m.member_id: dict[str, list[int]]() for m in group.members}
    for partition, m in enumerate(owners.tolist()):
        if m not in (-1, new) and rng.random() < 0.8:
            topic, number = group.at(partition)
            owned_by[group.members[m].member_id].setdefault(topic, []).append(number)
    return next_generation(group, owned_by, 1)


@pytest.mark.parametrize("skew", [1, 2, 3, None])
def test_small_groups_get_the_fewest_moves_then_the_smallest_load(skew: int | None) -> None:
    """Where the planner guarantees it: a skew of 1, equal subscriptions, or no rule."""
    for seed in range(25 if skew in (1, None) else 10):
        rng = Random(seed)
        density = rng.choice((1, 0.7)) if skew in (1, None) else 1
        group = owned(rng, group_of(rng, members=3, topics=2, partitions=4, density=density, lag=50))
        problem, home = LoadProblem(group), resolve(group).owner
        plans = [
            (moves_of(problem, plan, home), load_of(problem, plan))
            for plan in every_owners(group)
            if within_skew(group, plan, skew)
        ]
        plan = calm(group, skew)
        assert within_skew(group, plan, skew)
        assert (moves_of(problem, plan, home), load_of(problem, plan)) == min(plans)


@pytest.mark.parametrize("skew", [2, 3])
def test_plans_keep_the_rule_and_do_not_change_where_it_is_kept_already(skew: int) -> None:
    """With unequal subscriptions, where moves may need a chain of members."""
    for seed in range(40):
        rng = Random(seed)
        group = group_of(rng, members=6, topics=4, partitions=8, density=0.5)
        group = next_generation(group, Assignment(group, any_owners(rng, group)), 1)
        home = resolve(group).owner
        plan = calm(group, skew)
        assert within_skew(group, plan, skew)
        if within_skew(group, home, skew):
            assert plan.tolist() == home.tolist()


def test_no_more_partitions_move_than_the_rule_needs() -> None:
    """The member with six partitions more gives its heaviest ones, and only as many as it must."""
    group = Group(
        (member("a", owned={"t0": range(30)}), member("b", owned={"t0": range(30, 54)})),
        {"t0": 54},
        lags={"t0": [*range(30), *[1] * 24]},
    )
    for skew, moved in ((2, [28, 29]), (3, [28, 29]), (4, [29]), (5, [29]), (6, []), (None, [])):
        plan = calm(group, skew)
        assert np.flatnonzero(plan != resolve(group).owner).tolist() == moved


@pytest.mark.parametrize("skew", [1, None])
def test_free_partitions_of_larger_groups_are_placed_near_the_bound(skew: int | None) -> None:
    """Partitions without an owner are dealt by lag, then exchanged, without moves."""
    for seed in range(10):
        rng = Random(seed)
        members = tuple(member(f"m{i}") for i in range(4))
        group = Group(members, {"t0": 40}, lags={"t0": [rng.randint(0, 10**4) for _ in range(40)]})
        load = load_of(LoadProblem(group), calm(group, skew))
        assert load <= -(-int(group.lag.sum()) // 4) * (1 + 1 / 1024)
