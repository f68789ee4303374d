"""Explains a plan: gives the reason for each partition's owner, to people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import NO_MEMBER, Group, Member, Ownership, listed, shown
from kafka_assignors.plan.rounds import Hold


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
    target: Assignment,
    assigned: Assignment,
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
    before, after, now = claims.owner.tolist(), target.owners.tolist(), assigned.owners.tolist()
    ids = [member.member_id for member in group.members]
    partitions = [(topic, number) for topic, count in group.topics.items() for number in range(count)]
    unowned = {partition for partition, i in zip(partitions, before, strict=True) if i == NO_MEMBER}
    claimed = _newest_claims(group.members, unowned)
    departed_owner = _newest_claims(departed, unowned)
    blocked = {(hold.topic, hold.partition): hold.member_id for hold in holds}
    by_load = by_load and bool(group.lag.any())
    owned = Counter(before)
    was_near, is_near = (None, None) if by_load else (group.near(claims.owner), group.near(target.owners))

    def moved(i: int) -> Reason:
        if in_order:
            return Reason.DEALT_BY_LAG if by_load else Reason.DEALT
        if by_load:
            return Reason.LOAD if owned[before[i]] - owned[after[i]] < 2 else Reason.MOVED
        is_nearer = was_near is not None and is_near is not None and is_near[i] and not was_near[i]
        return Reason.NEARER if is_nearer else Reason.MOVED

    def reason_for(i: int, partition: tuple[str, int]) -> tuple[Reason, tuple[str, ...]]:
        if after[i] == NO_MEMBER:
            return Reason.NOBODY_SUBSCRIBES, claimed.get(partition) or departed_owner.get(partition, ())
        if before[i] != NO_MEMBER:
            return (Reason.KEPT, ()) if before[i] == after[i] else (moved(i), (ids[before[i]],))
        if claimants := claimed.get(partition):
            # A single claimant would be the owner if it still subscribed.
            return Reason.CONTESTED if len(claimants) > 1 else Reason.OWNER_UNSUBSCRIBED, claimants
        if partition in departed_owner:
            return Reason.OWNER_GONE, departed_owner[partition]
        return Reason.NO_OWNER, ()

    def why(i: int, partition: tuple[str, int]) -> Why:
        reason, others = reason_for(i, partition)
        member_id = None if after[i] == NO_MEMBER else ids[after[i]]
        waits_for = blocked.get(partition) if now[i] != after[i] else None
        return Why(*partition, member_id, overrides.get(reason, reason), others, waits_for)

    return [why(i, partition) for i, partition in enumerate(partitions)]


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


def _numbered(topics: Ownership) -> Iterator[tuple[str, int]]:
    for topic, numbers in topics.items():
        for number in numbers:
            yield topic, number
