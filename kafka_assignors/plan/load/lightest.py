"""Find the lowest largest load, starting from a given plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.descent import Budget, descend
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.standing import Exchange, Field, Standing
from kafka_assignors.plan.model import NO_MEMBER

TOLERANCE = 256
"""A load at most this part above the lowest counts as equal, because the last records cost most moves."""


class Lightest(NamedTuple):
    """The result of ``lightest``.

    Attributes:
        load: the lowest largest load, records.
        enough: a load that counts as equally good, and may take fewer moves.
        exchanges: exchanges from the given plan towards ``load``, which they may not reach.
        owners: a plan with ``load``.
    """

    load: int
    enough: int
    exchanges: list[Exchange]
    owners: Owners


def lightest(
    field: Field, rule: CountRule, owners: Owners, *, greedy: Owners, bound: int, budget: Budget
) -> Lightest:
    """Search for the lowest largest load in several ways.  Deterministic.

    First exchanges from the given plan.  If they do not come near the bound: exchanges from a plan that deals
    all partitions by lag, exchanges from the greedy plan if it keeps the rule, and an exact search of small
    groups.

    Args:
        field: the problem.
        rule: the rule of counts.
        owners: the given plan; it keeps the rule.
        greedy: KIP-169's plan.  If it keeps the rule, the result is no worse.
        bound: lower bound of the load, records.
        budget: limit of all exchanges together.
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
        exact = least(
            field,
            np.full_like(owners, NO_MEMBER),
            (load - 1, len(owners)),
            by_moves=False,
            enough=bound,
            largest_count=rule.largest(field, owners),
            fits=lambda plan: rule.allows(field, plan, owners),
        )
        if exact is not None:
            best, load = exact, int(field.loads(exact).max())
    enough = goal if load <= goal else load + load // TOLERANCE
    return Lightest(load, enough if limit is None else min(enough, limit), exchanges, best)
