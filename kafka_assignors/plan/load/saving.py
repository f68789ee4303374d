"""Reach a load with few moves."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.lightest import Lightest
from kafka_assignors.plan.load.working_plan import Exchange, LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER


def with_few_moves(
    problem: LoadProblem, rule: CountRule, owners: Owners, *, best: Lightest, home: Owners, limit: int
) -> Owners:
    """Make a plan whose largest load is at most ``limit``, with few moves."""
    plan = WorkingPlan(problem, owners)
    for exchange in best.exchanges:
        if plan.load <= limit:
            break
        plan.do(exchange)
    if plan.load > limit:
        plan = WorkingPlan(problem, _relabelled(problem, best.owners, home))
    _bring_home(plan, rule, home, problem.capacities.rooms(limit))
    moves = _moves(problem, plan.owner, home)
    fewer = least(
        problem,
        home,
        (limit, moves - 1),
        by_moves=True,
        enough=1,
        largest_count=rule.largest(problem, owners),
        fits=lambda plan: rule.allows(problem, plan, owners),
    )
    return plan.owner if fewer is None else fewer


def _moves(problem: LoadProblem, owners: Owners, home: Owners) -> int:
    return int(((home != owners) & (home != NO_MEMBER))[problem.dealt].sum())


def _relabelled(problem: LoadProblem, owners: Owners, home: Owners) -> Owners:
    """With equal subscriptions, swap members of equal capacity so that each keeps more of its partitions."""
    if not problem.equal:
        return owners
    members, parts = len(problem.plays), problem.capacities.parts
    owned = problem.dealt[home[problem.dealt] != NO_MEMBER]
    cells, sizes = np.unique(owners[owned].astype(np.int64) * members + home[owned], return_counts=True)
    member_of = np.full(members, NO_MEMBER, np.int32)
    taken = np.zeros(members, np.bool_)
    for cell in cells[np.argsort(-sizes, kind="stable")].tolist():
        former, member = divmod(cell, members)
        if member_of[former] == NO_MEMBER and not taken[member] and parts[former] == parts[member]:
            member_of[former] = member
            taken[member] = True
    for part in np.unique(parts):
        same = problem.plays & (parts == part)
        member_of[same & (member_of == NO_MEMBER)] = np.flatnonzero(same & ~taken)
    relabelled: Owners = owners.copy()
    relabelled[problem.dealt] = member_of[owners[problem.dealt]]
    return relabelled


def _bring_home(plan: WorkingPlan, rule: CountRule, home: Owners, rooms: list[int]) -> None:
    """Return moved partitions to their former owners where the loads allow it, alone or in an exchange."""
    problem = plan.problem
    while True:
        away = problem.dealt[(home != NO_MEMBER)[problem.dealt] & (home != plan.owner)[problem.dealt]]
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
    """The exchange that brings a partition home; None if there is none, or it is home already."""
    problem = plan.problem
    owner, former = int(plan.owner[partition]), int(home[partition])
    if owner == former:
        return None
    lag = int(problem.lag[partition])
    room = rooms[former] - int(plan.records[former])  # records that its former owner can take on
    others = plan.parts[former]
    lags = plan.lags[former]
    may = (home[others] != former) & problem.subscribed[problem.topic_of[others], owner]
    # Neither member may exceed the limit.
    may &= (lag - lags <= room) & (plan.records[owner] - lag + lags <= rooms[owner])
    fits = others[may]
    if len(fits):
        # Prefer a partition that comes home by the same exchange, then the heaviest.
        i = int(np.flatnonzero(home[fits] == owner)[-1:].max(initial=-1))
        return Exchange(owner, former, (partition,), (int(fits[i]),))
    if 1 in rule.steps(plan.counts, owner, former, 1) and lag <= room:
        return Exchange(owner, former, (partition,), ())
    return None
