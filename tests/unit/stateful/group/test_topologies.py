"""Groups whose members have different topologies."""

from __future__ import annotations

from kafka_assignors.plan import Group, Member
from kafka_assignors.plan.stateful import StatefulPlan, Task
from kafka_assignors.stateful import Subtopology, Topology
from kafka_assignors.stateful.group.topologies import (
    merge_plans,
    subgroups,
    topology_warning,
)

TOPOLOGY = Topology((Subtopology("a", ("t",)), Subtopology("b", ("u", "v")), Subtopology("c", ("w",))))
A0, A1, B0 = Task("a", 0), Task("a", 1), Task("b", 0)


def group(topics: str, **members: str) -> Group:
    """Existing topics, and the topics of each member; one letter a topic."""
    those = tuple(Member(name, frozenset(subscribes)) for name, subscribes in members.items())
    return Group(those, dict.fromkeys(topics, 2))


def test_each_subgroup_has_all_members_that_can_run_it() -> None:
    assert list(subgroups(TOPOLOGY, group("tuvw", m="tuvw", n="tu", o="tw")).items()) == [
        (("m", "n", "o"), ["a"]),
        (("m",), ["b"]),
        (("m", "o"), ["c"]),
    ]


def test_missing_topic_excludes_no_member() -> None:
    assert subgroups(TOPOLOGY, group("tu", m="tuvw", n="tu")) == {("m", "n"): ["a", "b", "c"]}
    assert topology_warning(TOPOLOGY, group("tu", m="tuvw", n="tu")) == ""


def test_subtopology_that_no_member_can_run_has_no_members() -> None:
    assert subgroups(TOPOLOGY, group("tuvw", m="tuw", n="tvw"))[()] == ["b"]


def test_warning_names_five_members() -> None:
    names = {f"m{number}": "tu" for number in range(7)}
    assert topology_warning(TOPOLOGY, group("tuvw", n="tuvw", **names)) == (
        "members do not subscribe to all source topics: m0 without v, w; m1 without v, w; m2 without v, w; "
        "m3 without v, w; m4 without v, w and 2 more. Expected during a rolling deploy; otherwise deploy the "
        "same topology on all members"
    )


def test_plans_of_subgroups_are_merged() -> None:
    """Also warm-ups and probing."""
    first = StatefulPlan(
        {"m": (A1,), "n": (A0,)}, {"m": (A0,)}, {"n": (A1,)}, False, {"n": (A1,)}, {"m": (A1,)}
    )
    second = StatefulPlan({"m": (B0,)}, {}, {"m": (B0,)}, True, {"m": (B0,)}, {"m": (B0,)})
    assert merge_plans([first, second]) == StatefulPlan(
        active={"m": (A1, B0), "n": (A0,)},
        standby={"m": (A0,)},
        warmup={"m": (B0,), "n": (A1,)},
        probing=True,
        target_active={"m": (B0,), "n": (A1,)},
        target_standby={"m": (A1, B0)},
    )
    assert merge_plans([first]) is first
