"""Lower bounds of loads and moves."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given

from bench.lag.lags import fair_lag_bound, moves_lower_bound
from kafka_assignors.plan import (
    Group,
    lag_lower_bound,
    load_lower_bound,
    plan_cooperative_lag_aware,
    quick_lag_bound,
    resolve,
)
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.load.working_plan import LoadProblem
from tests.support.plan.builders import groups, lagging, member
from tests.unit.plan.load.seeded import every_owners, group_of, load_of


def by_crowded_topics(group: Group) -> int:
    """The bound by Hall's theorem: the most partitions per subscriber of any set of topics."""
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
def test_load_bound_is_exact_for_any_subscriptions(group: Group) -> None:
    """Compared with an independent computation without a plan."""
    assert load_lower_bound(group) == by_crowded_topics(group)


def test_a_group_without_members_has_no_load() -> None:
    assert load_lower_bound(Group((), {"t0": 3})) == 0


EVERYTHING = ("t0", "t1")
BOUNDS = (lag_lower_bound, quick_lag_bound)

OF_ONE_TOPIC = {
    "the heaviest partition": (2, [100, 1, 1], (100, 100, 100)),
    "an even part": (2, [3, 3, 3, 1, 1], (6, 6, 6)),
    "whole records": (2, [1, 1, 1], (2, 2, 2)),
    "one has two of three heavy ones": (2, [9, 10, 8], (17, 17, 17)),
    "two of three have two of five, or one has three": (3, [9, 8, 7, 6, 5], (13, 13, 13)),
    "those two have 27 together, so one has 14": (3, [9, 8, 7, 6, 6], (13, 14, 14)),
    "the quick bound sorts no more than 10,000": (2, [10] * 10_001, (50_005, 50_010, 50_010)),
    "with even counts the heaviest one is not alone": (2, [100, 5, 6, 7], (100, 100, 105)),
    # With three each, the two with four of the five have two light ones too: at least 31 together.
    "with even counts two members have light ones too": (3, [9, 8, 7, 7, 7, 1, 1, 1, 1], (14, 15, 16)),
    "with even counts the one with 11 of 21 has 10 light ones too": (
        2,
        [10] * 21 + [1] * 21,
        (116, 116, 120),
    ),
}


@pytest.mark.parametrize(("members", "lags", "expected"), OF_ONE_TOPIC.values(), ids=OF_ONE_TOPIC)
def test_quick_exact_and_fair_bound_of_one_topic(
    members: int, lags: list[int], expected: tuple[int, int, int]
) -> None:
    group = Group(tuple(member(name) for name in "abc"[:members]), {"t0": len(lags)}, lags={"t0": lags})
    assert (quick_lag_bound(group), lag_lower_bound(group), fair_lag_bound(group)) == expected


def test_lag_bounds_are_weighted_by_the_capacities_of_the_subscribers() -> None:
    """The fast member reads 80 of 100 records, and may not read those of the second topic."""
    slow, fast = replace(member("a", EVERYTHING), capacity=1.0), replace(member("b", ["t0"]), capacity=4.0)
    group = Group((slow, fast), {"t0": 10}, lags={"t0": [10] * 10})
    assert [bound(group) for bound in BOUNDS] == [80, 80]
    group = Group((slow, fast), {"t0": 1, "t1": 3}, lags={"t0": [30], "t1": [7] * 3})
    assert [bound(group) for bound in BOUNDS] == [84, 84]


def test_lag_of_a_topic_falls_on_its_subscribers() -> None:
    group = Group(
        (member("a", ["t0"]), member("b", ["t0"]), *(member(f"c{i}", ["t1"]) for i in range(6))),
        {"t0": 20, "t1": 6},
        lags={"t0": [10] * 20, "t1": [1] * 6},
    )
    assert [bound(group) for bound in BOUNDS] == [100, 100]


def test_a_topic_without_subscribers_does_not_count() -> None:
    """In any place among the topics."""
    for name in ("a", "t00", "z"):
        group = Group((member("a", ["t0", "t1"]),), {"t0": 1, "t1": 1, name: 1}, lags={name: [99], "t0": [1]})
        assert [bound(group) for bound in BOUNDS] == [1, 1]


def test_a_group_without_subscribers_has_no_lag() -> None:
    for bound in BOUNDS:
        assert bound(Group((), {"t0": 1}, lags={"t0": [7]})) == 0
    assert fair_lag_bound(Group((member("a", ()),), {"t0": 1}, lags={"t0": [7]})) == 0


def test_moves_bound_gives_away_the_heaviest_first() -> None:
    """One member owns 50, 30, 20 and 5."""
    group = Group(
        (member("a", owned={"t0": [0, 1, 2, 3]}), member("b")), {"t0": 4}, lags={"t0": [5, 50, 30, 20]}
    )
    claims = resolve(group)
    moves = {load: moves_lower_bound(group, claims, load) for load in (105, 104, 55, 54, 25, 5, 4)}
    assert moves == {105: 0, 104: 1, 55: 1, 54: 2, 25: 2, 5: 3, 4: 4}


@given(group=lagging(groups()))
def test_no_fair_plan_is_below_the_fair_bound(group: Group) -> None:
    plan = plan_cooperative_lag_aware(group, resolve(group), min_improvement=0)
    loads = [0] * (len(group.members) + 1)
    for owner, lag in zip(plan.owners.tolist(), group.lag.tolist(), strict=True):
        loads[owner] += lag
    largest = max(loads[:-1])
    assert lag_lower_bound(group) <= fair_lag_bound(group) <= largest


@pytest.mark.parametrize(("density", "exactly"), [(1, 0.865), (0.6, 0.823)])
def test_bounds_compared_with_all_plans_of_small_groups(density: float, exactly: float) -> None:
    """A bound is never above the least load, and equal to it at least as often as before."""
    exact = asked = 0
    for seed in range(120):
        rng = Random(seed)
        group = group_of(rng, members=3, topics=3, partitions=3, density=density, lag=rng.choice((5, 100)))
        problem, bounds = LoadProblem(group), LagBound(group)
        plans = [(problem.counts(plan), load_of(problem, plan)) for plan in every_owners(group)]
        squares = min((counts**2).sum() for counts, _ in plans)
        fair = min(load for counts, load in plans if (counts**2).sum() == squares)
        assert fair_lag_bound(group) <= fair
        fewest = np.array([rng.choice((0, 0, 1, 2, 3)) for _ in group.members])
        enough = [load for counts, load in plans if (counts >= fewest).all()]
        exact += fair_lag_bound(group) == fair
        asked += 1
        if enough:
            assert bounds.of_plans(fewest) <= min(enough)
            exact += bounds.of_plans(fewest) == min(enough)
            asked += 1
    assert exact / asked >= exactly
