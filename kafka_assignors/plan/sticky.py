"""KIP-54 and its two relatives: ``sticky``, ``fair`` and ``fairest-sticky``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.claims import NOBODY, Claims
from kafka_assignors.plan.model import Assignment, Group
from kafka_assignors.plan.shares import Vector, best_shares

__all__ = ["plan_fair", "plan_fairest_sticky", "plan_sticky"]


def plan_sticky(group: Group, claims: Claims) -> Assignment:
    """The fairest plan; among those the one that keeps most; among those the one that spreads topics best.

    Fair: the sum of the squares of the members' partition counts is the least there is, whatever the
    subscriptions.  Sticky: no fair plan leaves more partitions with their owner.  Spread: no such plan has a
    smaller sum of squares of the members' shares of the topics.  All three are exact; KIP-54 calls the second
    "an optimum (and not necessarily the best)".

    Ties: members by seniority, topics by name, partitions by number.  Planning again with nothing changed
    changes nothing.  Cost: see ``best_shares``.
    """
    return _deal(group, claims.owner, keep_all=False)


def plan_fair(group: Group) -> Assignment:
    """``plan_sticky`` without a history (KIP-54, "Alternatives": the fair strategy of KIP-49)."""
    nobody = {topic: np.full(count, NOBODY, np.int32) for topic, count in group.topics.items()}
    return _deal(group, nobody, keep_all=False)


def plan_fairest_sticky(group: Group, claims: Claims) -> Assignment:
    """Everything owned stays; only the rest is placed, as fairly as that allows.

    KIP-54, "Alternatives": "stickiness take precedence and all previously assigned partitions are preserved".
    Ties as in ``plan_sticky``.
    """
    return _deal(group, claims.owner, keep_all=True)


def _deal(group: Group, owner_of: Mapping[str, npt.NDArray[np.int32]], *, keep_all: bool) -> Assignment:
    """Count first (``best_shares``), then name the partitions."""
    assignment = group.empty_assignment()
    subscribers = group.subscribers()
    if not subscribers:
        return assignment
    # Who subscribes to nothing takes no part: it must not change what the others get, not even in a tie.
    seat = np.array([any(t in subscribers for t in m.topics) for m in group.members])
    column = np.cumsum(seat) - 1
    players = [m.member_id for m, plays in zip(group.members, seat, strict=True) if plays]
    index = {member_id: i for i, member_id in enumerate(players)}
    subscribed = np.zeros((len(subscribers), len(players)), np.bool_)
    owned = np.zeros(subscribed.shape, np.int64)
    owner = {t: np.where(owner_of[t] >= 0, column[owner_of[t]], NOBODY) for t in subscribers}
    for row, (topic, members) in enumerate(subscribers.items()):
        subscribed[row, [index[m.member_id] for m in members]] = True
        owned[row] = np.bincount(owner[topic][owner[topic] >= 0], minlength=len(players))
    supply = np.array([group.topics[topic] for topic in subscribers], np.int64)
    shares = best_shares(supply, subscribed, owned, keep_all=keep_all)
    turn = 0
    for row, topic in enumerate(subscribers):
        parts, turn = _name(shares[row], owner[topic], turn)
        for i in np.flatnonzero(shares[row]).tolist():
            assignment[players[i]][topic] = parts[i]
    return assignment


def _name(wanted: Vector, owners: Vector, turn: int) -> tuple[dict[int, list[int]], int]:
    """Which partitions of one topic each member gets, and whose turn is next.

    A member keeps the lowest of those it owned; the others are dealt in turn, going on where the last topic
    stopped, so that a fresh plan for equal subscriptions is the round-robin one.
    """
    parts: dict[int, list[int]] = {}
    free: list[int] = []
    missing = wanted.tolist()
    for partition, member in enumerate(owners.tolist()):
        if member >= 0 and missing[member]:
            missing[member] -= 1
            parts.setdefault(member, []).append(partition)
        else:
            free.append(partition)
    waiting = [i for i, count in enumerate(missing) if count]
    at = bisect_left(waiting, turn)
    for partition in free:
        at %= len(waiting)
        member = waiting[at]
        parts.setdefault(member, []).append(partition)
        missing[member] -= 1
        turn = member + 1
        if missing[member]:
            at += 1
        else:
            del waiting[at]
    return {member: sorted(numbers) for member, numbers in parts.items()}, turn % len(wanted)
