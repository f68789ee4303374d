"""What no plan can go below."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given

from kafka_assignors.plan import (
    Group,
    lag_lower_bound,
    load_lower_bound,
    moves_lower_bound,
    plan_cooperative_lag_aware,
    resolve,
)
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.load.standing import Field
from tests.support.builders import groups, lagging, member
from tests.unit.plan.load.seeded import every_owners, group_of, load_of


def by_crowded_topics(group: Group) -> int:
    """Hall's theorem: some set of topics needs so many from each of its subscribers, and none needs more."""
    subscribers = {
        topic: {m.member_id for m in group.members if topic in m.topics}
        for topic, count in group.topics.items()
        if count
    }
    subscribers = {topic: members for topic, members in subscribers.items() if members}
    return max(
        (
            -(-sum(group.topics[t] for t in some) // len(set().union(*(subscribers[t] for t in some))))
            for size in range(1, len(subscribers) + 1)
            for some in combinations(subscribers, size)
        ),
        default=0,
    )


@given(group=groups())
def test_it_is_exact_for_any_subscriptions(group: Group) -> None:
    """Found in another way, without a plan: no valid plan has less, and one has just that."""
    assert load_lower_bound(group) == by_crowded_topics(group)


def test_one_crowded_topic_counts_however_many_members_idle_elsewhere() -> None:
    group = Group((member("a", ["t0"]), member("b", ["t1"]), member("c", ["t1"])), {"t0": 7, "t1": 2})
    assert load_lower_bound(group) == 7


def test_nobody_has_nothing() -> None:
    assert load_lower_bound(Group((), {"t0": 3})) == 0


EVERYTHING = ("t0", "t1")


def test_no_lag_is_below_the_heaviest_partition_or_an_even_part() -> None:
    two = (member("a"), member("b"))
    assert lag_lower_bound(Group(two, {"t0": 3}, lags={"t0": [100, 1, 1]})) == 100
    assert lag_lower_bound(Group(two, {"t0": 5}, lags={"t0": [3, 3, 3, 1, 1]})) == 6


def test_who_has_one_of_the_heavy_ones_too_many_has_the_lightest_two_of_them() -> None:
    """Three of 10, 9 and 8 on two members: somebody has two, which is 17 at least; half of all is 14."""
    group = Group((member("a"), member("b")), {"t0": 3}, lags={"t0": [9, 10, 8]})
    assert lag_lower_bound(group) == 17


def test_with_even_counts_the_heaviest_has_company() -> None:
    """Of four partitions on two members everybody has two: the heaviest one, and the lightest at least."""
    group = Group((member("a"), member("b")), {"t0": 4}, lags={"t0": [100, 5, 6, 7]})
    assert lag_lower_bound(group) == 100
    assert lag_lower_bound(group, fair=True) == 105


def test_lag_that_only_some_read_falls_on_those() -> None:
    group = Group(
        (member("a", ["t0"]), member("b", ["t0"]), *(member(f"c{i}", ["t1"]) for i in range(6))),
        {"t0": 20, "t1": 6},
        lags={"t0": [10] * 20, "t1": [1] * 6},
    )
    assert lag_lower_bound(group) == 100


def test_what_nobody_reads_does_not_count() -> None:
    """Wherever it stands among the topics."""
    for name in ("a", "t00", "z"):
        group = Group((member("a", ["t0", "t1"]),), {"t0": 1, "t1": 1, name: 1}, lags={name: [99], "t0": [1]})
        assert lag_lower_bound(group) == 1


def test_nobody_has_no_lag() -> None:
    assert lag_lower_bound(Group((), {"t0": 1}, lags={"t0": [7]})) == 0
    assert lag_lower_bound(Group((member("a", ()),), {"t0": 1}, lags={"t0": [7]}), fair=True) == 0


def test_too_much_is_given_away_heaviest_first() -> None:
    """Of 50, 30, 20 and 5 with 60 allowed one must go; with 50 allowed two, or the first one and another."""
    group = Group(
        (member("a", owned={"t0": [0, 1, 2, 3]}), member("b")), {"t0": 4}, lags={"t0": [5, 50, 30, 20]}
    )
    claims = resolve(group)
    assert [moves_lower_bound(group, claims, load) for load in (105, 104, 55, 54, 25, 5, 4)] == [
        0,
        1,
        1,
        2,
        2,
        3,
        4,
    ]


@given(group=lagging(groups()))
def test_fair_plans_are_not_below_the_bound_of_fair_plans(group: Group) -> None:
    plan = plan_cooperative_lag_aware(group, resolve(group), min_improvement=0)
    loads = [0] * (len(group.members) + 1)
    for owner, lag in zip(plan.owners.tolist(), group.lag.tolist(), strict=True):
        loads[owner] += lag
    largest = max(loads[:-1])
    assert lag_lower_bound(group) <= lag_lower_bound(group, fair=True) <= largest


def test_several_have_too_many_heavy_ones() -> None:
    """Of five heavy ones on three members two have two, or one has three: that is 13 at least."""
    group = Group(tuple(member(name) for name in "abc"), {"t0": 5}, lags={"t0": [9, 8, 7, 6, 5]})
    assert lag_lower_bound(group) == 13


def test_loads_are_whole_records() -> None:
    """As above, but two have 27 together, so that one has 14."""
    group = Group(tuple(member(name) for name in "abc"), {"t0": 5}, lags={"t0": [9, 8, 7, 6, 6]})
    assert lag_lower_bound(group) == 14
    group = Group((member("a"), member("b")), {"t0": 3}, lags={"t0": [1, 1, 1]})
    assert lag_lower_bound(group) == 2


def test_several_that_have_too_many_heavy_ones_have_others_too() -> None:
    """With three each the two that have four of the five have two light ones besides: 31 at least."""
    lags = [9, 8, 7, 7, 7, 1, 1, 1, 1]
    group = Group(tuple(member(name) for name in "abc"), {"t0": 9}, lags={"t0": lags})
    assert lag_lower_bound(group) == 15
    assert lag_lower_bound(group, fair=True) == 16


def test_who_has_one_of_many_heavy_ones_too_many_has_others_too() -> None:
    """Of 21 heavy ones somebody has 11; with 21 each it has 10 light ones besides."""
    group = Group((member("a"), member("b")), {"t0": 42}, lags={"t0": [10] * 21 + [1] * 21})
    assert lag_lower_bound(group) == 116
    assert lag_lower_bound(group, fair=True) == 120


@pytest.mark.parametrize(("density", "exactly"), [(1, 0.865), (0.6, 0.823)])
def test_beside_every_plan_of_small_groups(density: float, exactly: float) -> None:
    """Never above the least load of the plans asked for, and so often just that: no less than it was."""
    exact = asked = 0
    for seed in range(120):
        rng = Random(seed)
        group = group_of(rng, members=3, topics=3, partitions=3, density=density, lag=rng.choice((5, 100)))
        field, bounds = Field(group), LagBound(group)
        plans = [(field.counts(plan), load_of(field, plan)) for plan in every_owners(group)]
        squares = min((counts**2).sum() for counts, _ in plans)
        fair = min(load for counts, load in plans if (counts**2).sum() == squares)
        assert lag_lower_bound(group, fair=True) <= fair
        fewest = np.array([rng.choice((0, 0, 1, 2, 3)) for _ in group.members])
        enough = [load for counts, load in plans if (counts >= fewest).all()]
        exact += lag_lower_bound(group, fair=True) == fair
        asked += 1
        if enough:
            assert bounds.of_plans(fewest) <= min(enough)
            exact += bounds.of_plans(fewest) == min(enough)
            asked += 1
    assert exact / asked >= exactly
