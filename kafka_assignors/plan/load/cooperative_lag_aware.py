"""``cooperative-lag-aware``: even loads over all topics, with few moves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan.assignment import Assignment, Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.load.calm import calm_owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.lag_aware import plan_lag_aware
from kafka_assignors.plan.load.lightest import lightest
from kafka_assignors.plan.load.saving import with_few_moves
from kafka_assignors.plan.load.working_plan import Budget, LoadProblem
from kafka_assignors.plan.model import NO_MEMBER, Group
from kafka_assignors.plan.sticky.planner import plan_sticky

_WORK, _WORK_PER_PARTITION = 2_500_000, 100
"""Budget of a search, in partitions examined: a fixed part, and a part for each partition of the group."""


def plan_cooperative_lag_aware(
    group: Group, claims: Claims, *, max_partition_skew: int | None = 1, min_improvement: float = 0.1
) -> Assignment:
    """Keep counts within the skew, then make the largest load small, then make few moves.

    If there is lag, moves that the counts do not need are made only if they pay: see ``min_improvement``.
    Seniority, topic and partition break ties.  Planning again with the same lag changes nothing.  Racks are
    ignored while there is lag.  The search is a heuristic; docs/benchmarks.md has its distance from the
    optimum and its run time.

    Args:
        group: members and topics.  A member's load is its lag (``Group.lag``) of all topics, in records,
            divided by its capacity if capacities differ: see ``Capacities``.
        claims: the partitions that members own.
        max_partition_skew: the largest allowed difference in counts between two members, if a move or a chain
            of moves could pass a partition from the one with more to the one with fewer; at least 1, None for
            no limit.  With 1 only the fair plans of ``plan_sticky`` are allowed.  With equal subscriptions
            this limits the difference between the most and the fewest partitions of a member.
        min_improvement: from 0 to below 1.  Moves that the counts do not need are made only if the largest
            load falls by at least this fraction, and also by at least the load of one record in every
            partition, divided evenly among the members: lag fluctuates by that much.  0 turns off both
            thresholds.

    Returns:
        The plan.  If all lag is 0 or unknown, a skew of 1 gives the plan of ``plan_sticky``, which also moves
        partitions to nearer racks.  Another skew then gives a plan with only the moves that the counts need.

    Raises:
        ProblemError: an option is out of its range.
    """
    if max_partition_skew is not None and max_partition_skew < 1:
        raise ProblemError(f"max_partition_skew is {max_partition_skew}, must be 1 or more, or None")
    if not 0 <= min_improvement < 1:
        raise ProblemError(f"min_improvement is {min_improvement}, must be from 0 to below 1")
    if group.lag[group.assignable_topics[group.topic_of]].any():
        group = replace(group, racks={})
    elif max_partition_skew == 1:
        return plan_sticky(group, claims)
    improvement = Fraction(min_improvement).limit_denominator(10**6)
    problem = LoadProblem(group)
    rule = CountRule(problem, max_partition_skew)
    work = _WORK + _WORK_PER_PARTITION * group.size
    capacity = max(int(problem.capacities.parts[problem.subscribers].sum()), 1)
    noise = -(-len(problem.assignable) * problem.capacities.most // capacity)
    least_gain = max(noise, 1) if min_improvement else 1
    bounds = LagBound(group)
    owners = calm_owners(group, claims, problem, rule, bounds=bounds, budget=Budget(work))
    # If no partition has an owner, no assignment is a move, and any smaller load is worth it.
    moves_are_free = bool((claims.owner[problem.assignable] == NO_MEMBER).all())
    greedy: Owners | None = None
    # Lower the largest load until the bound excludes a plan that pays, or the search finds no such plan.
    while True:
        load = int(problem.loads(owners).max(initial=0))
        wanted = load - 1 if moves_are_free else min(int(load * (1 - improvement)), load - least_gain)
        bound = bounds.of_plans(rule.fewest(owners), wanted)
        if bound > wanted:
            return Assignment(group, owners)
        greedy = plan_lag_aware(group).owners if greedy is None else greedy
        best = lightest(problem, rule, owners, greedy=greedy, bound=bound, budget=Budget(work))
        if best.load > wanted or load <= best.enough:
            return Assignment(group, owners)
        limit = min(best.enough, wanted)
        owners = with_few_moves(
            problem, rule, owners, best=best, former_owners=claims.owner, limit=limit, budget=Budget(work)
        )
        moves_are_free = False
