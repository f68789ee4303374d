"""Our plans compared with those of the Java client."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.plan import Group, plan_range, plan_roundrobin, plan_sticky, resolve
from tests.golden import load
from tests.support.plan import oracle
from tests.support.plan.builders import member

CASES = load("java_plans")["groups"]
VALID = [case for case in CASES if case["sticky"]["valid"]]


def group_of(case: dict[str, Any]) -> Group:
    return Group(
        tuple(
            member(m["id"], m["topics"], m["owned"], generation=m["generation"], instance_id=m["instance_id"])
            for m in case["members"]
        ),
        case["topics"],
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_range_agrees_with_java(case: dict[str, Any]) -> None:
    assert plan_range(group_of(case)) == case["range"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_roundrobin_agrees_with_java(case: dict[str, Any]) -> None:
    assert plan_roundrobin(group_of(case)) == case["roundrobin"]


@pytest.mark.parametrize("case", VALID, ids=lambda case: str(case["name"]))
def test_sticky_is_never_worse_than_java(case: dict[str, Any]) -> None:
    """Fairer, or as fair with no more moves.  One case with an invalid plan of Java is left out."""
    group = group_of(case)
    ours = oracle.score(group, oracle.by_partition(plan_sticky(group, resolve(group))))
    theirs = oracle.score(group, oracle.by_partition(case["sticky"]["plan"]))
    assert (ours.unfairness, ours.moved) <= (theirs.unfairness, theirs.moved)


def test_at_most_one_case_is_left_out() -> None:
    """All of Java's plans but one are valid."""
    assert len(VALID) >= len(CASES) - 1
