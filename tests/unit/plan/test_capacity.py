"""Loads of members with different capacities."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import Assignment, Group, measure, plan_cooperative_lag_aware, resolve
from kafka_assignors.plan.capacity import Capacities, median_ratio
from tests.support.plan.builders import member

NOTHING = float("nan"), float("inf"), 0, -1, 1e300, 2.0**-11, 1025, True, "2", None


@pytest.mark.parametrize("capacity", NOTHING)
def test_a_group_refuses_a_capacity_out_of_range(capacity: float) -> None:
    with pytest.raises(ProblemError, match=r"a capacity is .*, must be from 0\.0009765625 to 1024"):
        Group((replace(member("a"), capacity=capacity),), {"t0": 1})


def test_only_ratios_count() -> None:
    assert Capacities([2.0, 3.0, 1.0]).parts.tolist() == [2, 3, 1]
    assert Capacities([0.5, 0.5]).are_equal
    assert Capacities([]).are_equal


def test_median_ratio_halves_and_doubles_alike() -> None:
    assert [median_ratio(rates) for rates in ([3.0], [64.0, 16.0], [9.0, 1.0, 2.0])] == [3, 32, 2]


def test_loads_and_rooms_are_exact() -> None:
    """Up to the largest sums, where a product would not fit into 64 bits."""
    rng = Random(1)
    for _ in range(300):
        capacities = [rng.choice((2.0**-10, 0.3, 1.0, 3.0, 1000.0)) for _ in range(3)]
        made, most = Capacities(capacities), max(round(1024 * capacity) for capacity in capacities)
        records = [rng.randrange(2 ** rng.randint(1, 62) // made.ratio + 1) for _ in capacities]
        exact = [
            math.ceil(Fraction(of_member * most, round(1024 * capacity)))
            for of_member, capacity in zip(records, capacities, strict=True)
        ]
        assert made.loads(np.array(records)).tolist() == exact
        assert [made.load(i, of_member) for i, of_member in enumerate(records)] == exact
        for i, load in enumerate(exact):
            room = made.rooms(load)[i]
            assert room >= records[i]
            assert made.load(i, room) <= load < made.load(i, room + 1)


def test_a_member_of_twice_the_capacity_gets_twice_the_lag() -> None:
    members = (member("a"), replace(member("b"), capacity=2.0))
    group = Group(members, {"t0": 6}, lags={"t0": [10] * 6})
    plan = plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=None)
    assert plan == {"a": {"t0": [1, 4]}, "b": {"t0": [0, 2, 3, 5]}}
    assert measure(group, resolve(group), plan).max_load == 40


def test_huge_lags_do_not_overflow() -> None:
    members = (replace(member("a"), capacity=2.0**-10), replace(member("b"), capacity=1024))
    group = Group(members, {"t0": 3}, lags={"t0": [2**63 - 1] * 3})
    owners = np.zeros(3, np.int32)
    load = measure(group, resolve(group), Assignment(group, owners)).max_load
    assert load == 3 * int(group.lag[0]) * 2**20
