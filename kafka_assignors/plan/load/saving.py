"""Reach a load with few moves."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.lightest import Lightest
from kafka_assignors.plan.load.standing import Exchange, Field, Standing
from kafka_assignors.plan.model import NO_MEMBER


def with_few_moves(
    field: Field, rule: CountRule, owners: Owners, *, best: Lightest, home: Owners, limit: int
) -> Owners:
    """Make a plan whose largest load is at most ``limit`` records, with few moves.

    Args:
        field: the problem.
        rule: the rule of counts.
        owners: the plan to start from.
        best: the result of ``lightest`` for ``owners``; its load is at most ``limit``.
        home: by partition, its owner before.
        limit: records.
    """
    standing = Standing(field, owners)
    for exchange in best.exchanges:
        if standing.load <= limit:
            break
        standing.do(exchange)
    if standing.load > limit:
        standing = Standing(field, _relabelled(field, best.owners, home))
    _bring_home(standing, rule, home, limit)
    moves = _moves(field, standing.owner, home)
    fewer = least(
        field,
        home,
        (limit, moves - 1),
        by_moves=True,
        enough=1,
        largest_count=rule.largest(field, owners),
        fits=lambda plan: rule.allows(field, plan, owners),
    )
    return standing.owner if fewer is None else fewer


def _moves(field: Field, owners: Owners, home: Owners) -> int:
    return int(((home != owners) & (home != NO_MEMBER))[field.dealt].sum())


def _relabelled(field: Field, owners: Owners, home: Owners) -> Owners:
    """With equal subscriptions, give each part of the plan to the member that owned most of it, if free."""
    if not field.equal:
        return owners
    members = len(field.plays)
    owned = field.dealt[home[field.dealt] != NO_MEMBER]
    cells, sizes = np.unique(owners[owned].astype(np.int64) * members + home[owned], return_counts=True)
    member_of = np.full(members, NO_MEMBER, np.int32)
    taken = np.zeros(members, np.bool_)
    for cell in cells[np.argsort(-sizes, kind="stable")].tolist():
        part, member = divmod(cell, members)
        if member_of[part] == NO_MEMBER and not taken[member]:
            member_of[part] = member
            taken[member] = True
    member_of[(member_of == NO_MEMBER) & field.plays] = np.flatnonzero(~taken & field.plays)
    relabelled: Owners = owners.copy()
    relabelled[field.dealt] = member_of[owners[field.dealt]]
    return relabelled


def _bring_home(standing: Standing, rule: CountRule, home: Owners, limit: int) -> None:
    """Undo moves where loads allow it, in exchange for another partition away from home, or for none."""
    field = standing.field
    while True:
        away = field.dealt[(home != NO_MEMBER)[field.dealt] & (home != standing.owner)[field.dealt]]
        changed = False
        for partition in away[np.argsort(-field.lag[away], kind="stable")].tolist():
            exchange = _return(standing, rule, home, partition, limit)
            if exchange is not None and rule.keeps(standing, exchange):
                standing.do(exchange)
                changed = True
        if not changed:
            return


def _return(standing: Standing, rule: CountRule, home: Owners, partition: int, limit: int) -> Exchange | None:
    """The exchange that brings a partition home; None if there is none, or it is home already."""
    field = standing.field
    owner, former = int(standing.owner[partition]), int(home[partition])
    if owner == former:
        return None
    lag = int(field.lag[partition])
    room = limit - int(standing.loads[former])  # records its home can take without giving any
    others = standing.parts[former]
    lags = standing.lags[former]
    may = (home[others] != former) & field.subscribed[field.topic_of[others], owner]
    # Neither member may exceed the limit.
    may &= (lag - lags <= room) & (standing.loads[owner] - lag + lags <= limit)
    fits = others[may]
    if len(fits):
        # Prefer a partition that comes home by the same exchange, then the heaviest.
        i = int(np.flatnonzero(home[fits] == owner)[-1:].max(initial=-1))
        return Exchange(owner, former, (partition,), (int(fits[i]),))
    if 1 in rule.steps(standing.counts, owner, former, 1) and lag <= room:
        return Exchange(owner, former, (partition,), ())
    return None
