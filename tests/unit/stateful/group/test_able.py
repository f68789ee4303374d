"""Who can run what, where topologies differ."""

from __future__ import annotations

from kafka_assignors.plan import Group, Member
from kafka_assignors.plan.stateful import StatefulPlan, Task
from kafka_assignors.stateful import Subtopology, Topology
from kafka_assignors.stateful.group.able import Part, about_topologies, few, parts_of, together

TOPOLOGY = Topology((Subtopology("a", ("t",)), Subtopology("b", ("u", "v")), Subtopology("c", ("w",))))
A0, A1, B0 = Task("a", 0), Task("a", 1), Task("b", 0)


def group(topics: str, **members: str) -> Group:
    """Topics that exist, and members that subscribe to some; a letter each."""
    those = tuple(Member(name, frozenset(subscribes)) for name, subscribes in members.items())
    return Group(those, dict.fromkeys(topics, 2))


def test_members_of_one_topology_are_one_part() -> None:
    assert parts_of(TOPOLOGY, group("tuvw", m="tuvw", n="tuvw")) == [Part(("a", "b", "c"), ("m", "n"))]


def test_each_part_has_all_that_can_run_it() -> None:
    assert parts_of(TOPOLOGY, group("tuvw", m="tuvw", n="tu", o="tw")) == [
        Part(("a",), ("m", "n", "o")),
        Part(("b",), ("m",)),
        Part(("c",), ("m", "o")),
    ]


def test_a_topic_that_does_not_exist_is_in_nobodys_way() -> None:
    assert parts_of(TOPOLOGY, group("tu", m="tuvw", n="tu")) == [Part(("a", "b", "c"), ("m", "n"))]
    assert about_topologies(TOPOLOGY, group("tu", m="tuvw", n="tu")) == ""


def test_what_everybody_lacks_nobody_runs() -> None:
    assert Part(("b",), ()) in parts_of(TOPOLOGY, group("tuvw", m="tuw", n="tvw"))


def test_who_lacks_what_is_said_of_some() -> None:
    names = {f"m{number}": "tu" for number in range(7)}
    assert about_topologies(TOPOLOGY, group("tuvw", n="tuvw", **names)) == (
        "members differ in topology: m0 lacks v, w; m1 lacks v, w; m2 lacks v, w; m3 lacks v, w; "
        "m4 lacks v, w and 2 more"
    )


def test_some_names_and_how_many_more() -> None:
    assert few(list("abcde")) == "a, b, c, d, e"
    assert few(list("abcdef"), "; ") == "a; b; c; d; e and 1 more"


def test_plans_of_parts_are_one() -> None:
    """In all they say: what is built, and whether a better plan waits, are of any of them."""
    one = StatefulPlan(
        {"m": (A1,), "n": (A0,)}, {"m": (A0,)}, {"n": (A1,)}, False, {"n": (A1,)}, {"m": (A1,)}
    )
    other = StatefulPlan({"m": (B0,)}, {}, {"m": (B0,)}, True, {"m": (B0,)}, {"m": (B0,)})
    assert together([one, other]) == StatefulPlan(
        active={"m": (A1, B0), "n": (A0,)},
        standby={"m": (A0,)},
        warmup={"m": (B0,), "n": (A1,)},
        probing=True,
        target_active={"m": (B0,), "n": (A1,)},
        target_standby={"m": (A1, B0)},
    )
    assert together([one]) is one
