"""Why each partition goes where a plan puts it, as a value a person and a program can read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import NOBODY, Group, Member, Ownership, shown
from kafka_assignors.plan.rounds import Hold

__all__ = ["Reason", "Why", "explain"]

_MOST_NAMES = 3  # a thousand members may claim the same partition; a line need not name them

Plan = Mapping[str, Mapping[str, list[int]]]
"""An assignment that is only read."""


class Reason(str, Enum):
    """Why a partition has the owner it has in a plan; the value starts its line."""

    KEPT = "kept"
    STAYS = "stays with the active member"
    MOVED = "moved for balance"
    LOAD = "moved for load"
    EXPECTED_LOAD = "moved for expected load"
    NEARER = "moved to a rack with a replica"
    HIGHEST = "moved to the highest priority"
    ACTIVE = "moved to the active member"
    DEALT = "dealt in order"
    DEALT_BY_LAG = "dealt by lag"
    OWNER_GONE = "owner gone"
    OWNER_UNSUBSCRIBED = "owner no longer subscribes"
    CONTESTED = "claim contested"
    NO_OWNER = "no owner before"
    NOBODY_SUBSCRIBES = "nobody subscribes"


class Why(NamedTuple):
    """Where one partition shall be, and why.

    Attributes:
        topic: the partition's topic.
        partition: its number.
        member_id: who shall have it; None when nobody subscribes to the topic.
        reason: why it is that member.
        others: whom the reason is about: the owner it is taken from, the one that is gone, those whose claims
            contradict each other.  Empty where the reason needs nobody.
        waits_for: the member that must give it back first (cooperative protocol), None when it is free.
    """

    topic: str
    partition: int
    member_id: str | None
    reason: Reason
    others: tuple[str, ...] = ()
    waits_for: str | None = None

    def __str__(self) -> str:
        """One line: the reason, whom it is about, and what it waits for."""
        text = self.reason.value
        if self.others:
            more = len(self.others) - _MOST_NAMES
            names = ", ".join(shown(name) for name in self.others[:_MOST_NAMES])
            text += f": {names}" + (f" and {more} more" if more > 0 else "")
        return text if self.waits_for is None else f"{text}; waits for revocation by {shown(self.waits_for)}"


def explain(
    group: Group,
    claims: Claims,
    target: Plan,
    given: Plan,
    holds: Iterable[Hold],
    *,
    departed: Collection[Member] = (),
    in_order: bool = False,
    words: Mapping[Reason, Reason] = MappingProxyType({}),
    by_load: bool = False,
) -> list[Why]:
    """Say for every partition of the group's topics why the plan puts it where it does.

    Args:
        group: who plans.
        claims: what they own and hold.
        target: where everything shall be.
        given: what is given out in this round.
        holds: what is not at its target yet, as ``this_round`` says.
        departed: members known to have left, with what they owned; without them a partition nobody claims
            counts as one that had no owner.
        in_order: the strategy deals in an order of its own and looks at no history, so that no move of its
            has balance, or a rack, as a reason.
        words: the reasons a strategy has for what others do for balance, or for a rack, or leave as it is.
        by_load: the strategy evens out lag.  If there is any, its order is by lag; and what goes to a member
            that owned as many partitions as the old owner, or one fewer, is moved for load, as their counts
            give no reason.

    Returns:
        One entry a partition, by topic and number.  Linear in the partitions and the claims.
    """
    to = {at: member_id for member_id, at in _entries(target)}
    now = {at: member_id for member_id, at in _entries(given)}
    blocked = {(hold.topic, hold.partition): hold.member_id for hold in holds}
    partitions = [(topic, p) for topic, count in group.topics.items() for p in range(count)]
    owner = {
        at: group.members[i].member_id
        for at, i in zip(partitions, claims.owner.tolist(), strict=True)
        if i != NOBODY
    }
    unowned = frozenset(partitions) - owner.keys()
    claimed = _newest_claims(group.members, unowned)
    had = _newest_claims(departed, unowned)
    by_load = by_load and bool(group.lag.any())
    for_load = _for_load(group, claims, target) if by_load else frozenset[tuple[str, int]]()
    nearer = frozenset[tuple[str, int]]() if by_load else _nearer(group, claims, target)

    def moved(at: tuple[str, int]) -> Reason:
        if in_order:
            return Reason.DEALT_BY_LAG if by_load else Reason.DEALT
        if at in for_load:
            return Reason.LOAD
        return Reason.NEARER if at in nearer else Reason.MOVED

    def reason(at: tuple[str, int], member_id: str | None) -> tuple[Reason, tuple[str, ...]]:
        if member_id is None:
            return Reason.NOBODY_SUBSCRIBES, ()
        if at in owner:
            if owner[at] == member_id:
                return Reason.KEPT, ()
            return moved(at), (owner[at],)
        if claimants := claimed.get(at):
            # An only claim that does not make an owner is that of a member which may not have it any more.
            return Reason.CONTESTED if len(claimants) > 1 else Reason.OWNER_UNSUBSCRIBED, claimants
        return (Reason.OWNER_GONE, had[at]) if at in had else (Reason.NO_OWNER, ())

    def why(at: tuple[str, int], member_id: str | None) -> Why:
        what, others = reason(at, member_id)
        waits_for = blocked.get(at) if now.get(at) != member_id else None
        return Why(*at, member_id, words.get(what, what), others, waits_for)

    return [why(at, to.get(at)) for at in partitions]


def _nearer(group: Group, claims: Claims, target: Plan) -> frozenset[tuple[str, int]]:
    """What goes from an owner in no rack of a replica to one that is in such a rack."""
    before = group.near(claims.owner)
    if before is None:
        return frozenset()
    after = group.near(Assignment.of(group, target).owners)
    moved = (claims.owner != NOBODY) & ~before & after
    return frozenset(group.at(partition) for partition in np.flatnonzero(moved).tolist())


def _for_load(group: Group, claims: Claims, target: Plan) -> frozenset[tuple[str, int]]:
    """What goes from an owner to a member that owned as many partitions, or nearly: not for their counts."""
    after = Assignment.of(group, target).owners
    moved = np.flatnonzero((claims.owner != NOBODY) & (after != NOBODY) & (claims.owner != after))
    owned = np.bincount(claims.owner[claims.owner != NOBODY], minlength=len(group.members))
    even = owned[claims.owner[moved]] - owned[after[moved]] < 2
    return frozenset(group.at(partition) for partition in moved[even].tolist())


def _newest_claims(
    members: Iterable[Member], wanted: Collection[tuple[str, int]]
) -> dict[tuple[str, int], tuple[str, ...]]:
    """Who claims these partitions in the highest generation anybody claims them in."""
    newest: dict[tuple[str, int], tuple[int, tuple[str, ...]]] = {}
    for member in members:
        for at in dict.fromkeys(_numbered(member.owned)):  # a member may name a partition twice
            if at not in wanted:
                continue
            generation, names = newest.get(at, (member.generation, ()))
            if member.generation >= generation:
                same = member.generation == generation
                newest[at] = member.generation, (*names, member.member_id) if same else (member.member_id,)
    return {at: names for at, (_generation, names) in newest.items()}


def _entries(plan: Plan) -> Iterator[tuple[str, tuple[str, int]]]:
    for member_id, topics in plan.items():
        for at in _numbered(topics):
            yield member_id, at


def _numbered(topics: Ownership) -> Iterator[tuple[str, int]]:
    for topic, numbers in topics.items():
        for number in numbers:
            yield topic, number
