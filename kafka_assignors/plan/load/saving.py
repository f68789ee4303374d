"""Reaching a load with few moves."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.lightest import Lightest
from kafka_assignors.plan.load.standing import Exchange, Field, Standing
from kafka_assignors.plan.model import NOBODY

__all__ = ["with_few_moves"]


def with_few_moves(
    field: Field, rule: CountRule, owners: Owners, *, found: Lightest, home: Owners, limit: int
) -> Owners:
    """A plan whose largest load is no more than ``limit`` records, with few moves.

    Args:
        field: what there is.
        rule: of counts.
        owners: the plan there was.
        found: how it can be bettered; its load is no more than ``limit``.
        home: by partition, whose it was.
        limit: records.
    """
    standing = Standing(field, owners)
    for exchange in found.exchanges:
        if standing.load <= limit:
            break
        standing.do(exchange)
    if standing.load > limit:
        standing = Standing(field, _relabelled(field, found.owners, home))
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
    return int(((home != owners) & (home != NOBODY))[field.dealt].sum())


def _relabelled(field: Field, owners: Owners, home: Owners) -> Owners:
    """With equal subscriptions any member can have any part: who had most of it, if it can."""
    if not field.equal:
        return owners
    members = len(field.plays)
    there = field.dealt[home[field.dealt] != NOBODY]
    cells, sizes = np.unique(owners[there].astype(np.int64) * members + home[there], return_counts=True)
    to = np.full(members, NOBODY, np.int32)
    taken = np.zeros(members, np.bool_)
    for cell in cells[np.argsort(-sizes, kind="stable")].tolist():
        part, member = divmod(cell, members)
        if to[part] == NOBODY and not taken[member]:
            to[part] = member
            taken[member] = True
    to[(to == NOBODY) & field.plays] = np.flatnonzero(~taken & field.plays)
    renamed: Owners = owners.copy()
    renamed[field.dealt] = to[owners[field.dealt]]
    return renamed


def _bring_home(standing: Standing, rule: CountRule, home: Owners, limit: int) -> None:
    """Undo moves, in exchange for others that are away from home too or for nothing, where loads allow it."""
    field = standing.field
    while True:
        away = field.dealt[(home != NOBODY)[field.dealt] & (home != standing.owner)[field.dealt]]
        changed = False
        for partition in away[np.argsort(-field.lag[away], kind="stable")].tolist():
            exchange = _return(standing, rule, home, partition, limit)
            if exchange is not None and rule.keeps(standing, exchange):
                standing.do(exchange)
                changed = True
        if not changed:
            return


def _return(standing: Standing, rule: CountRule, home: Owners, partition: int, limit: int) -> Exchange | None:
    """How a partition can go home, if it is not there already."""
    field = standing.field
    here, there = int(standing.owner[partition]), int(home[partition])
    if here == there:
        return None
    lag = int(field.lag[partition])
    room = limit - int(standing.loads[there])  # what its home could take without giving anything
    others = standing.parts[there]
    lags = standing.lags[there]
    may = (home[others] != there) & field.subscribed[field.topic_of[others], here]
    # Its home must get no more than it has room for, and the other member neither.
    may &= (lag - lags <= room) & (standing.loads[here] - lag + lags <= limit)
    fits = others[may]
    if len(fits):
        # One that comes home by that, if there is one; then the heaviest.
        at = int(np.flatnonzero(home[fits] == here)[-1:].max(initial=-1))
        return Exchange(here, there, (partition,), (int(fits[at]),))
    if 1 in rule.steps(standing.counts, here, there, 1) and lag <= room:
        return Exchange(here, there, (partition,), ())
    return None
