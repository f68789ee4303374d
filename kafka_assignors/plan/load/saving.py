"""Reaches a given largest load with few moves."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exact import best_plan
from kafka_assignors.plan.load.lightest import Lightest
from kafka_assignors.plan.load.working_plan import Budget, Exchange, LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER


def with_few_moves(
    problem: LoadProblem,
    rule: CountRule,
    owners: Owners,
    *,
    best: Lightest,
    former_owners: Owners,
    limit: int,
    budget: Budget,
) -> Owners:
    """Return a plan whose largest load is at most ``limit``, with few moves.

    ``owners`` keep the rule; ``best`` was found from them.  ``limit`` is not below ``best.load``.
    """
    plan = WorkingPlan(problem, owners)
    for exchange in best.exchanges:
        if plan.load <= limit:
            break
        plan.do(exchange)
    if plan.load > limit:  # the exchanges do not reach the limit, so start from the best plan
        plan = WorkingPlan(problem, _relabelled(problem, best.owners, former_owners))
    _undo_moves(plan, rule, former_owners, problem.capacities.rooms(limit), budget)
    moves = _moves(problem, plan.owner, former_owners)
    # Search for a plan with fewer moves.  One with a single move ends the search.
    fewer = best_plan(
        problem,
        former_owners,
        (limit, moves - 1),
        by_moves=True,
        enough=1,
        largest_count=rule.largest(owners),
        fits=lambda candidate: rule.allows(candidate, owners),
    )
    return plan.owner if fewer is None else fewer


def _moves(problem: LoadProblem, owners: Owners, former_owners: Owners) -> int:
    return int(((former_owners != owners) & (former_owners != NO_MEMBER))[problem.assignable].sum())


def _relabelled(problem: LoadProblem, owners: Owners, former_owners: Owners) -> Owners:
    """Let members of equal capacity exchange all their partitions, if fewer partitions move then.

    Returns ``owners`` unchanged if subscriptions differ, or if no fewer partitions move.
    """
    if not problem.equal:
        return owners
    members, parts = problem.members, problem.capacities.parts
    owned = problem.assignable[former_owners[problem.assignable] != NO_MEMBER]
    pairs = owners[owned].astype(np.int64) * members + former_owners[owned]
    cells, sizes = np.unique(pairs, return_counts=True)
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
    return min(owners, relabelled, key=lambda plan: _moves(problem, plan, former_owners))


def _undo_moves(
    plan: WorkingPlan, rule: CountRule, former_owners: Owners, max_records: list[int], budget: Budget
) -> None:
    """Return moved partitions to their former owners, alone or in an exchange.

    No member then has more records than its entry in ``max_records``.
    """
    problem = plan.problem
    while True:
        is_moved = (former_owners != NO_MEMBER) & (former_owners != plan.owner)
        moved = problem.assignable[is_moved[problem.assignable]]
        changed = False
        for partition in moved[np.argsort(-problem.lag[moved], kind="stable")].tolist():
            exchange = _exchange_back(plan, rule, former_owners, partition, max_records)
            if exchange is not None and rule.keeps(plan, exchange, budget):
                plan.do(exchange)
                changed = True
        if not changed:
            return


def _exchange_back(
    plan: WorkingPlan, rule: CountRule, former_owners: Owners, partition: int, max_records: list[int]
) -> Exchange | None:
    """Return an exchange within ``max_records`` that returns a partition to its former owner, or None."""
    problem = plan.problem
    owner, former = int(plan.owner[partition]), int(former_owners[partition])
    if owner == former:  # an earlier exchange returned it
        return None
    lag = int(problem.lag[partition])
    free_records = max_records[former] - int(plan.records[former])  # room of the former owner
    others = plan.parts[former]
    lags = plan.lags[former]
    is_candidate = (former_owners[others] != former) & problem.subscribed[problem.topic_of[others], owner]
    is_candidate &= (lag - lags <= free_records) & (plan.records[owner] - lag + lags <= max_records[owner])
    candidates = others[is_candidate]
    if len(candidates):
        # Prefer a partition that also returns to its former owner, then the one with the most lag (``parts``
        # is sorted by lag).
        returning = candidates[former_owners[candidates] == owner]
        taken = int((returning if len(returning) else candidates)[-1])
        return Exchange(owner, former, (partition,), (taken,))
    if 1 in rule.steps(plan.counts, owner, former, 1) and lag <= free_records:
        return Exchange(owner, former, (partition,), ())
    return None
