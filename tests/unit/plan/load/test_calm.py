"""The plan with only the moves that the rule of counts needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Assignment, Group, Member, plan_sticky, resolve
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.load.calm import calm_owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.working_plan import Budget, LoadProblem
from tests.support.plan.builders import member, next_generation
from tests.unit.plan.load.seeded import any_owners, every_owners, group_of, load_of, moves_of, within_skew


def calm(group: Group, skew: int | None) -> Owners:
    problem = LoadProblem(group)
    return calm_owners(
        group, resolve(group), problem, CountRule(problem, skew), bounds=LagBound(group), budget=Budget(10**8)
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


@pytest.mark.parametrize("skew", [1, 2, 3, 4, None])
def test_small_groups_get_the_fewest_moves_then_the_smallest_load(skew: int | None) -> None:
    """Where the planner guarantees it: a skew of 1, equal subscriptions, or no rule."""
    for seed in range(25 if skew in (1, None) else 15):
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


@pytest.mark.parametrize("skew", [2, 3, 4])
def test_equal_subscriptions_get_the_fewest_moves_of_all_counts(skew: int) -> None:
    """Two or three members own most partitions; up to two are new."""
    for seed in range(100):
        rng = Random(seed)
        topics, names, old = {"t0": rng.randint(4, 10), "t1": rng.randint(1, 6)}, "abcd", rng.randint(2, 3)
        owned_by: dict[str, dict[str, list[int]]] = {name: {"t0": [], "t1": []} for name in names}
        for topic, count in topics.items():
            for number in range(rng.randint(count - 1, count)):
                owned_by[names[(number + rng.randint(0, 1)) % old]][topic].append(number)
        group = next_generation(Group(tuple(member(name, topics) for name in names), topics), owned_by, 1)
        problem, home = LoadProblem(group), resolve(group).owner
        before = np.array([sum(map(len, owned_by[name].values())) for name in names])
        counts = [
            (*some, group.size - sum(some))
            for some in product(range(group.size + 1), repeat=3)
            if sum(some) <= group.size
        ]
        fewest = min(np.maximum(before - c, 0).sum() for c in counts if max(c) - min(c) <= skew)
        plan = calm(group, skew)
        assert within_skew(group, plan, skew)
        assert moves_of(problem, plan, home) == fewest


@pytest.mark.parametrize("others", [(), (member("d", ["t1"]),)], ids=["equal", "unequal"])
def test_each_of_several_owners_gives_no_more_than_it_must(others: tuple[Member, ...]) -> None:
    """With a skew of 3, counts of 6, 6 and 0 become 5, 5 and 2, not 4, 5 and 3."""
    members = member("a", owned={"t0": range(6)}), member("b", owned={"t0": range(6, 12)}), member("c")
    group = Group((*members, *others), {"t0": 12, "t1": 4})
    plan = calm(group, 3)
    assert LoadProblem(group).counts(plan).tolist() == [5, 5, 2] + [4] * len(others)


@pytest.mark.parametrize("density", [1, 0.5])
def test_many_topics_and_new_members_get_the_fewest_moves(density: float) -> None:
    """Fifty members own 200 partitions each, at most one or two of a topic; fifty join."""
    rng = Random(1)
    topics = {f"t{i}": 20 for i in range(500)}
    readers = [member(f"m{i}", [t for t in topics if rng.random() < density]) for i in range(100)]
    before = Group(tuple(readers[:50]), topics)
    before = next_generation(before, plan_sticky(before, resolve(before)), 1)
    group = replace(before, members=(*before.members, *readers[50:]))
    problem = LoadProblem(group)
    after = calm(group, 100)
    assert moves_of(problem, after, resolve(group).owner) == 2_500
    assert sorted(problem.counts(after).tolist()) == [50] * 50 + [150] * 50


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
