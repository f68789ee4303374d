"""Measures of a plan."""

from __future__ import annotations

from itertools import combinations

import pytest

from kafka_assignors.plan import Assignment, Group, Metrics, measure, resolve
from kafka_assignors.plan.metrics import balance_score
from tests.support.plan.builders import member


@pytest.mark.parametrize("loads", [[], [3], [0, 4], [1, 1, 1], [0, 1, 5, 5, 9]])
def test_balance_score_is_the_sum_over_all_pairs(loads: list[int]) -> None:
    """KIP-54's definition, pair by pair."""
    assert balance_score(loads) == sum(b - a for a, b in combinations(loads, 2))


def test_metrics_of_a_plan() -> None:
    """One partition kept, one moved, one new; a has two of t0 and b none."""
    group = Group(
        (member("a", ["t0", "t1"], {"t0": [0]}), member("b", ["t0", "t1"], {"t0": [1]})), {"t0": 2, "t1": 1}
    )
    plan = {"a": {"t0": [0, 1]}, "b": {"t1": [0]}}
    assert measure(group, resolve(group), Assignment.of(group, plan)) == Metrics(
        members=2, partitions=3, kept=1, moved=1, spread=2, balance_score=1, near=None
    )


def test_near_counts_partitions_with_a_replica_in_the_owners_rack() -> None:
    """Not partitions without an owner, without known racks, or with an owner without a rack."""
    group = Group(
        (member("a", ["t0"], rack="x"), member("b", ["t0"], rack="y"), member("c", ["t0"])),
        {"t0": 6, "t1": 1},
        {
            "t0": [frozenset("x"), frozenset("xy"), frozenset("x"), frozenset("x"), frozenset()],
            "t1": [frozenset("x")],
            "gone": [frozenset("x")],
        },
    )
    plan = {"a": {"t0": [0, 4, 5]}, "b": {"t0": [1, 2]}, "c": {"t0": [3]}}
    assert measure(group, resolve(group), Assignment.of(group, plan)).near == 2


@pytest.mark.parametrize("known", ["members", "replicas"])
def test_near_needs_racks_of_members_and_replicas(known: str) -> None:
    group = Group(
        (member("a", rack="x" if known == "members" else None),),
        {"t0": 1},
        {"t0": [frozenset("x")]} if known == "replicas" else {},
    )
    assert measure(group, resolve(group), Assignment.of(group, {"a": {"t0": [0]}})).near is None


def test_spread_counts_only_subscribers() -> None:
    """The only subscriber has the whole topic: that is even."""
    group = Group((member("a", ["t0", "t1"]), member("b", ["t1"])), {"t0": 5, "t1": 1})
    plan = {"a": {"t0": [0, 1, 2, 3, 4]}, "b": {"t1": [0]}}
    assert measure(group, resolve(group), Assignment.of(group, plan)).spread == 1
