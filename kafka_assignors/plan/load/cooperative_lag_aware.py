"""``cooperative-lag-aware``: even loads over all topics, and few moves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan.assignment import Assignment, Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.load.calm import calm_owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.descent import Budget
from kafka_assignors.plan.load.lag_aware import plan_lag_aware
from kafka_assignors.plan.load.lightest import lightest
from kafka_assignors.plan.load.saving import with_few_moves
from kafka_assignors.plan.load.standing import Field
from kafka_assignors.plan.model import NOBODY, Group
from kafka_assignors.plan.sticky.planner import plan_sticky

__all__ = ["plan_cooperative_lag_aware"]

_WORK, _WORK_EACH = 2_500_000, 100
"""How much of it a search may do at most: partitions looked at, and so many more for each there is."""


def plan_cooperative_lag_aware(
    group: Group, claims: Claims, *, max_partition_skew: int | None = 1, min_improvement: float = 0.1
) -> Assignment:
    """Counts first, then the largest load as low as can be, then few moves; and none that does not pay.

    Args:
        group: who plans.  Load is lag (``Group.lag``), of all topics together, in records.
        claims: who had what.
        max_partition_skew: nobody has more than so many partitions more than a member to whom one of its
            could go, by one hand-over or a chain of them; at least 1, None for no such rule.  With 1 these
            are the fair plans of ``plan_sticky``; with equal subscriptions it is the most less the fewest.
        min_improvement: beyond what counts and partitions without an owner force, nothing moves unless the
            largest load falls by at least this part of it, from 0 to below 1; and, unless this is 0, by a
            record for each partition a member has on average: less comes and goes while nobody looks.

    Ties go by seniority, topic and partition; planning again with the same lag changes nothing.  Racks have
    no say while there is lag.  How near to the best that comes, and how long it takes: docs/benchmarks.md.

    Returns:
        The plan.  With no lag known, or none at all, nothing moves but what the counts ask for: with a skew
        of 1 it is ``plan_sticky``'s.

    Raises:
        ProblemError: an option is out of its range.
    """
    if max_partition_skew is not None and max_partition_skew < 1:
        raise ProblemError(f"max_partition_skew is {max_partition_skew}, must be 1 or more, or None")
    if not 0 <= min_improvement < 1:
        raise ProblemError(f"min_improvement is {min_improvement}, must be from 0 to below 1")
    read = np.any(group.subscribed, axis=1)
    if np.where(read[group.topic_of], group.lag, 0).any():
        group = replace(group, racks={})
    elif max_partition_skew == 1:
        return plan_sticky(group, claims)
    improvement = Fraction(min_improvement).limit_denominator(10**6)
    field = Field(group)
    rule = CountRule(max_partition_skew, equal=field.equal, players=field.plays)
    work = _WORK + _WORK_EACH * group.size
    # A record a partition comes and goes while nobody looks.
    noise = -(-len(field.dealt) // max(int(field.plays.sum()), 1)) if min_improvement else 0
    bounds = LagBound(group)
    owners = calm_owners(group, claims, field, rule, bounds=bounds, budget=Budget(work))
    movable = bool((claims.owner[field.dealt] == NOBODY).all())
    greedy: Owners | None = None
    while True:
        load = int(field.loads(owners).max(initial=0))
        wanted = min(int(load * (1 - improvement)), load - noise)
        bound = bounds.of_plans(rule.fewest(field, owners), None if movable else wanted)
        if load <= bound or (bound > wanted and not movable):
            return Assignment(group, owners)
        greedy = plan_lag_aware(group).owners if greedy is None else greedy
        found = lightest(field, rule, owners, greedy=greedy, bound=bound, budget=Budget(work))
        if movable:
            wanted = load - 1
        if found.load > wanted or load <= found.enough:
            return Assignment(group, owners)
        limit = min(found.enough, wanted)
        owners = with_few_moves(field, rule, owners, found=found, home=claims.owner, limit=limit)
        movable = False
