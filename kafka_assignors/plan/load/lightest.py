"""How low the largest load can be made, from a plan there is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.descent import Budget, descend
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.standing import Exchange, Field, Standing
from kafka_assignors.plan.model import NOBODY

__all__ = ["Lightest", "lightest"]

TOLERANCE = 256
"""Loads no more than this part above the lowest one found count as that: the last records cost most moves."""


class Lightest(NamedTuple):
    """What was found.

    Attributes:
        load: the smallest largest load, records.
        enough: a load that is as good, given that it may take fewer moves.
        exchanges: from the plan there was towards it; they may end before they are there.
        owners: a plan with that load.
    """

    load: int
    enough: int
    exchanges: list[Exchange]
    owners: Owners


def lightest(
    field: Field, rule: CountRule, owners: Owners, *, greedy: Owners, bound: int, budget: Budget
) -> Lightest:
    """Look for the smallest largest load, in several ways.  Depends on nothing but its arguments.

    Exchanges from the plan there is.  If they do not come near the bound: all partitions dealt anew by lag,
    and the greedy plan if it keeps the rule, each with exchanges after it; small groups are searched through.

    Args:
        field: what there is.
        rule: of counts.
        owners: the plan there is; it keeps the rule.
        greedy: KIP-169's plan: if it keeps the rule, what is found is no worse.
        bound: what no plan is below, records.
        budget: for all exchanges together.
    """
    goal = bound + bound // TOLERANCE  # no plan is better than this by more than the tolerance
    limit = None
    if rule.allows(field, greedy, owners):
        limit = int(field.loads(greedy).max(initial=0))
        goal = min(goal, limit)
    standing = Standing(field, owners)
    exchanges = descend(standing, rule, goal, budget)
    best, load = standing.owner, standing.load
    if load > goal:
        everything = np.ones(len(owners), np.bool_)
        starts = [redeal(field, owners, everything, by_room=rule.skew is not None)]
        if limit is not None:
            starts.append(greedy)
        for start in starts:
            if not rule.allows(field, start, owners):
                continue
            standing = Standing(field, start)
            descend(standing, rule, goal, budget)
            if standing.load < load:
                best, load = standing.owner, standing.load
        found = least(
            field,
            np.full_like(owners, NOBODY),
            (load - 1, len(owners)),
            by_moves=False,
            enough=bound,
            largest_count=rule.largest(field, owners),
            fits=lambda plan: rule.allows(field, plan, owners),
        )
        if found is not None:
            best, load = found, int(field.loads(found).max())
    enough = goal if load <= goal else load + load // TOLERANCE
    return Lightest(load, enough if limit is None else min(enough, limit), exchanges, best)
