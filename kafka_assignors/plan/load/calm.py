"""The calm plan: only the moves that the rule of counts needs, placed so that loads are even."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.load.counts import CountRule, lowest_within_reach
from kafka_assignors.plan.load.descent import Budget, descend
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.working_plan import LoadProblem, WorkingPlan
from kafka_assignors.plan.model import NO_MEMBER, Group
from kafka_assignors.plan.sticky.goals import Matrix
from kafka_assignors.plan.sticky.planner import plan_fairest_sticky, plan_sticky

_FINE = 2048
"""Free partitions are exchanged until the largest load is at most 1/2048 above the bound."""

_WORK = 50_000_000
"""Most entries of shares and owners read while counts are evened out: about 0.2 s."""


def calm_owners(
    group: Group, claims: Claims, problem: LoadProblem, rule: CountRule, *, bounds: LagBound, budget: Budget
) -> Owners:
    """Move only the partitions that the rule of counts needs; place these, and unowned ones, by lag.

    With a skew of 1 (``plan_sticky``), with equal subscriptions, or without a rule, it keeps as many
    partitions as any plan; otherwise it is a heuristic.  Free partitions are then exchanged while that lowers
    the largest load.
    """
    home = claims.owner
    planner = plan_sticky if rule.skew == 1 else plan_fairest_sticky
    owners: Owners = planner(group, claims).owners.copy()
    if rule.skew is not None and rule.skew > 1 and not _even_out(problem, owners, home, rule.skew, _WORK):
        owners = plan_sticky(group, claims).owners.copy()  # even counts keep any rule
    free = (home == NO_MEMBER) | (owners != home)
    if not free[problem.dealt].any():
        return owners
    dealt = redeal(problem, owners, free, by_room=rule.skew is not None)
    if problem.loads(dealt).max() < problem.loads(owners).max() and rule.is_met(
        problem.subscribed, problem.shares(dealt)
    ):
        owners = dealt
    bound = bounds.of_plans(rule.fewest(problem, owners))
    goal = bound + bound // _FINE
    plan = WorkingPlan(problem, owners)
    descend(plan, rule, goal, budget, home)
    owners = plan.owner
    moved = int(((home != NO_MEMBER) & (owners != home)).sum())
    better = least(
        problem,
        home,
        (plan.load - 1, moved),
        by_moves=False,
        enough=bound,
        largest_count=rule.largest(problem, owners),
        fits=lambda plan: rule.allows(problem, plan, owners),
    )
    return owners if better is None else better


def _even_out(problem: LoadProblem, owners: Owners, home: Owners, skew: int, work: int) -> bool:
    """Move partitions from members with too many to the fewest within reach; False if ``work`` runs out."""
    shares = problem.shares(owners)
    mean = int(shares.sum()) / max(int(problem.plays.sum()), 1)
    while True:
        counts = shares.sum(axis=0)
        beyond = counts - lowest_within_reach(problem.subscribed, shares)
        high = int(beyond.argmax())
        gap = int(beyond[high])
        if gap <= skew:
            return True
        work -= shares.size + len(owners)
        if work < 0:
            return False
        chain = _chain(problem, shares, high, int(counts[high]) - gap)
        # Several move at once, but no member passes the mean, because it might have to give some back.
        room = min(int(counts[high] - np.ceil(mean)), int(mean - counts[high] + gap), (gap - skew + 1) // 2)
        passed = min(int(shares[topic, giver]) for giver, _taker, topic in chain)
        many = max(min(room, passed), 1)
        for giver, taker, topic in chain:
            partitions = np.flatnonzero((owners == giver) & (problem.topic_of == topic))
            # Partitions away from home first, then the heaviest.
            order = np.lexsort((-problem.lag[partitions], home[partitions] == giver))
            owners[partitions[order[:many]]] = taker
            shares[topic, giver] -= many
            shares[topic, taker] += many


def _chain(problem: LoadProblem, shares: Matrix, start: int, count: int) -> list[tuple[int, int, int]]:
    """The shortest chain of (giver, taker, topic) from ``start`` to a member with ``count`` partitions."""
    counts = shares.sum(axis=0)
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    layer = [start]
    while True:
        following = []
        for giver in layer:
            for topic in np.flatnonzero(shares[:, giver]).tolist():
                for taker in np.flatnonzero(problem.subscribed[topic]).tolist():
                    if taker in came:
                        continue
                    came[taker] = giver, topic
                    following.append(taker)
        if ends := [member for member in following if counts[member] == count]:
            break
        layer = following
    chain: list[tuple[int, int, int]] = []
    taker = min(ends)
    while taker != start:
        giver, topic = came[taker]
        chain.append((giver, taker, topic))
        taker = giver
    return chain
