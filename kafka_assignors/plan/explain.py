"""Explains a plan: gives the reason for each partition's owner, to people and programs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import NO_MEMBER, Group, Member, Ownership, listed, shown
from kafka_assignors.plan.rounds import Hold

Plan = Mapping[str, Mapping[str, list[int]]]
"""A read-only assignment: member id -> topic -> partition numbers."""


class Reason(str, Enum):
    """Why a plan gives a partition to its owner.  The value starts the line of text."""

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
    """The planned owner of one partition, and the reason.

    Attributes:
        topic: the partition's topic.
        partition: its number.
        member_id: the planned owner; None when no member subscribes to the topic.
        reason: why the plan chose that member.
        others: other members in the reason: the previous owner, the owner that left, or members with
            contradicting claims.
        waits_for: the member that must revoke the partition first (cooperative protocol); else None.
    """

    topic: str
    partition: int
    member_id: str | None
    reason: Reason
    others: tuple[str, ...] = ()
    waits_for: str | None = None

    def __str__(self) -> str:
        """One line: the reason, the other members, and the member it waits for."""
        text = self.reason.value
        if self.others:  # these can be many: a thousand members may claim one partition
            text += f": {listed(self.others, name=shown)}"
        return text if self.waits_for is None else f"{text}; waits for revocation by {shown(self.waits_for)}"


def explain(
    group: Group,
    claims: Claims,
    target: Plan,
    assigned: Plan,
    holds: Iterable[Hold],
    *,
    departed: Collection[Member] = (),
    in_order: bool = False,
    overrides: Mapping[Reason, Reason] = MappingProxyType({}),
    by_load: bool = False,
) -> list[Why]:
    """Return the reason for the planned owner of every partition of the group's topics.

    Args:
        group: members and topics.
        claims: the partitions that members own and hold.
        target: the planned owner of each partition.
        assigned: the assignment of this round.
        holds: partitions that are not at their target yet, from ``this_round``.
        departed: members known to have left, with the partitions they owned.  A partition without a claim,
            and without an owner among these, counts as one that had no owner.
        in_order: the strategy assigns in a fixed order and ignores history, so neither balance nor a rack is
            a reason for its moves.
        overrides: replaces reasons by the strategy's own, such as ``MOVED`` by ``ACTIVE``.
        by_load: the strategy balances lag; no effect while all lag is 0 or unknown.  With ``in_order`` the
            reason is ``DEALT_BY_LAG``.  Otherwise racks are no reason, and a move is ``LOAD`` if the old
            owner owned at most one partition more than the new one.

    Returns:
        One entry a partition, by topic and number.  Linear in the partitions and the claims.
    """
    target_of = {partition: member_id for member_id, partition in _entries(target)}
    assigned_to = {partition: member_id for member_id, partition in _entries(assigned)}
    blocked = {(hold.topic, hold.partition): hold.member_id for hold in holds}
    partitions = [(topic, number) for topic, count in group.topics.items() for number in range(count)]
    owner = {
        partition: group.members[i].member_id
        for partition, i in zip(partitions, claims.owner.tolist(), strict=True)
        if i != NO_MEMBER
    }
    unowned = frozenset(partitions) - owner.keys()
    claimed = _newest_claims(group.members, unowned)
    departed_owner = _newest_claims(departed, unowned)
    by_load = by_load and bool(group.lag.any())
    for_load = _for_load(group, claims, target) if by_load else frozenset[tuple[str, int]]()
    nearer = frozenset[tuple[str, int]]() if by_load else _nearer(group, claims, target)

    def moved(partition: tuple[str, int]) -> Reason:
        if in_order:
            return Reason.DEALT_BY_LAG if by_load else Reason.DEALT
        if partition in for_load:
            return Reason.LOAD
        return Reason.NEARER if partition in nearer else Reason.MOVED

    def reason_for(partition: tuple[str, int], member_id: str | None) -> tuple[Reason, tuple[str, ...]]:
        if member_id is None:
            return Reason.NOBODY_SUBSCRIBES, claimed.get(partition) or departed_owner.get(partition, ())
        if partition in owner:
            if owner[partition] == member_id:
                return Reason.KEPT, ()
            return moved(partition), (owner[partition],)
        if claimants := claimed.get(partition):
            # A single claimant would be the owner if it still subscribed.
            return Reason.CONTESTED if len(claimants) > 1 else Reason.OWNER_UNSUBSCRIBED, claimants
        if partition in departed_owner:
            return Reason.OWNER_GONE, departed_owner[partition]
        return Reason.NO_OWNER, ()

    def why(partition: tuple[str, int], member_id: str | None) -> Why:
        reason, others = reason_for(partition, member_id)
        waits_for = blocked.get(partition) if assigned_to.get(partition) != member_id else None
        return Why(*partition, member_id, overrides.get(reason, reason), others, waits_for)

    return [why(partition, target_of.get(partition)) for partition in partitions]


def _nearer(group: Group, claims: Claims, target: Plan) -> frozenset[tuple[str, int]]:
    """Partitions that move from an owner without a replica in its rack to one with a replica there."""
    before = group.near(claims.owner)
    if before is None:
        return frozenset()
    after = group.near(Assignment.of(group, target).owners)
    moved = (claims.owner != NO_MEMBER) & ~before & after
    return frozenset(group.at(partition) for partition in np.flatnonzero(moved).tolist())


def _for_load(group: Group, claims: Claims, target: Plan) -> frozenset[tuple[str, int]]:
    """Partitions that move although the old owner owned at most one partition more than the new one."""
    after = Assignment.of(group, target).owners
    moved = np.flatnonzero((claims.owner != NO_MEMBER) & (after != NO_MEMBER) & (claims.owner != after))
    owned = np.bincount(claims.owner[claims.owner != NO_MEMBER], minlength=len(group.members))
    even = owned[claims.owner[moved]] - owned[after[moved]] < 2
    return frozenset(group.at(partition) for partition in moved[even].tolist())


def _newest_claims(
    members: Iterable[Member], wanted: Collection[tuple[str, int]]
) -> dict[tuple[str, int], tuple[str, ...]]:
    """Partition -> ids of the members that claim it in the highest generation."""
    newest: dict[tuple[str, int], tuple[int, tuple[str, ...]]] = {}
    for member in members:
        for partition in dict.fromkeys(_numbered(member.owned)):  # a member may list a partition twice
            if partition not in wanted:
                continue
            generation, ids = newest.get(partition, (member.generation, ()))
            if member.generation >= generation:
                is_same = member.generation == generation
                ids = (*ids, member.member_id) if is_same else (member.member_id,)
                newest[partition] = member.generation, ids
    return {partition: ids for partition, (_generation, ids) in newest.items()}


def _entries(plan: Plan) -> Iterator[tuple[str, tuple[str, int]]]:
    for member_id, topics in plan.items():
        for partition in _numbered(topics):
            yield member_id, partition


def _numbered(topics: Ownership) -> Iterator[tuple[str, int]]:
    for topic, numbers in topics.items():
        for number in numbers:
            yield topic, number
