"""A plan that this package did not make is checked, and converted if it is dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_assignors import PlanError
from kafka_assignors.plan import Assignment, Group, as_assignment, plan_range
from tests.support.plan.builders import member

GROUP = Group((member("a", ["t", "u"]), member("b", ["t"])), {"t": 3, "u": 1, "unread": 2})
VALID = {"a": {"t": [0, 1], "u": [0]}, "b": {"t": [2]}}


@pytest.mark.parametrize(
    "plan",
    [
        VALID,
        {"a": [("t", 0), ("t", 1), ("u", 0)], "b": (("t", 2),)},
        {"a": iter([("u", 0), ("t", 0), ("t", 1)]), "b": {"t": range(2, 3)}},
        {"a": {"t": np.array([0, 1]), "u": {0}}, "b": [("t", np.int64(2))]},
        Assignment.of(GROUP, VALID),
        Assignment.of(replace(GROUP, members=(member("b", ["t"]), member("a", ["t", "u"]))), VALID),
        Assignment.of(Group(GROUP.members, {"t": 3, "u": 1}), VALID),
    ],
    ids=["dicts", "pairs", "iterators", "numpy", "assignment", "of a copy", "of a smaller group"],
)
def test_valid_plan_becomes_an_assignment(plan: object) -> None:
    checked = as_assignment(GROUP, plan)
    assert checked == VALID
    assert checked.group is GROUP


def test_members_without_partitions_may_be_left_out() -> None:
    plan = {"a": {"t": [0, 1, 2], "u": [0]}}
    assert as_assignment(GROUP, plan) == {**plan, "b": {}}


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (None, "plan() returned nothing, expected an Assignment or a dict of member ids"),
        ([("t", 0)], "plan() returned a list, expected an Assignment or a dict of member ids"),
        ({**VALID, "c": []}, "c is no member of the group"),
        ({**VALID, "\x1b": []}, r"'\x1b' is no member of the group"),
        ({5: []}, "5 is no member of the group"),
        ({**VALID, "b": [("t", 1), ("t", 2)]}, "t-1 is assigned twice, to a and b"),
        ({**VALID, "b": [("t", 2), ("t", 2)]}, "t-2 is assigned twice, both times to b"),
        ({**VALID, "b": {"t": [2], "x": [0]}}, "x is no known topic"),
        ({**VALID, "b": [(["t"], 2)]}, "['t'] is no known topic"),
        ({**VALID, "b": [("t", 3)]}, "t has no partition 3, it has 3"),
        ({**VALID, "b": [("t", -1)]}, "t has no partition -1, it has 3"),
        ({**VALID, "b": [("t", "2")]}, "t has no partition '2', it has 3"),
        ({**VALID, "b": [("t", True)]}, "t has no partition True, it has 3"),
        ({**VALID, "b": None}, "the entry of b must be (topic, partition) pairs, or a dict of topics"),
        ({**VALID, "b": "t-2"}, "the entry of b must be (topic, partition) pairs, or a dict of topics"),
        ({**VALID, "b": {"t": 2}}, "the entry of b must be (topic, partition) pairs, or a dict of topics"),
        ({"a": VALID["a"], "b": []}, "t-2 is left without an owner"),
        ({}, "t-0 and 3 more are left without an owner"),
        (
            {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("u", 0)]},
            "u-0 is assigned to b, which does not subscribe",
        ),
        (
            {**VALID, "b": [("t", 2), ("unread", 0), ("unread", 1)]},
            "unread-0 and 1 more are assigned to b, which does not subscribe",
        ),
    ],
)
def test_invalid_plan_is_refused_with_one_sentence(plan: Any, sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        as_assignment(GROUP, plan)
    assert str(error.value) == sentence


SMALLER = Group(GROUP.members, {"t": 3, "u": 1})


@pytest.mark.parametrize("group", [GROUP, SMALLER], ids=["of a strategy", "for another group"])
@pytest.mark.parametrize(
    ("owners", "sentence"),
    [
        (lambda _: np.zeros(3, np.int32), "owners must be {} whole numbers, one for each partition"),
        (np.zeros, "owners must be {} whole numbers, one for each partition"),
        (lambda size: np.full(size, 2), "owners must be from -1 to 1, indices of members"),
        (lambda size: np.full(size, -2), "owners must be from -1 to 1, indices of members"),
        # 0 in 16 bits
        (lambda size: np.full(size, 65_536), "owners must be from -1 to 1, indices of members"),
    ],
)
def test_array_is_checked(group: Group, owners: Callable[[int], Any], sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        as_assignment(GROUP, Assignment(group, owners(group.size)))
    assert str(error.value) == sentence.format(group.size)


def test_group_without_partitions_has_an_empty_plan() -> None:
    group = Group((member("a", ["gone"]),), {})
    assert as_assignment(group, {}) == {"a": {}} == as_assignment(group, plan_range(group))
