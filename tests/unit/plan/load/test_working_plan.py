"""A plan that changes by exchanges."""

from __future__ import annotations

from random import Random

import numpy as np

from kafka_assignors.plan import Group
from kafka_assignors.plan.load.working_plan import Exchange, LoadProblem, WorkingPlan
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import any_owners, group_of


def test_only_subscribed_partitions_are_dealt_among_players() -> None:
    """A topic without subscribers is not dealt; a member that reads only empty topics is no player."""
    group = Group(
        (member("a", ["t0", "t1"]), member("b", ["t0"]), member("c", ["t1"])), {"t0": 2, "t1": 0, "t2": 3}
    )
    problem = LoadProblem(group)
    assert (problem.assignable.tolist(), problem.subscribers.tolist(), problem.equal) == (
        [0, 1],
        [0, 1],
        True,
    )
    group = Group(group.members, {"t0": 2, "t1": 1, "t2": 3})
    problem = LoadProblem(group)
    assert (problem.assignable.tolist(), problem.subscribers.tolist(), problem.equal) == (
        [0, 1, 2],
        [0, 1, 2],
        False,
    )


def test_after_exchanges_the_state_equals_a_new_one() -> None:
    """Loads, counts, and each member's partitions in the order of their lag."""
    for seed in range(50):
        rng = Random(seed)
        group = group_of(rng, lag=5)
        problem = LoadProblem(group)
        plan = WorkingPlan(problem, any_owners(rng, group))
        for _ in range(5):
            high, low = rng.sample(range(len(group.members)), 2)
            gives, takes = plan.parts[high].tolist(), plan.parts[low].tolist()
            gives, takes = rng.sample(gives, min(len(gives), 2)), rng.sample(takes, min(len(takes), 1))
            plan.do(Exchange(high, low, tuple(gives), tuple(takes)))
        anew = WorkingPlan(problem, plan.owner)
        assert plan.loads.tolist() == anew.loads.tolist()
        assert plan.counts.tolist() == anew.counts.tolist()
        assert [lags.tolist() for lags in plan.lags] == [lags.tolist() for lags in anew.lags]
        for parts, lags, others in zip(plan.parts, plan.lags, anew.parts, strict=True):
            assert sorted(parts.tolist()) == sorted(others.tolist())
            assert problem.lag[parts].tolist() == lags.tolist() == sorted(lags.tolist())


def test_highest_is_the_senior_member_of_equal_loads() -> None:
    group = Group((member("a"), member("b"), member("c")), {"t0": 3}, lags={"t0": [1, 7, 7]})
    plan = WorkingPlan(LoadProblem(group), np.array([0, 1, 2], np.int32))
    assert (plan.highest, plan.load) == (1, 7)
