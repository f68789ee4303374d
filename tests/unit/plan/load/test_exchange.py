"""The best exchange of two members, compared with all exchanges."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from kafka_assignors.plan import Group
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.exchange import Pair, RatedExchange, best_bundles, best_single
from kafka_assignors.plan.load.working_plan import LoadProblem, WorkingPlan
from tests.unit.plan.load.seeded import UNEQUAL, any_owners, group_of, history, weighted


def up_to(parts: list[int], most: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(most + 1) for chosen in combinations(parts, size)]


def cost(home: Owners | None, partitions: tuple[int, ...], giver: int, taker: int) -> int:
    """Partitions that leave home, minus partitions that come home."""
    if home is None:
        return 0
    return sum((home[p] == giver) - int(home[p] == taker) for p in partitions)


def least_after(group: Group, plan: WorkingPlan, pair: Pair, most: int, home: Owners | None) -> int | None:
    """The smallest larger load that an exchange reaches; None if none lowers it."""
    problem, high, low = plan.problem, pair.high, pair.low
    gives = [p for p in plan.parts[high].tolist() if problem.subscribed[problem.topic_of[p], low]]
    takes = [p for p in plan.parts[low].tolist() if problem.subscribed[problem.topic_of[p], high]]
    best = None
    for give in up_to(gives, most):
        for take in up_to(takes, most):
            if len(give) - len(take) not in pair.steps or (most == 1 and not give):
                continue
            if cost(home, give, high, low) + cost(home, take, low, high) > 0:
                continue
            less = int(problem.lag[list(give)].sum()) - int(problem.lag[list(take)].sum())
            after = max(
                weighted(group, high, int(plan.records[high]) - less),
                weighted(group, low, int(plan.records[low]) + less),
            )
            if less > 0 and after < plan.loads[high] and (best is None or after < best):
                best = after
    return best


def check(plan: WorkingPlan, pair: Pair, best: RatedExchange | None, home: Owners | None) -> None:
    """Assert that the exchange is allowed, and that its load is right."""
    if best is None:
        return
    high, low, gives, takes = best.exchange
    assert len(gives) - len(takes) in pair.steps
    problem = plan.problem
    assert all(problem.subscribed[problem.topic_of[p], low] for p in gives)
    assert all(problem.subscribed[problem.topic_of[p], high] for p in takes)
    assert cost(home, gives, high, low) + cost(home, takes, low, high) <= 0
    after = WorkingPlan(problem, plan.owner)
    after.do(best.exchange)
    assert max(after.loads[high], after.loads[low]) == best.load


@pytest.mark.parametrize("calm", [False, True])
@pytest.mark.parametrize("capacities", [(1.0,), UNEQUAL])
def test_the_best_exchange_is_found(calm: bool, capacities: tuple[float, ...]) -> None:
    """Single partitions and bundles; with a history no more partitions leave home than come home."""
    improved = 0
    for seed in range(250):
        rng = Random(seed)
        group = group_of(
            rng,
            members=3,
            topics=2,
            partitions=6,
            density=rng.choice((1, 0.8)),
            lag=25,
            capacities=capacities,
        )
        problem = LoadProblem(group)
        owners = any_owners(rng, group)
        plan = WorkingPlan(problem, owners)
        home = history(rng, group, owners, kept=0.4) if calm else None
        high = plan.highest
        low = next((m for m in problem.subscribers.tolist() if m != high), None)
        if low is None:
            continue
        for most, search in ((1, best_single), (2, best_bundles)):
            steps = rng.choice(([0], [0, 1], [-1, 0, 1], [-2, -1, 0, 1, 2], [0, 2]))
            steps = [step for step in steps if abs(step) <= most]
            pair = Pair(plan, high, low, steps, home)
            best = search(pair)
            assert (best.load if best else None) == least_after(group, plan, pair, most, home)
            check(plan, pair, best, home)
            improved += best is not None
    assert improved > 100
