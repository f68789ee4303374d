"""Branch and bound, compared with all plans."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group, Member
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exact import MOST_SEARCHED_PARTITIONS, best_plan
from kafka_assignors.plan.load.working_plan import LoadProblem
from kafka_assignors.plan.model import NO_MEMBER
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import (
    UNEQUAL,
    any_owners,
    every_owners,
    group_of,
    history,
    load_of,
    moves_of,
)


@pytest.mark.parametrize(
    # Members without history may be interchangeable, and the search skips all of them but one.
    ("with_history", "by_moves"),
    [(True, False), (True, True), (False, False)],
)
@pytest.mark.parametrize("skew", [1, 2, None])
@pytest.mark.parametrize("capacities", [(1.0,), UNEQUAL])
def test_the_best_plan_within_limits_is_found(
    skew: int | None, with_history: bool, by_moves: bool, capacities: tuple[float, ...]
) -> None:
    """The smallest load, or the fewest moves; None if no plan keeps the limits and the rule."""
    solved = 0
    seeds = range(25) if with_history else range(25, 100)
    for seed in seeds:
        rng = Random(seed)
        group = group_of(
            rng,
            members=4,
            topics=2 if with_history else 4,
            partitions=3 if with_history else 2,
            density=rng.choice((1, 0.7)) if with_history else 0.5,
            lag=rng.choice((3, 30)),
            capacities=capacities,
        )
        problem = LoadProblem(group)
        rule = CountRule(problem, skew)
        plans = list(every_owners(group))
        kept = next(p for p in plans if skew is None or fair(problem, p, plans, skew))
        home = np.full(group.size, NO_MEMBER, np.int32)
        if with_history:
            home = history(rng, group, any_owners(rng, group), kept=0.8)
        anchor = plans[rng.randrange(len(plans))]
        load, moves = load_of(problem, anchor), moves_of(problem, anchor, home)
        some = [
            plan
            for plan in plans
            if load_of(problem, plan) <= load
            and moves_of(problem, plan, home) <= moves
            and rule.allows(plan, kept)
        ]
        plan = best_plan(
            problem,
            home,
            (load, moves),
            by_moves=by_moves,
            enough=0,
            largest_count=rule.largest(kept),
            fits=partial(rule.allows, kept=kept),
        )
        assert (plan is None) == (not some)
        if plan is None:
            continue
        solved += 1
        assert any(np.array_equal(plan, other) for other in some)
        if by_moves:
            assert moves_of(problem, plan, home) == min(moves_of(problem, other, home) for other in some)
        else:
            assert load_of(problem, plan) == min(load_of(problem, other) for other in some)
    assert solved > 0.8 * len(seeds)


def fair(problem: LoadProblem, plan: Owners, plans: list[Owners], skew: int) -> bool:
    """Whether a plan keeps the rule; computed independently for a skew of 1."""
    if skew != 1:
        return CountRule(problem, skew).is_met(plan)
    squares = [int((problem.counts(p) ** 2).sum()) for p in plans]
    return int((problem.counts(plan) ** 2).sum()) == min(squares)


def some_plan(
    lags: list[int], home: list[int], limits: tuple[int, int], *, largest_count: int = 99
) -> list[int] | None:
    """The best plan of two members, by load."""
    group = Group((member("a"), member("b")), {"t0": len(lags)}, lags={"t0": lags})
    plan = best_plan(
        LoadProblem(group),
        np.array(home, np.int32),
        limits,
        by_moves=False,
        enough=0,
        largest_count=largest_count,
        fits=lambda _: True,
    )
    return None if plan is None else [int(m) for m in plan]


def test_no_member_exceeds_largest_count() -> None:
    plans = [some_plan([9, 1, 1, 1], [-1] * 4, (99, 0), largest_count=most) for most in (4, 2, 1)]
    assert plans == [[0, 1, 1, 1], [0, 1, 1, 0], None]


@pytest.mark.parametrize(("limits", "is_found"), [((5, 1), True), ((4, 1), False), ((5, 0), False)])
def test_a_plan_may_be_exactly_at_the_limits(limits: tuple[int, int], is_found: bool) -> None:
    assert (some_plan([5, 5], [0, 0], limits) is not None) is is_found


def test_more_than_most_partitions_are_not_searched() -> None:
    for partitions in (MOST_SEARCHED_PARTITIONS, MOST_SEARCHED_PARTITIONS + 1):
        plan = some_plan([1] * partitions, [0] * partitions, (99, 0))
        assert (plan is None) is (partitions > MOST_SEARCHED_PARTITIONS)


@pytest.mark.parametrize(("members", "most"), [(16, 12_000), (300, 640)])
def test_a_search_of_many_members_visits_fewer_nodes(members: int, most: int) -> None:
    """A node costs a step for each member.  Here nearly all nodes are complete plans, and none fits."""
    readers = tuple(Member(f"m{i}", frozenset({"t0"}), capacity=1 + i / 512) for i in range(members))
    group = Group(readers, {"t0": 24}, lags={"t0": list(range(24))})
    complete = 0

    def fits(_: Owners) -> bool:
        nonlocal complete
        complete += 1
        return False

    home = np.full(group.size, NO_MEMBER, np.int32)
    limits = 10**6, group.size
    best_plan(LoadProblem(group), home, limits, by_moves=False, enough=0, largest_count=24, fits=fits)
    assert most * 0.9 < complete < most


def test_each_plan_found_is_better_than_those_before() -> None:
    """Also with partitions placed before the limit fell: C and D read little of a group of four members."""
    readers = [member(m, ("small", "large")) for m in "ab"] + [member(m, ("small",)) for m in "cd"]
    group = Group(tuple(readers), {"large": 4, "small": 2}, lags={"large": [10, 7, 7, 6], "small": [1, 1]})
    problem, found = LoadProblem(group), []

    def fits(owners: Owners) -> bool:
        found.append(load_of(problem, owners))
        return True

    home = np.full(group.size, NO_MEMBER, np.int32)
    best_plan(problem, home, (17, 9), by_moves=False, enough=0, largest_count=9, fits=fits)
    assert found == sorted(set(found), reverse=True)
