"""KIP-169's greedy plan."""

from __future__ import annotations

from random import Random

import pytest

from kafka_assignors.plan import Group, Member, plan_lag_aware
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import UNEQUAL, weighted


def test_the_example_of_the_kip() -> None:
    """Lags of 100,000, 60,000 and 50,000 on two members: 100,000 and 110,000."""
    group = Group((member("c0"), member("c1")), {"t0": 3}, lags={"t0": [100_000, 60_000, 50_000]})
    assert plan_lag_aware(group) == {"c0": {"t0": [0]}, "c1": {"t0": [1, 2]}}


def test_each_topic_is_planned_by_itself() -> None:
    """The first member gets the only partition of every topic, because other topics do not count."""
    topics = ("t0", "t1", "t2")
    group = Group(
        (member("a", topics), member("b", topics)), dict.fromkeys(topics, 1), lags=dict.fromkeys(topics, (7,))
    )
    assert plan_lag_aware(group) == {"a": {topic: [0] for topic in topics}, "b": {}}


def one_by_one(group: Group) -> list[int]:
    """The KIP's definition: each partition to fewest partitions, then least load with it, then seniority."""
    lags, members = group.lag.tolist(), range(len(group.members))
    counts, records = [0 for _ in members], [0 for _ in members]
    owners = [0] * len(lags)
    for p in sorted(range(len(lags)), key=lambda p: -lags[p]):
        load = [weighted(group, m, records[m] + lags[p]) for m in members]
        owners[p] = m = min(zip(counts, load, members, strict=True))[2]
        counts[m] += 1
        records[m] += lags[p]
    return owners


@pytest.mark.parametrize("capacities", [(1.0,), UNEQUAL])
def test_plan_equals_dealing_one_by_one(capacities: tuple[float, ...]) -> None:
    for seed in range(200):
        rng = Random(seed)
        lags = [rng.choice((0, rng.randint(0, 5), rng.randint(0, 10**6))) for _ in range(rng.randint(0, 40))]
        members = rng.randint(1, 9)
        group = Group(
            tuple(
                Member(f"m{i}", frozenset({"t0"}), capacity=capacities[i % len(capacities)])
                for i in range(members)
            ),
            {"t0": len(lags)},
            lags={"t0": lags},
        )
        assert plan_lag_aware(group).owners.tolist() == one_by_one(group)


def test_only_subscribers_get_partitions_of_a_topic() -> None:
    """The first member reads the other topic; a topic without subscribers has no owners."""
    group = Group(
        (member("a", ["t1"]), member("b", ["t0"])), {"t0": 2, "t1": 1, "t2": 1}, lags={"t0": [1, 2]}
    )
    assert plan_lag_aware(group) == {"a": {"t1": [0]}, "b": {"t0": [0, 1]}}
