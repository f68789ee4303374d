"""Plans do not depend on the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from random import Random
from kafka_assignors.plan import Group, Member, plan_cooperative_lag_aware, plan_failover
from kafka_assignors.plan import TopicPartition, plan_fairest_sticky, plan_lag_aware, plan_sticky, resolve
from kafka_assignors.plan import with_expected
rng = Random(7)
topics = {f"topic-{i}": rng.randint(0, 9) for i in range(8)}
def some(count):
    return rng.sample(sorted(topics), count)
members = tuple(
    Member(f"m{i}", frozenset(some(5)), {t: (0, 1) for t in some(3)}, i % 3, rack=f"zone-{i % 4}")
    for i in range(6)
)
def replicas():
    return frozenset(f"zone-{rng.randint(0, 4)}" for _ in "12")
racks = {t: [replicas() for _ in range(n)] for t, n in topics.items()}
for group in Group(members, topics), Group(members, topics, racks):
    print(plan_sticky(group, resolve(group)), plan_fairest_sticky(group, resolve(group)))
print(plan_failover(group, resolve(group)), plan_failover(group, resolve(group), preempt=False))
lags = {t: [rng.randint(0, 99) for _ in range(n)] for t, n in topics.items()}
group = Group(members, topics, {}, lags)
for skew in 1, 2, None:
    print(plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=skew, min_improvement=0))
print(plan_lag_aware(group))
expected = {TopicPartition(t, p): 99 * rng.random() for t, n in topics.items() for p in range(n // 2)}
group = with_expected(group, expected, {})
print(plan_cooperative_lag_aware(group, resolve(group), min_improvement=0))
"""


def test_six_hash_seeds_give_one_plan() -> None:
    """Each hash seed in its own process."""
    plans = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    assert len(plans) == 1
    without, within, failover, *by_lag = plans.pop().splitlines()
    assert "topic-0" in without
    assert within != without
    assert "topic-0" in failover
    assert len(by_lag) == 5
    assert len(set(by_lag)) > 1
