"""Finds a plan whose largest load is as low as possible, starting from a given plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.descent import descend
from kafka_assignors.plan.load.exact import best_plan
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.working_plan import Budget, Exchange, LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER

TOLERANCE = 256
"""A load at most 1/256 above the lowest counts as equal, because the last gains take the most moves."""


class Lightest(NamedTuple):
    """The result of ``lightest``.

    Attributes:
        load: the lowest largest load found.
        enough: a plan with a largest load up to this counts as equally good, and may need fewer moves.
        exchanges: exchanges from the given plan that lower its largest load towards ``load``, but may not
            reach it.
        owners: a plan whose largest load is ``load``.
    """

    load: int
    enough: int
    exchanges: list[Exchange]
    owners: Owners


def lightest(
    problem: LoadProblem, rule: CountRule, owners: Owners, *, greedy: Owners, bound: int, budget: Budget
) -> Lightest:
    """Search for the lowest largest load in several ways.  Deterministic.

    The search first makes exchanges that keep the rule, starting from ``owners``.  It ends if the load is
    then near the bound and not above that of the greedy plan (KIP-169's).  Otherwise it does the same from a
    plan that deals all partitions by lag and from the greedy plan, and tries ``best_plan`` on a small group.
    A greedy plan that breaks the rule is ignored.  The result is no worse than a greedy plan that keeps the
    rule.
    """
    goal = bound + bound // TOLERANCE  # the bound, which no plan beats, plus the tolerance
    greedy_load = None  # None: the greedy plan does not keep the rule
    if rule.allows(greedy, owners):
        greedy_load = int(problem.loads(greedy).max(initial=0))
        goal = min(goal, greedy_load)
    plan = WorkingPlan(problem, owners)
    exchanges = descend(plan, rule, goal, budget)
    best, load = plan.owner, plan.load
    if load > goal:
        everything = np.ones(len(owners), np.bool_)
        starts = [redeal(problem, owners, everything, keep_counts=rule.skew is not None)]
        if greedy_load is not None:
            starts.append(greedy)
        for start in starts:
            plan = WorkingPlan(problem, start)
            descend(plan, rule, goal, budget)
            if plan.load < load:
                best, load = plan.owner, plan.load
        exact = best_plan(
            problem,
            np.full_like(owners, NO_MEMBER),
            (load - 1, len(owners)),
            by_moves=False,
            enough=bound,
            largest_count=rule.largest(owners),
            fits=lambda plan: rule.allows(plan, owners),
        )
        if exact is not None:
            best, load = exact, int(problem.loads(exact).max())
    enough = goal if load <= goal else load + load // TOLERANCE
    if greedy_load is not None:
        enough = min(enough, greedy_load)
    return Lightest(load, enough, exchanges, best)
