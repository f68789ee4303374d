"""Copies to build and tasks to move, compared with the fewest possible (HiGHS)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random
from typing import NamedTuple

import pytest

from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    StatefulPlan,
    Task,
    TaskPlanOptions,
    plan_stateful,
)
from tests.support.plan import oracle, stateful_oracle
from tests.support.plan.stateful_group import END, SimulatedGroup, any_topology
from tests.support.searching import batches

GROUPS, BATCH, EVENTS = 50, 10, 4


class Sums(NamedTuple):
    """Sums over many groups: planned, done, and the least possible."""

    copies: int
    least_copies: int
    built: int
    moves: int
    least_moves: int


def target_of(group: StatefulGroup, options: TaskPlanOptions, plan: StatefulPlan) -> stateful_oracle.Least:
    """The measures of a plan's target."""
    process = stateful_oracle.process_of(group)
    held = stateful_oracle.held(group)
    stateful = {s.id for s in group.subtopologies if s.stateful}
    logged = {s.id for s in group.subtopologies if s.stateful and s.logged}
    squares = copies = moves = 0
    for m, of in process.items():
        active = [t for t in plan.target_active[m] if t.subtopology in stateful]
        both = (*active, *plan.target_standby[m])
        squares += len(both) ** 2
        copies += sum(t.subtopology in logged and (t, of) not in held for t in both)
        stays = (stateful_oracle.who_could_stay(group, options, t) for t in active)
        moves += sum(bool(who) and m not in who for who in stays)
    return stateful_oracle.Least(squares, copies, moves)


def sums(batch: range, *, shared: bool, keeps: bool, acceptable: int = 10_000) -> Sums:
    """Histories of joins and leaves, each event solved exactly."""
    total = Sums(0, 0, 0, 0, 0)
    for seed in batch:
        rng = Random(seed)
        options = TaskPlanOptions(acceptable, num_standby_replicas=rng.choice((0, 1, 1, 1, 2)))
        sim = SimulatedGroup(
            any_topology(rng, stateless=shared), options, keeps=keeps, knows_ends=acceptable >= END
        )
        ids = iter(range(100))

        def join() -> None:
            sim.join(f"m{next(ids):02}", f"p{rng.randint(0, 4)}" if shared else None)  # noqa: B023

        for _ in range(rng.randint(1, 5)):
            join()
        for _ in range(EVENTS):
            group = sim.group()
            least = stateful_oracle.least(group, options)
            oracle.scored["HiGHS, stateful"] += 1
            planned = target_of(group, options, plan_stateful(group, options))
            assert planned.squares == least.squares, seed
            assert planned.copies >= least.copies, seed
            before = sim.built
            sim.settle()
            figures = planned.copies, least.copies, sim.built - before, planned.moves, least.moves
            total = Sums(*(a + b for a, b in zip(total, figures, strict=True)))
            if rng.random() < 0.5 or len(sim.members) == 1:
                join()
            else:
                sim.leave(rng.choice(sorted(sim.members)))
    return total


@pytest.mark.parametrize("batch", batches(GROUPS, BATCH))
def test_one_process_a_member_builds_nearly_the_fewest_copies(batch: range) -> None:
    """If all tasks have changelogs, nearly all groups get the fewest copies and moves."""
    total = sums(batch, shared=False, keeps=False)
    assert total.built <= total.copies <= 1.02 * total.least_copies
    assert total.moves <= 1.1 * total.least_moves


@pytest.mark.parametrize("batch", batches(GROUPS, BATCH))
@pytest.mark.parametrize("keeps", [False, True])
def test_shared_processes_build_hardly_more_copies(batch: range, *, keeps: bool) -> None:
    """Within a tenth of the least, also with tasks without a changelog, or with old copies."""
    total = sums(batch, shared=True, keeps=keeps)
    assert total.built <= total.copies <= 1.1 * total.least_copies


@pytest.mark.parametrize("batch", batches(GROUPS, BATCH))
@pytest.mark.parametrize("keeps", [False, True])
def test_members_that_need_no_copy_move_hardly_more_tasks(batch: range, *, keeps: bool) -> None:
    """If any member may run any task at once, old copies are used, but no other task moves for them."""
    total = sums(batch, shared=False, keeps=keeps, acceptable=END)
    assert total.built <= total.copies <= 1.02 * total.least_copies
    assert total.moves <= 1.02 * total.least_moves


def spread(deals: Sequence[Sequence[Task]], subtopologies: Sequence[str]) -> int:
    """The largest difference between two members, in total and in each subtopology."""
    rows = [[len(deal) for deal in deals]]
    rows += [[sum(task.subtopology == id for task in deal) for deal in deals] for id in subtopologies]
    return max(max(row) - min(row) for row in rows)


@pytest.mark.parametrize("batch", batches(3 * GROUPS, 3 * BATCH))
def test_factor_above_one_moves_no_owned_task_if_new_tasks_can_even_out_the_group(batch: range) -> None:
    """Tries every placement of the tasks without an owner."""
    for seed in batch:
        rng = Random(seed)
        members = [f"m{number}" for number in range(rng.choice((2, 3)))]
        topology = tuple(PlannedSubtopology(id, rng.randint(1, 3)) for id in "xyz"[: rng.choice((2, 3))])
        tasks = [Task(part.id, number) for part in topology for number in range(part.partitions)]
        owner = {task: rng.choice(members) for task in tasks if rng.random() < 0.7}
        owned = [[task for task in owner if owner[task] == member] for member in members]
        group = StatefulGroup(
            topology,
            tuple(
                StatefulMember(member, None, None, tuple(deal), (), {}, 1)
                for member, deal in zip(members, owned, strict=True)
            ),
            dict.fromkeys(tasks, END),
        )
        factor = rng.choice((2, 3))
        target = plan_stateful(group, TaskPlanOptions(balance_factor=factor)).target_active
        if all(task in target[member] for task, member in owner.items()):
            continue
        free = [task for task in tasks if task not in owner]
        for places in product(range(len(members)), repeat=len(free)):
            deals = [list(deal) for deal in owned]
            for task, place in zip(free, places, strict=True):
                deals[place].append(task)
            assert spread(deals, [part.id for part in topology]) > factor, seed
