"""Finds the best plans by load without the package's planners: tries every plan, or uses HiGHS."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

from kafka_assignors.plan import Group, TopicPartition
from tests.support.plan import oracle

Plan = dict[TopicPartition, str]


class Best(NamedTuple):
    """The best plans under a rule of counts.

    Attributes:
        load: the smallest largest load of all plans, weighted by capacity.
        fewest_moves: of all plans.
        calm_load: the smallest largest load of the plans with the fewest moves.
    """

    load: int
    fewest_moves: int
    calm_load: int


def loads(group: Group, plan: Plan) -> Counter[str]:
    """Return the records of every member, including members without partitions."""
    lag = dict(zip(lagged(group), group.lag.tolist(), strict=True))
    loads = Counter({m.member_id: 0 for m in group.members})
    for tp, m in plan.items():
        loads[m] += lag[tp]
    return loads


def lagged(group: Group) -> list[TopicPartition]:
    """All partitions, in the order of ``Group.lag``."""
    return [TopicPartition(t, p) for t, count in group.topics.items() for p in range(count)]


def slowness(group: Group) -> dict[str, Fraction]:
    """By member: the largest capacity over its own, rounded to parts of 1,024."""
    capacity = {m.member_id: round(1024 * Fraction(m.capacity)) for m in group.members}
    return {m: Fraction(max(capacity.values()), own) for m, own in capacity.items()}


def largest(group: Group, plan: Plan) -> int:
    """The largest load, weighted by capacity and rounded up."""
    slow = slowness(group)
    return max((math.ceil(records * slow[m]) for m, records in loads(group, plan).items()), default=0)


def moves(group: Group, plan: Plan) -> int:
    """Return the number of partitions that change their owner."""
    return sum(plan.get(tp) != m for tp, m in oracle.owners(group).items())


def within_skew(group: Group, plan: Plan, skew: int | None) -> bool:
    """Whether member counts are within the rule, along all chains of possible moves."""
    if skew is None:
        return True
    count = Counter({m.member_id: 0 for m in group.members})
    count.update(plan.values())
    takers = oracle.wanted(group)
    to: dict[str, set[str]] = {m: set() for m in count}
    for tp, m in plan.items():
        to[m] |= set(takers[tp])
    for start in count:
        seen, waiting = {start}, [start]
        while waiting:
            for m in to[waiting.pop()] - seen:
                seen.add(m)
                waiting.append(m)
        if any(count[start] - count[m] > skew for m in seen):
            return False
    return True


def best_by_trying(group: Group, skew: int | None) -> Best:
    """Exponential in the partitions."""
    found = [
        (moves(group, plan), largest(group, plan))
        for plan in oracle.all_plans(group)
        if within_skew(group, plan, skew)
    ]
    oracle.scored["trying every plan by load"] += 1
    fewest, calm = min(found)
    return Best(min(load for _, load in found), fewest, calm)


def least_load(group: Group, squares: int | None, seconds: float = 20.0) -> int | None:
    """The smallest largest load of plans with such a sum of squared counts (None: of all), by HiGHS.

    A binary for each partition and subscriber; with a sum of squares one for each unit of a count, the n-th
    of which costs 2 n - 1.  None where the time was not enough; lags must be small enough for floats.
    """
    choices = oracle.wanted(group)
    lag = dict(zip(lagged(group), group.lag.tolist(), strict=True))
    cells = [(tp, m) for tp, members in choices.items() for m in members]
    names, slow = [m.member_id for m in group.members], slowness(group)
    units = [(m, n) for m in names for n in range(len(choices))] if squares is not None else []
    size = len(cells) + len(units) + 1
    rows: list[tuple[dict[int, float], float, float]] = []
    at = {cell: i for i, cell in enumerate(cells)}
    for tp, members in choices.items():
        rows.append(({at[tp, m]: 1.0 for m in members}, 1.0, 1.0))
    for m in names:
        member_load = {at[cell]: float(lag[cell[0]] * slow[m]) for cell in cells if cell[1] == m}
        rows.append(({**member_load, size - 1: -1.0}, -np.inf, 0.0))
        if units:
            count = {at[cell]: 1.0 for cell in cells if cell[1] == m}
            count |= {len(cells) + i: -1.0 for i, unit in enumerate(units) if unit[0] == m}
            rows.append((count, 0.0, 0.0))
    if squares is not None:
        cost = {len(cells) + i: 2.0 * n + 1 for i, (_, n) in enumerate(units)}
        rows.append((cost, -np.inf, float(squares)))
    matrix = lil_matrix((len(rows), size))
    for i, (row, _, _) in enumerate(rows):
        for j, value in row.items():
            matrix[i, j] = value
    result = milp(
        np.eye(1, size, size - 1).ravel(),
        integrality=np.append(np.ones(size - 1), 0),
        bounds=Bounds(0, np.append(np.ones(size - 1), np.inf)),
        constraints=LinearConstraint(matrix.tocsr(), [row[1] for row in rows], [row[2] for row in rows]),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    oracle.scored["HiGHS"] += 1
    return math.ceil(result.fun - 1e-3) if result.status == 0 else None
