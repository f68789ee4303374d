"""Find the lowest largest load, starting from a given plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.descent import Budget, descend
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.working_plan import Exchange, LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER

TOLERANCE = 256
"""A load at most this part above the lowest counts as equal, because the last records cost most moves."""


class Lightest(NamedTuple):
    """The result of ``lightest``.

    Attributes:
        load: the lowest largest load.
        enough: a load that counts as equally good, and may take fewer moves.
        exchanges: exchanges from the given plan towards ``load``, which they may not reach.
        owners: a plan with ``load``.
    """

    load: int
    enough: int
    exchanges: list[Exchange]
    owners: Owners


def lightest(
    problem: LoadProblem, rule: CountRule, owners: Owners, *, greedy: Owners, bound: int, budget: Budget
) -> Lightest:
    """Search for the lowest largest load in several ways.  Deterministic.

    First exchanges from the given plan.  If they do not come near the bound: exchanges from a plan that deals
    all partitions by lag, exchanges from the greedy plan if it keeps the rule, and an exact search of small
    groups.

    Args:
        problem: the part that exchanges do not change.
        rule: the rule of counts.
        owners: the given plan; it keeps the rule.
        greedy: KIP-169's plan.  If it keeps the rule, the result is no worse.
        bound: lower bound of the load.
        budget: limit of all exchanges together.
    """
    goal = bound + bound // TOLERANCE  # no plan is better than this by more than the tolerance
    limit = None
    if rule.allows(problem, greedy, owners):
        limit = int(problem.loads(greedy).max(initial=0))
        goal = min(goal, limit)
    plan = WorkingPlan(problem, owners)
    exchanges = descend(plan, rule, goal, budget)
    best, load = plan.owner, plan.load
    if load > goal:
        everything = np.ones(len(owners), np.bool_)
        starts = [redeal(problem, owners, everything, by_room=rule.skew is not None)]
        if limit is not None:
            starts.append(greedy)
        for start in starts:
            if not rule.allows(problem, start, owners):
                continue
            plan = WorkingPlan(problem, start)
            descend(plan, rule, goal, budget)
            if plan.load < load:
                best, load = plan.owner, plan.load
        exact = least(
            problem,
            np.full_like(owners, NO_MEMBER),
            (load - 1, len(owners)),
            by_moves=False,
            enough=bound,
            largest_count=rule.largest(problem, owners),
            fits=lambda plan: rule.allows(problem, plan, owners),
        )
        if exact is not None:
            best, load = exact, int(problem.loads(exact).max())
    enough = goal if load <= goal else load + load // TOLERANCE
    return Lightest(load, enough if limit is None else min(enough, limit), exchanges, best)
