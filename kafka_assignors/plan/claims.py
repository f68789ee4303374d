"""Resolves the members' claims into an owner of each partition.

A member claims the partitions that it reports to own.  Claims are untrusted: a returning zombie claims
partitions it lost long ago, and a broken client claims partitions that do not exist.  The rules (KIP-54 with
KIP-341's fix, and KIP-792's generations):

- the claim of the highest generation wins;
- if two or more claims on a partition have the highest generation, they cancel out: the partition is
  *disputed*, and has no owner;
- a member *holds* a partition if its claim has the highest generation and it keeps its partitions during a
  rebalance (``Member.still_owns``): no other member gets the partition until the holder has revoked it;
- if no member holds the partition by this rule, a member that claims it without a generation holds it, if it
  keeps its partitions: the claim may be current, because kafka-python's own members send no generation;
- claims on unknown topics and on partitions out of range are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import NO_GENERATION, NO_MEMBER, Group

CONTESTED = -2
"""In ``Claims.holder``: two or more members hold the partition, by claims of the same generation."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Resolved claims.  Arrays are by partition (see ``Group``) and hold indices into ``Group.members``.

    Attributes:
        owner: the member with the winning claim, if it subscribes to the topic; else ``NO_MEMBER``.
        holder: the cooperative member that has not revoked the partition yet; ``CONTESTED`` if several
            members of the same generation have not; else ``NO_MEMBER``.
        holders: partition -> all members that hold it, for contested partitions only.
        refused: member id -> number of its claims on partitions that the group does not list.
        disputed: member id -> (a more senior claimant of one of these partitions, number of its disputed
            partitions).  A partition counts for all its claimants but the most senior.
    """

    owner: Owners
    holder: Owners
    holders: MappingProxyType[int, frozenset[int]]
    refused: MappingProxyType[str, int]
    disputed: MappingProxyType[str, tuple[str, int]]


def resolve(group: Group) -> Claims:
    """Resolve all claims of the group.  Cost: linear, and a sort of the partitions with several claims."""
    partition, claimant, refused = _claimed(group)
    owner = np.full(group.size, NO_MEMBER, np.int32)
    holder = owner.copy()
    still_owns = np.array([member.still_owns for member in group.members], np.bool_)
    has_others = np.bincount(partition, minlength=group.size)[partition] > 1
    # Nearly every partition has at most one claim, which then wins.
    single, single_claimant = partition[~has_others], claimant[~has_others]
    owner[single] = single_claimant
    holder[single] = np.where(still_owns[single_claimant], single_claimant, NO_MEMBER)
    holders: dict[int, frozenset[int]] = {}
    disputed: dict[str, tuple[str, int]] = {}
    if has_others.any():
        members = len(group.members)
        pairs = np.divmod(np.unique(partition[has_others] * members + claimant[has_others]), members)
        holders, disputed = _settle(group, *pairs, owner, holder)
    owned = np.flatnonzero(owner >= 0)
    owner[owned[~group.subscribed[group.topic_of[owned], owner[owned]]]] = NO_MEMBER
    return Claims(
        owner=owner,
        holder=holder,
        holders=MappingProxyType(holders),
        refused=MappingProxyType(refused),
        disputed=MappingProxyType(disputed),
    )


def _claimed(group: Group) -> tuple[Vector, Vector, dict[str, int]]:
    """Return the partition and claimant of each valid claim, and member id -> number of refused claims."""
    row_of = {topic: row for row, topic in enumerate(group.topics)}
    rows: list[int] = []
    lists: list[Sequence[int]] = []
    entries: list[int] = []
    refused: dict[str, int] = {}
    for member in group.members:
        owned = member.owned
        if not owned.keys() <= row_of.keys():
            known = {topic: numbers for topic, numbers in owned.items() if topic in row_of}
            if count := sum(map(len, owned.values())) - sum(map(len, known.values())):
                refused[member.member_id] = count
            owned = known
        entries.append(len(owned))
        rows += map(row_of.__getitem__, owned)
        lists += owned.values()
    sizes = np.fromiter(map(len, lists), np.int64, len(lists))
    number = np.fromiter(chain.from_iterable(lists), np.int64, int(sizes.sum()))
    claimant = np.repeat(np.repeat(np.arange(len(group.members)), entries), sizes)
    topic = np.repeat(np.array(rows, np.int64), sizes)
    exists = (number >= 0) & (number < group.counts[topic])
    partition = number + group.firsts[topic]
    if not exists.all():
        for index, count in enumerate(np.bincount(claimant[~exists], minlength=len(entries)).tolist()):
            if count:
                member_id = group.members[index].member_id
                refused[member_id] = refused.get(member_id, 0) + count
        partition, claimant = partition[exists], claimant[exists]
    return partition, claimant, refused


def _settle(
    group: Group, partition: Vector, claimant: Vector, owner: Owners, holder: Owners
) -> tuple[dict[int, frozenset[int]], dict[str, tuple[str, int]]]:
    """Resolve partitions with several claims; change ``owner`` and ``holder``.

    ``partition`` and ``claimant`` are by claim.  Claims are distinct, and sorted by partition, then claimant.

    Returns:
        ``Claims.holders`` and ``Claims.disputed``.
    """
    generation = np.array([member.generation for member in group.members], np.int64)[claimant]
    is_newest = _is_newest(partition, generation, group.size)
    single, single_claimant, several = _by_partition(partition[is_newest], claimant[is_newest])
    owner[partition] = NO_MEMBER
    owner[single] = single_claimant
    disputed: dict[str, tuple[str, int]] = {}
    for first, *others in several.values():
        for other in others:
            member_id = group.members[other].member_id
            disputed[member_id] = group.members[first].member_id, disputed.get(member_id, ("", 0))[1] + 1

    # A claim without a generation may be current, so its member may hold the partition.
    still_owns = np.array([member.still_owns for member in group.members], np.bool_)
    may_hold = still_owns[claimant] & (is_newest | (generation == NO_GENERATION))
    partition, claimant, generation = partition[may_hold], claimant[may_hold], generation[may_hold]
    is_newest = _is_newest(partition, generation, group.size)
    single, single_claimant, several = _by_partition(partition[is_newest], claimant[is_newest])
    holder[single] = single_claimant
    holder[list(several)] = CONTESTED
    return {number: frozenset(members) for number, members in several.items()}, disputed


def _is_newest(partition: Vector, generation: Vector, size: int) -> Mask:
    """By claim: whether it has the highest generation of the claims on its partition."""
    newest = np.full(size, np.iinfo(np.int64).min)
    np.maximum.at(newest, partition, generation)
    is_newest: Mask = generation == newest[partition]
    return is_newest


def _by_partition(partition: Vector, claimant: Vector) -> tuple[Vector, Vector, dict[int, list[int]]]:
    """The partitions with one claimant, these claimants, and partition -> claimants for the others."""
    numbers, starts, sizes = np.unique(partition, return_index=True, return_counts=True)
    is_single = sizes == 1
    several = {
        int(number): claimant[start : start + size].tolist()
        for number, start, size in zip(
            numbers[~is_single], starts[~is_single], sizes[~is_single], strict=True
        )
    }
    return numbers[is_single], claimant[starts[is_single]], several
