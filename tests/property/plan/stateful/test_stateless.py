"""Stateless tasks of every round, compared with all assignments: even, with the fewest moves."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given

from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulPlan,
    Task,
    TaskPlanOptions,
    plan_stateful,
)
from kafka_assignors.plan.stateful.model import Tasks
from tests.support.plan import oracle
from tests.support.plan.stateful_group import SimulatedGroup
from tests.support.plan.stateful_laws import Facts, any_groups, any_options
from tests.support.plan.stateful_oracle import LeastLoads, least_loads

HISTORIES, BATCH = 120, 30


def stateless_in(tasks: Tasks, facts: Facts) -> dict[Task, str]:
    """Stateless task -> its member."""
    return {task: m for m, mine in tasks.items() for task in mine if task not in facts.stateful}


def base_of(tasks: Tasks, facts: Facts) -> dict[str, int]:
    """Number of stateful tasks of each member."""
    return {m: len(facts.stateful.intersection(mine)) for m, mine in tasks.items()}


def check_round(facts: Facts, active: Tasks) -> None:
    """Assert that no other assignment of the stateless tasks is better."""
    has = stateless_in(active, facts)
    owner = {task: m for task, m in facts.owner.items() if task in has}
    kinds = [s for s in facts.group.subtopologies if not s.stateful]
    base = base_of(active, facts)
    rows, owned = (
        [[sum(m == name and t.subtopology == s.id for t, m in of.items()) for name in base] for s in kinds]
        for of in (has, owner)
    )
    moves = sum(owner.get(task) != m for task, m in has.items())
    loads = [len(mine) for mine in active.values()]
    mine = LeastLoads(sum(n * n for n in loads), sum(n * n for row in rows for n in row), moves)
    largest, least = least_loads([s.partitions for s in kinds], owned, list(base.values()))
    oracle.scored["every way, stateless"] += 1
    if facts.options.balance_factor == 1:
        assert mine == least
        assert max((len(active[m]) for m in has.values()), default=0) == largest


def check_factor(facts: Facts, active: Tasks) -> None:
    """Assert that stateless tasks keep totals within the factor, and stay if they already do."""
    factor, base = facts.options.balance_factor, base_of(active, facts)
    has = stateless_in(active, facts)
    if factor == 1 or max(base.values()) - min(base.values()) <= factor:
        return  # as even as possible, or as in the target
    loads = [len(mine) for mine in active.values()]
    assert max((len(active[m]) for m in has.values()), default=0) - min(loads) <= factor
    if has.keys() <= facts.owner.keys():
        before = Counter(facts.owner[task] for task in has)
        were = [base[m] + before[m] for m in base]
        if max(were) - min(were) <= factor:
            assert all(facts.owner[task] == m for task, m in has.items())


@given(any_groups(least_members=1), any_options())
def test_every_round_is_even_with_the_fewest_moves(group: StatefulGroup, options: TaskPlanOptions) -> None:
    facts, plan = Facts(group, options), plan_stateful(group, options)
    for active in (plan.active, plan.target_active):
        check_round(facts, active)
        check_factor(facts, active)


def group_of(rng: Random) -> SimulatedGroup:
    """A settled group with one or two subtopologies of each kind."""
    kinds = [PlannedSubtopology(str(i), rng.randint(1, 8)) for i in range(rng.randint(1, 2))]
    kinds += [
        PlannedSubtopology(f"s{i}", rng.randint(1, 6), stateful=False) for i in range(rng.randint(1, 2))
    ]
    options = TaskPlanOptions(
        num_standby_replicas=rng.choice((0, 1)),
        max_warmup_replicas=rng.choice((1, 2)),
        balance_factor=rng.choice((1, 1, 1, 2)),
    )
    sim = SimulatedGroup(kinds, options)
    for i in range(rng.randint(1, 3)):
        sim.join(f"m{i}")
    sim.settle()
    return sim


@pytest.mark.parametrize("batch", [range(i, i + BATCH) for i in range(0, HISTORIES, BATCH)], ids=str)
def test_rounds_of_a_disturbed_group_stay_even(batch: range) -> None:
    """Every round is even, and a second plan or the second half of a hand-over moves nothing.

    A second plan, before any copy catches up, counts if members run as many stateful tasks as before.
    The hand-over is that of KIP-429: in the round between, a task that moves has no member.
    """
    halves = moved = 0
    for seed in batch:
        rng = Random(seed)
        sim = group_of(rng)
        for number in range(rng.randint(1, 2)):
            sim.join(f"n{number}")
        if rng.random() < 0.3:
            sim.leave("m0")
        while True:
            group = sim.group()
            facts, plan = Facts(group, sim.options), plan_stateful(group, sim.options)
            check_round(facts, plan.active)
            check_factor(facts, plan.active)
            before = {m: set(mine) for m, mine in sim.active.items()}
            sim.do(plan)
            moved += sum(t not in before[m] for t, m in stateless_in(plan.active, facts).items())
            halves += hand_over_moves_nothing_else(sim, before, plan, facts)
            again = plan_stateful(sim.group(), sim.options).active
            if base_of(again, facts) == base_of(plan.active, facts):
                assert stateless_in(again, facts) == stateless_in(plan.active, facts), seed
            if not plan.probing:
                break
            sim.catch_up(lambda lag: rng.choice((0, lag)))  # noqa: B023  # used at once
        assert plan.active == plan.target_active
    assert halves > len(batch) // 3
    assert moved > len(batch) // 2


def hand_over_moves_nothing_else(
    sim: SimulatedGroup, before: dict[str, set[Task]], plan: StatefulPlan, facts: Facts
) -> bool:
    """Plan between the rounds of a hand-over; return whether it had stateless tasks only."""
    active = {m: set(mine) for m, mine in sim.active.items()}
    goes = {task for m, mine in active.items() for task in mine - before[m]}
    if not goes or goes & facts.stateful:
        return False
    sim.active = {m: mine - goes for m, mine in active.items()}
    second = plan_stateful(sim.group(), sim.options)
    sim.active = active
    had = {task: m for m, mine in before.items() for task in mine - goes}
    for task, member in stateless_in(second.active, facts).items():
        assert had.get(task, member) == member, f"{task} leaves {had.get(task)} in the round between"
    check_loads = [sorted(map(len, active.values())) for active in (plan.active, second.active)]
    assert check_loads[0] == check_loads[1]
    return True
