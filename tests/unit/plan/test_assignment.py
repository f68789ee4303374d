"""A plan as an array and as a mapping."""

from __future__ import annotations

import pytest

from kafka_assignors.plan import NO_MEMBER, Assignment, Group, Ownership
from tests.support.plan.builders import member

GROUP = Group((member("b"), member("a"), member("c")), {"t1": 2, "t0": 3})
PLAN: dict[str, Ownership] = {"a": {"t0": [0, 2], "t1": [1]}, "b": {"t0": [1]}, "c": {}}


def test_an_assignment_equals_the_dictionaries_it_was_built_from() -> None:
    """Members by seniority, topics by name, numbers ascending."""
    plan = Assignment.of(GROUP, PLAN)
    assert plan.owners.tolist() == [0, 1, 0, NO_MEMBER, 0]
    assert plan == PLAN
    assert list(plan) == ["a", "b", "c"]
    assert list(plan["a"]) == ["t0", "t1"]
    assert plan.counts.tolist() == [3, 1, 0]


def test_only_equal_plans_are_equal() -> None:
    assert Assignment.of(GROUP, PLAN) == Assignment.of(GROUP, PLAN)
    assert Assignment.of(GROUP, PLAN) != Assignment.of(GROUP, {**PLAN, "c": {"t1": [0]}})


def test_unknown_members_and_topics_are_errors() -> None:
    with pytest.raises(KeyError):
        Assignment.of(GROUP, {"x": {"t0": [0]}})
    with pytest.raises(KeyError):
        Assignment.of(GROUP, {"a": {"gone": [0]}})
    with pytest.raises(KeyError):
        Assignment.of(GROUP, PLAN)["x"]


@pytest.mark.parametrize("members", [3, 2**15 + 1])
def test_groups_of_any_size_are_sorted_alike(members: int) -> None:
    """The indices of the large group do not fit into 16 bits."""
    group = Group(tuple(member(f"m{i:05d}") for i in range(members)), {"t0": members})
    plan = Assignment.of(group, {f"m{i:05d}": {"t0": [members - 1 - i]} for i in range(members)})
    last = f"m{members - 1:05d}"
    assert plan[last] == {"t0": [0]}
    assert plan["m00000"] == {"t0": [members - 1]}
