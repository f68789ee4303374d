"""Reaches a given largest load with few moves."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exact import best_plan
from kafka_assignors.plan.load.lightest import Lightest
from kafka_assignors.plan.load.working_plan import Exchange, LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER


def with_few_moves(
    problem: LoadProblem, rule: CountRule, owners: Owners, *, best: Lightest, home: Owners, limit: int
) -> Owners:
    """Return a plan whose largest load is at most ``limit``, with few moves.

    Args:
        problem: lag, subscriptions and capacities.
        rule: the rule of counts.
        owners: the plan from which ``best`` was found; it keeps the rule.
        best: the plan with the lowest load, and the exchanges that lead to it from ``owners``.
        home: by partition, its owner before.
        limit: at least the load of ``best``.
    """
    plan = WorkingPlan(problem, owners)
    for exchange in best.exchanges:
        if plan.load <= limit:
            break
        plan.do(exchange)
    if plan.load > limit:
        plan = WorkingPlan(problem, _relabelled(problem, best.owners, home))
    _bring_home(plan, rule, home, problem.capacities.rooms(limit))
    moves = _moves(problem, plan.owner, home)
    fewer = best_plan(
        problem,
        home,
        (limit, moves - 1),
        by_moves=True,
        enough=1,
        largest_count=rule.largest(owners),
        fits=lambda plan: rule.allows(plan, owners),
    )
    return plan.owner if fewer is None else fewer


def _moves(problem: LoadProblem, owners: Owners, home: Owners) -> int:
    return int(((home != owners) & (home != NO_MEMBER))[problem.assignable].sum())


def _relabelled(problem: LoadProblem, owners: Owners, home: Owners) -> Owners:
    """Swap the partitions of whole members, so that each keeps more of those it owned.

    Only members of equal capacity can swap, and only with equal subscriptions; else ``owners`` is returned.
    """
    if not problem.equal:
        return owners
    members, parts = problem.members, problem.capacities.parts
    owned = problem.assignable[home[problem.assignable] != NO_MEMBER]
    cells, sizes = np.unique(owners[owned].astype(np.int64) * members + home[owned], return_counts=True)
    new_of = np.full(members, NO_MEMBER, np.int32)
    is_taken = np.zeros(members, np.bool_)
    for cell in cells[np.argsort(-sizes, kind="stable")].tolist():
        old, new = divmod(cell, members)
        if new_of[old] == NO_MEMBER and not is_taken[new] and parts[old] == parts[new]:
            new_of[old] = new
            is_taken[new] = True
    for part in np.unique(parts):
        same = problem.subscribers[parts[problem.subscribers] == part]
        new_of[same[new_of[same] == NO_MEMBER]] = same[~is_taken[same]]
    relabelled: Owners = owners.copy()
    relabelled[problem.assignable] = new_of[owners[problem.assignable]]
    return relabelled


def _bring_home(plan: WorkingPlan, rule: CountRule, home: Owners, rooms: list[int]) -> None:
    """Return moved partitions to their former owners, alone or in an exchange.

    No member then has more records than its entry in ``rooms``.
    """
    problem = plan.problem
    while True:
        is_away = (home != NO_MEMBER) & (home != plan.owner)
        away = problem.assignable[is_away[problem.assignable]]
        changed = False
        for partition in away[np.argsort(-problem.lag[away], kind="stable")].tolist():
            exchange = _return(plan, rule, home, partition, rooms)
            if exchange is not None and rule.keeps(plan, exchange):
                plan.do(exchange)
                changed = True
        if not changed:
            return


def _return(
    plan: WorkingPlan, rule: CountRule, home: Owners, partition: int, rooms: list[int]
) -> Exchange | None:
    """Return the exchange that gives a partition back to its former owner and keeps to ``rooms``, or None."""
    problem = plan.problem
    owner, former = int(plan.owner[partition]), int(home[partition])
    if owner == former:  # an earlier exchange returned it
        return None
    lag = int(problem.lag[partition])
    room = rooms[former] - int(plan.records[former])  # records that the former owner can take on
    others = plan.parts[former]
    lags = plan.lags[former]
    may = (home[others] != former) & problem.subscribed[problem.topic_of[others], owner]
    may &= (lag - lags <= room) & (plan.records[owner] - lag + lags <= rooms[owner])
    fits = others[may]
    if len(fits):
        # Prefer a partition that also returns to its former owner, then the one with the most lag.
        comes_home = fits[home[fits] == owner]
        return Exchange(owner, former, (partition,), (int((comes_home if len(comes_home) else fits)[-1]),))
    if 1 in rule.steps(plan.counts, owner, former, 1) and lag <= room:
        return Exchange(owner, former, (partition,), ())
    return None
