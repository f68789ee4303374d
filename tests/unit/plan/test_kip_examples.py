"""The examples of KIP-54 ("Example 1" to "3") and of the strategies' own documentation."""

from __future__ import annotations

import pytest

from kafka_assignors.plan import (
    Assignment,
    Group,
    measure,
    plan_fair,
    plan_range,
    plan_roundrobin,
    plan_sticky,
    resolve,
)
from tests.support.plan.builders import member, next_generation


def sticky(group: Group) -> Assignment:
    return plan_sticky(group, resolve(group))


def without(group: Group, member_id: str) -> Group:
    return Group(tuple(m for m in group.members if m.member_id != member_id), group.topics)


FOUR_TOPICS = {f"t{i}": 2 for i in range(4)}
EXAMPLE_1 = Group(tuple(member(f"C{i}", FOUR_TOPICS) for i in range(3)), FOUR_TOPICS)
EXAMPLE_1_FRESH = {
    "C0": {"t0": [0], "t1": [1], "t3": [0]},
    "C1": {"t0": [1], "t2": [0], "t3": [1]},
    "C2": {"t1": [0], "t2": [1]},
}
EXAMPLE_2 = Group(
    (member("C0", ["t0"]), member("C1", ["t0", "t1"]), member("C2", ["t0", "t1", "t2"])),
    {"t0": 1, "t1": 2, "t2": 3},
)
EXAMPLE_3 = Group((member("C0", ["t0", "t1"]), member("C1", ["t0", "t1"])), {"t0": 2, "t1": 2})


@pytest.mark.parametrize("planner", [plan_roundrobin, plan_fair, sticky])
def test_example_1_fresh(planner: object) -> None:
    """Three members, four topics of two: sticky and round robin agree on a first plan."""
    assert callable(planner)
    assert planner(EXAMPLE_1) == EXAMPLE_1_FRESH


def test_example_1_c1_leaves() -> None:
    """Round robin moves partitions between the other members, sticky keeps all five."""
    group = without(next_generation(EXAMPLE_1, EXAMPLE_1_FRESH, 1), "C1")
    plan = sticky(group)
    assert plan["C0"].keys() >= {"t0", "t1", "t3"}
    assert measure(group, resolve(group), plan).kept == 5
    assert sorted(sum(map(len, topics.values())) for topics in plan.values()) == [4, 4]
    assert plan_roundrobin(group) == {
        "C0": {"t0": [0], "t1": [0], "t2": [0], "t3": [0]},
        "C2": {"t0": [1], "t1": [1], "t2": [1], "t3": [1]},
    }


def test_example_2_fresh() -> None:
    """Unequal subscriptions: round robin leaves C2 with four of six, sticky is fair."""
    assert plan_roundrobin(EXAMPLE_2) == {
        "C0": {"t0": [0]},
        "C1": {"t1": [0]},
        "C2": {"t1": [1], "t2": [0, 1, 2]},
    }
    assert sticky(EXAMPLE_2) == {"C0": {"t0": [0]}, "C1": {"t1": [0, 1]}, "C2": {"t2": [0, 1, 2]}}


def test_example_2_c0_leaves() -> None:
    """Sticky keeps the five partitions that have an owner, and is balanced."""
    group = without(next_generation(EXAMPLE_2, sticky(EXAMPLE_2), 1), "C0")
    assert sticky(group) == {"C1": {"t0": [0], "t1": [0, 1]}, "C2": {"t2": [0, 1, 2]}}


def test_example_3_fresh() -> None:
    """Range, round robin and sticky agree."""
    expected = {"C0": {"t0": [0], "t1": [0]}, "C1": {"t0": [1], "t1": [1]}}
    assert plan_range(EXAMPLE_3) == plan_roundrobin(EXAMPLE_3) == sticky(EXAMPLE_3) == expected


def test_example_3_c2_joins() -> None:
    """Range starves C2, round robin moves two, sticky moves one."""
    before = next_generation(EXAMPLE_3, sticky(EXAMPLE_3), 1)
    group = Group((*before.members, member("C2", ["t0", "t1"])), before.topics)
    assert plan_range(group) == {"C0": {"t0": [0], "t1": [0]}, "C1": {"t0": [1], "t1": [1]}, "C2": {}}
    assert plan_roundrobin(group) == {"C0": {"t0": [0], "t1": [1]}, "C1": {"t0": [1]}, "C2": {"t1": [0]}}
    plan = sticky(group)
    assert measure(group, resolve(group), plan).kept == 3
    assert sorted(sum(map(len, topics.values())) for topics in plan.values()) == [1, 1, 2]


def test_range_co_locates_equal_topics() -> None:
    """One member has partition i of all topics with equal counts and subscribers."""
    group = Group((member("a", ["l", "r"]), member("b", ["l", "r"])), {"l": 5, "r": 5})
    assert all(topics["l"] == topics["r"] for topics in plan_range(group).values())
