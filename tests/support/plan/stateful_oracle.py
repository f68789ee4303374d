"""Finds the best stateful plans without the package's planners: by HiGHS, or by trying every plan.

A target is balanced (KIP-441, "Defining balance", with a balance factor of 1) and, among balanced ones, has
loads as even as can be: the least sum of squares of members' tasks, active and standby.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

from kafka_assignors.plan.stateful import StatefulGroup, Task, TaskPlanOptions

Row = tuple[dict[int, float], float, float]


class Least(NamedTuple):
    """In lexicographic order.

    Attributes:
        squares: of members' stateful tasks, active and standby.
        copies: copies of state on processes that have none.
        moves: stateful active tasks that leave who could go on with them at once, or soonest: a living
            owner; without one, the processes whose copy lacks least.
    """

    squares: int
    copies: int
    moves: int


def process_of(group: StatefulGroup) -> dict[str, str]:
    """By member: its process.  A member without one shares its process with no other member."""
    return {m.member_id: f"p-{m.process}" if m.process else f"m-{m.member_id}" for m in group.members}


def least(group: StatefulGroup, options: TaskPlanOptions) -> Least:
    """Solve for the target of the stateful tasks.

    Claims must be sound: one owner a task, lags of what is there.
    """
    names = [m.member_id for m in group.members]
    process = process_of(group)
    processes = sorted(set(process.values()))
    count = min(options.num_standby_replicas, len(processes) - 1)
    kinds = [s for s in group.subtopologies if s.stateful]
    tasks = [(Task(s.id, p), s.logged) for s in kinds for p in range(s.partitions)]
    if not tasks:
        return Least(0, 0, 0)
    there = held(group)
    size = 0
    at: dict[tuple[object, ...], int] = {}

    def variable(*key: object) -> int:
        nonlocal size
        at[key] = size
        size += 1
        return at[key]

    rows: list[Row] = []
    for task, logged in tasks:
        rows.append(({variable("x", task, m): 1.0 for m in names}, 1, 1))
        rows.append(({variable("y", task, m): 1.0 for m in names}, count * logged, count * logged))
        for p in processes:
            mine = [m for m in names if process[m] == p]
            rows.append(({at[kind, task, m]: 1.0 for m in mine for kind in "xy"}, 0, 1))
    for some in [*([s] for s in kinds), kinds]:
        ids = {s.id for s in some}
        total = sum(s.partitions for s in some)
        for m in names:
            line = {at["x", t, m]: 1.0 for t, _ in tasks if t.subtopology in ids}
            rows.append((line, total // len(names), -(-total // len(names))))
    squares: dict[int, float] = {}
    for m in names:
        line = {at[kind, t, m]: 1.0 for t, _ in tasks for kind in "xy"}
        for n in range(len(tasks)):
            unit = variable("unit", m, n)
            squares[unit] = 2.0 * n + 1
            line[unit] = -1.0
        rows.append((line, 0, 0))
    copies = {
        at[kind, t, m]: 1.0
        for t, logged in tasks if logged for m in names if (t, process[m]) not in there for kind in "xy"
    }  # fmt: skip
    moves = {
        at["x", t, m]: 1.0
        for t, _ in tasks if (stay := who_could_stay(group, options, t)) for m in names if m not in stay
    }  # fmt: skip
    found: list[int] = []
    for goal in (squares, copies, moves):
        found.append(_solve(size, rows, goal))
        rows.append((goal, -np.inf, found[-1]))
    return Least(*found)


class LeastLoads(NamedTuple):
    """The measures of stateless tasks beside the members' other tasks, in lexicographic order.

    Attributes:
        squares: of members' active tasks.
        cells: squares of members' tasks of each stateless subtopology, summed up.
        moves: tasks that go to a member that did not run them.
    """

    squares: int
    cells: int
    moves: int


def least_loads(
    supply: Sequence[int], owned: Sequence[Sequence[int]], base: Sequence[int]
) -> tuple[int, LeastLoads]:
    """Try every assignment of the tasks.

    Args:
        supply: tasks of each subtopology.
        owned: by subtopology, the tasks each member has.
        base: what each member runs beside them.

    Returns:
        The least largest load of a member with at least one of these tasks (0: there are none), over all
        ways, and the best way.
    """
    ways = {(tuple(base), (False,) * len(base)): (0, 0)}
    for count, mine in zip(supply, owned, strict=True):
        further: dict[tuple[tuple[int, ...], tuple[bool, ...]], tuple[int, int]] = {}
        for row in _deals(count, len(base)):
            squares = sum(n * n for n in row)
            moves = sum(max(n - had, 0) for n, had in zip(row, mine, strict=True))
            for (loads, has), (cells, moved) in ways.items():
                key = (
                    tuple(a + b for a, b in zip(loads, row, strict=True)),
                    tuple(a or b > 0 for a, b in zip(has, row, strict=True)),
                )
                best = cells + squares, moved + moves
                further[key] = min(best, further.get(key, best))
        ways = further
    largest = min(
        max((n for n, one in zip(loads, has, strict=True) if one), default=0) for loads, has in ways
    )
    return largest, min(LeastLoads(sum(n * n for n in loads), *cost) for (loads, _), cost in ways.items())


def _deals(count: int, members: int) -> Iterator[tuple[int, ...]]:
    if members == 1:
        yield (count,)
        return
    for first in range(count + 1):
        for rest in _deals(count - first, members - 1):
            yield (first, *rest)


def held(group: StatefulGroup) -> set[tuple[Task, str]]:
    """Return the task and process of each copy that exists or was begun."""
    process = process_of(group)
    return {(t, process[m.member_id]) for m in group.members for t in (*m.active, *m.standby, *m.lags)}


def who_could_stay(group: StatefulGroup, options: TaskPlanOptions, task: Task) -> set[str]:
    """Return the owner; else the members with the least lag; empty if there is no copy, or none is needed."""
    process = process_of(group)
    for member in group.members:
        if task in member.active:
            return {member.member_id}
    if group.end_offsets.get(task, 2**63) <= options.acceptable_recovery_lag:
        return set()
    lags = {process[m.member_id]: m.lags[task] for m in group.members if task in m.lags}
    best = min(lags.values(), default=0)
    return {m for m, of in process.items() if lags.get(of) == best}


def _solve(size: int, rows: Iterable[Row], goal: dict[int, float]) -> int:
    rows = list(rows)
    matrix = lil_matrix((len(rows), size))
    for i, (row, _, _) in enumerate(rows):
        for j, value in row.items():
            matrix[i, j] = value
    cost = np.zeros(size)
    cost[list(goal)] = list(goal.values())
    result = milp(
        cost,
        integrality=np.ones(size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), [row[1] for row in rows], [row[2] for row in rows]),
        options={"mip_rel_gap": 0.0},
    )
    if result.status != 0:
        raise AssertionError(result.message)
    found: float = result.fun
    return round(found)
