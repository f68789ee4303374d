"""The plan that moves as little as the rule of counts allows, as even in load as that leaves room for."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.load.counts import CountRule, lowest_within_reach
from kafka_assignors.plan.load.descent import Budget, descend
from kafka_assignors.plan.load.exact import least
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.standing import Field, Standing
from kafka_assignors.plan.model import NOBODY, Group
from kafka_assignors.plan.sticky.goals import Matrix
from kafka_assignors.plan.sticky.planner import plan_fairest_sticky, plan_sticky

__all__ = ["calm_owners"]

_FINE = 2048
"""Where it costs no moves, loads are evened out until the largest is so small a part above the bound."""

_WORK = 50_000_000
"""Entries of shares and owners that are looked at to even out counts, at most: about 0.2 s."""


def calm_owners(
    group: Group, claims: Claims, field: Field, rule: CountRule, *, bounds: LagBound, budget: Budget
) -> Owners:
    """Move nothing but what the counts ask for; place that, and what nobody had, by its lag.

    Nothing could keep more with a skew of 1 (``plan_sticky``), with equal subscriptions, or without a rule;
    else it is a heuristic.  What is free anyway then changes places until that makes the largest load
    no smaller.  A plan with nothing free that keeps the rule is returned as it is.
    """
    home = claims.owner
    planner = plan_sticky if rule.skew == 1 else plan_fairest_sticky
    owners: Owners = planner(group, claims).owners.copy()
    if rule.skew is not None and rule.skew > 1 and not _even_out(field, owners, home, rule.skew, _WORK):
        owners = plan_sticky(group, claims).owners.copy()  # even is within any rule
    free = (home == NOBODY) | (owners != home)
    if not free[field.dealt].any():
        return owners
    dealt = redeal(field, owners, free, by_room=rule.skew is not None)
    if field.loads(dealt).max() < field.loads(owners).max() and rule.holds(
        field.subscribed, field.shares(dealt)
    ):
        owners = dealt
    bound = bounds.of_plans(rule.fewest(field, owners))
    goal = bound + bound // _FINE
    standing = Standing(field, owners)
    descend(standing, rule, goal, budget, home)
    owners = standing.owner
    moved = int(((home != NOBODY) & (owners != home)).sum())
    better = least(
        field,
        home,
        (standing.load - 1, moved),
        by_moves=False,
        enough=bound,
        largest_count=rule.largest(field, owners),
        fits=lambda plan: rule.allows(field, plan, owners),
    )
    return owners if better is None else better


def _even_out(field: Field, owners: Owners, home: Owners, skew: int, work: int) -> bool:
    """Hand on partitions, from who has too many to who has fewest of those it can reach.

    Returns:
        Whether the rule is kept now; not when that would take more than so much work.
    """
    shares = field.shares(owners)
    mean = int(shares.sum()) / max(int(field.plays.sum()), 1)
    while True:
        counts = shares.sum(axis=0)
        beyond = counts - lowest_within_reach(field.subscribed, shares)
        high = int(beyond.argmax())
        gap = int(beyond[high])
        if gap <= skew:
            return True
        work -= shares.size + len(owners)
        if work < 0:
            return False
        way = _way(field, shares, high, int(counts[high]) - gap)
        # Several at once, but nobody goes past the mean: it might have to give back.
        room = min(int(counts[high] - np.ceil(mean)), int(mean - counts[high] + gap), (gap - skew + 1) // 2)
        passed = min(int(shares[topic, giver]) for giver, _taker, topic in way)
        many = max(min(room, passed), 1)
        for giver, taker, topic in way:
            mine = np.flatnonzero((owners == giver) & (field.topic_of == topic))
            # What is not at home anyway, then what weighs most.
            chosen = mine[np.lexsort((-field.lag[mine], home[mine] == giver))[:many]]
            owners[chosen] = taker
            shares[topic, giver] -= many
            shares[topic, taker] += many


def _way(field: Field, shares: Matrix, start: int, count: int) -> list[tuple[int, int, int]]:
    """The shortest chain of members from one to another that has ``count``: who gives whom what topic."""
    counts = shares.sum(axis=0)
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    layer = [start]
    while True:
        following = []
        for giver in layer:
            for topic in np.flatnonzero(shares[:, giver]).tolist():
                for taker in np.flatnonzero(field.subscribed[topic]).tolist():
                    if taker in came:
                        continue
                    came[taker] = giver, topic
                    following.append(taker)
        if ends := [member for member in following if counts[member] == count]:
            break
        layer = following
    way: list[tuple[int, int, int]] = []
    at = min(ends)
    while at != start:
        giver, topic = came[at]
        way.append((giver, at, topic))
        at = giver
    return way
