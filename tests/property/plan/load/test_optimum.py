"""Groups too large to try all plans: the load compared with an exact solver's (HiGHS)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from kafka_assignors.plan import (
    Assignment,
    Group,
    Member,
    lag_lower_bound,
    plan_cooperative_lag_aware,
    plan_sticky,
    resolve,
)
from tests.support.plan import load_oracle, oracle
from tests.support.plan.builders import next_generation
from tests.support.searching import batches

GROUPS, BATCH = 120, 20


def any_group(rng: Random, capacities: tuple[float, ...]) -> Group:
    """Heavy-tailed, bimodal or uniform lags; equal or unequal subscriptions; owners by ``sticky``."""
    topics = {f"t{i}": rng.randint(1, 6) for i in range(rng.randint(1, 4))}
    density = rng.choice((1, 1, 0.7, 0.4))
    members = tuple(
        Member(
            f"m{i}",
            frozenset(t for t in topics if rng.random() < density),
            capacity=capacities[i % len(capacities)],
        )
        for i in range(rng.randint(2, 5))
    )
    lag: Callable[[], int] = rng.choice(
        (
            lambda: int(100 * rng.paretovariate(1.1)) % 10**6,
            lambda: int(rng.lognormvariate(6, 1.5)) % 10**6,
            lambda: rng.choice((10, 1000)) * rng.randint(90, 110),
            lambda: rng.randint(0, 10_000),
            lambda: rng.randint(0, 3),
        )
    )
    group = Group(members, topics, lags={t: [lag() for _ in range(n)] for t, n in topics.items()})
    return next_generation(group, plan_sticky(group, resolve(group)), 1)


def ratio(group: Group, plan: Assignment, squares: int | None) -> float | None:
    """The load of a plan divided by the least; None where the solver gave up."""
    best = load_oracle.least_load(group, squares)
    load = load_oracle.largest(group, oracle.by_partition(plan))
    if best is None:
        return None
    assert lag_lower_bound(group) <= best <= load
    return load / best if best else 1.0


@pytest.mark.parametrize("batch", batches(GROUPS, BATCH, quick=2))
@pytest.mark.parametrize("skew", [1, None])
@pytest.mark.parametrize("capacities", [(1.0,), (1.0, 0.3, 2.0, 4.0)])
def test_loads_are_near_the_least(batch: range, skew: int | None, capacities: tuple[float, ...]) -> None:
    """Half of the loads are within the tolerance, and all within 5 %."""
    ratios = []
    for seed in batch:
        group = any_group(Random(seed), capacities)
        plan = plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=skew, min_improvement=0)
        squares = int((plan_sticky(group, resolve(group)).counts ** 2).sum()) if skew == 1 else None
        if (load_ratio := ratio(group, plan, squares)) is not None:
            ratios.append(load_ratio)
    ratios.sort()
    assert len(ratios) > BATCH // 2
    assert ratios[len(ratios) // 2] <= 1 + 1 / 256
    assert ratios[-1] <= 1.05
