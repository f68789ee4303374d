"""The calm plan: makes only the moves that the rule of counts needs, and places those by lag."""

from __future__ import annotations

from heapq import heapreplace

import numpy as np

from kafka_assignors.plan.arrays import Matrix, Vector
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.load.counts import CountRule, lowest_within_reach
from kafka_assignors.plan.load.descent import descend
from kafka_assignors.plan.load.exact import best_plan
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.working_plan import Budget, LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER, Group
from kafka_assignors.plan.sticky.planner import plan_fairest_sticky, plan_sticky

_FINE = 2048
"""Exchanges end when the largest load is at most 1/2048 above its lower bound."""

_MOST_WORK = 50_000_000
"""With unequal subscriptions, ``_even_out`` reads at most this many entries of shares and owners.

Reading them takes about a second.
"""


def calm_owners(
    group: Group, claims: Claims, problem: LoadProblem, rule: CountRule, *, bounds: LagBound, budget: Budget
) -> Owners:
    """Move only as many partitions as the rule of counts needs; place these, and unowned ones, by lag.

    With a skew of 1, with equal subscriptions, or without a limit, no plan that keeps the rule moves fewer;
    otherwise this is a heuristic.  Afterwards exchanges lower the largest load, without raising the number of
    moved partitions.
    """
    home = claims.owner
    planner = plan_sticky if rule.skew == 1 else plan_fairest_sticky
    owners: Owners = planner(group, claims).owners.copy()
    if rule.skew is not None and rule.skew > 1 and not _even_out(problem, owners, home, rule.skew):
        owners = plan_sticky(group, claims).owners.copy()  # even counts keep the rule with any skew
    free = (home == NO_MEMBER) | (owners != home)
    if not free[problem.assignable].any():
        return owners
    dealt = redeal(problem, owners, free, keep_counts=rule.skew is not None)
    if problem.loads(dealt).max() < problem.loads(owners).max() and rule.is_met(dealt):
        owners = dealt
    bound = bounds.of_plans(rule.fewest(owners))
    goal = bound + bound // _FINE
    plan = WorkingPlan(problem, owners)
    descend(plan, rule, goal, budget, home)
    owners = plan.owner
    moved = int(((home != NO_MEMBER) & (owners != home)).sum())
    better = best_plan(
        problem,
        home,
        (plan.load - 1, moved),
        by_moves=False,
        enough=bound,
        largest_count=rule.largest(owners),
        fits=lambda plan: rule.allows(plan, owners),
    )
    return owners if better is None else better


def _even_out(problem: LoadProblem, owners: Owners, home: Owners, skew: int) -> bool:
    """Move partitions from members with too many to members with the fewest within their reach.

    Changes ``owners``.  Returns whether the counts keep the rule; False if the work was too much.
    """
    if problem.equal:
        _even_out_equal(problem, owners, home, skew)
        return True
    shares = problem.shares(owners)
    mean = int(shares.sum()) / len(problem.subscribers)
    work = _MOST_WORK
    while True:
        counts = shares.sum(axis=0)
        gaps = counts - lowest_within_reach(problem, shares)
        high = int(gaps.argmax())
        gap = int(gaps[high])
        if gap <= skew:
            return True
        work -= shares.size + len(owners)
        if work < 0:
            return False
        chain = _chain(problem, shares, high, int(counts[high]) - gap)
        choices = [
            np.flatnonzero((owners == giver) & problem.subscribed[problem.topic_of, taker])
            for giver, taker in chain
        ]
        # Several partitions may move at once.  But no member may pass the mean, because it would have to give
        # some back.  And only half of the moves that the ends of the chain need are made, because other
        # members give and take, too.
        room = min(int(counts[high] - np.ceil(mean)), int(mean - counts[high] + gap), (gap - skew + 1) // 4)
        moving = max(min(room, *map(len, choices)), 1)
        for (_giver, taker), partitions in zip(chain, choices, strict=True):
            owners[_in_order(problem, owners, home, partitions)[:moving]] = taker
        shares = problem.shares(owners)


def _even_out_equal(problem: LoadProblem, owners: Owners, home: Owners, skew: int) -> None:
    """Move one partition after the other from the member with the most to the one with the fewest.

    Changes ``owners``.  No plan within the skew moves fewer partitions: no other choice of as many moves
    lowers the highest count further, or raises the lowest further.
    """
    counts = problem.counts(owners).tolist()
    highest = sorted((-counts[member], member) for member in problem.subscribers.tolist())
    lowest = sorted((counts[member], member) for member in problem.subscribers.tolist())
    gives, takes = np.zeros((2, problem.members), np.int64)
    while highest and -highest[0][0] - lowest[0][0] > skew:
        (negative, giver), (count, taker) = highest[0], lowest[0]
        heapreplace(highest, (negative + 1, giver))
        heapreplace(lowest, (count + 1, taker))
        gives[giver] += 1
        takes[taker] += 1
    partitions = _in_order(problem, owners, home, problem.assignable)
    giver_of = owners[partitions]
    rank = np.arange(len(partitions)) - np.searchsorted(giver_of, giver_of)
    owners[partitions[rank < gives[giver_of]]] = np.repeat(np.arange(problem.members), takes)


def _in_order(problem: LoadProblem, owners: Owners, home: Owners, partitions: Vector) -> Vector:
    """Sort by owner, then partitions that are new to the owner first, then by falling lag."""
    owner = owners[partitions]
    order = np.lexsort((-problem.lag[partitions], home[partitions] == owner, owner))
    return partitions[order]


def _chain(problem: LoadProblem, shares: Matrix, start: int, count: int) -> list[tuple[int, int]]:
    """A shortest chain of pairs (giver, taker) from ``start`` to a member with ``count`` partitions."""
    counts = shares.sum(axis=0)
    came_from = {start: -1}  # member -> the giver before it
    layer = [start]
    while True:
        following = []
        for giver in layer:
            for taker in np.flatnonzero(problem.subscribed[shares[:, giver] > 0].any(axis=0)).tolist():
                if taker not in came_from:
                    came_from[taker] = giver
                    following.append(taker)
        if ends := [member for member in following if counts[member] == count]:
            break
        layer = following
    chain = []
    taker = min(ends)
    while taker != start:
        chain.append((came_from[taker], taker))
        taker = came_from[taker]
    return chain
