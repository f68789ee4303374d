"""Resolve the members' claims into an owner of each partition.

Claims are untrusted: a returning zombie claims partitions it lost long ago, and a broken client claims
partitions that do not exist.  The rules (KIP-54 with KIP-341's fix, and KIP-792's generations):

- the claim of the highest generation wins;
- two claims of one generation on one partition cancel out: the partition has no owner;
- a live claim without a generation (kafka-python's own members send none) may be current.  So its member
  holds the partition, and no other member gets it, until the member has revoked it;
- claims on unknown topics and on partitions out of range are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import NO_GENERATION, NO_MEMBER, Group

Vector = npt.NDArray[np.int64]

CONTESTED = -2
"""In ``Claims.holder``: two or more members claim the partition in the same generation and hold it."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Resolved claims.  Arrays are by partition (see ``Group``) and hold indices into ``Group.members``.

    Attributes:
        owner: the member with the winning claim, if it subscribes to the topic; else ``NO_MEMBER``.
        holder: the cooperative member that has not revoked the partition yet; ``CONTESTED`` if several of
            the same generation have not; else ``NO_MEMBER``.
        holders: partition -> all members that hold it, for contested partitions only.
        refused: member id -> number of its claims on partitions that do not exist.
        disputed: member id -> (id of a member that claims the same in the same generation, number of such
            claims).  Each pair is listed once, under the member later in seniority.
    """

    owner: Owners
    holder: Owners
    holders: MappingProxyType[int, frozenset[int]]
    refused: MappingProxyType[str, int]
    disputed: MappingProxyType[str, tuple[str, int]]


def resolve(group: Group) -> Claims:
    """Resolve all claims of the group.  Cost: linear, and a sort of the partitions with several claims."""
    partition, by, refused = _claimed(group)
    owner = np.full(group.size, NO_MEMBER, np.int32)
    holder = owner.copy()
    still_owns = np.array([m.still_owns for m in group.members], np.bool_)
    several = np.bincount(partition, minlength=group.size)[partition] > 1
    # Nearly every partition has at most one claim, which then wins.
    alone, alone_by = partition[~several], by[~several]
    owner[alone] = alone_by
    holder[alone] = np.where(still_owns[alone_by], alone_by, NO_MEMBER)
    holders: dict[int, frozenset[int]] = {}
    disputed: dict[str, tuple[str, int]] = {}
    if several.any():
        members = len(group.members)
        pairs = np.divmod(np.unique(partition[several] * members + by[several]), members)
        _settle(group, (*pairs, still_owns), (owner, holder), (holders, disputed))
    known = np.flatnonzero(owner >= 0)
    owner[known[~group.subscribed[group.topic_of[known], owner[known]]]] = NO_MEMBER
    return Claims(
        owner=owner,
        holder=holder,
        holders=MappingProxyType(holders),
        refused=MappingProxyType(refused),
        disputed=MappingProxyType(disputed),
    )


def _claimed(group: Group) -> tuple[Vector, Vector, dict[str, int]]:
    """All claims on existing partitions, as (partitions, members), and the number refused by member id."""
    first = group.first
    starts: list[int] = []
    limits: list[int] = []
    lists: list[Sequence[int]] = []
    entries: list[int] = []
    refused: dict[str, int] = {}
    for member in group.members:
        owned = member.owned
        if unknown := [topic for topic in owned if topic not in first]:
            refused[member.member_id] = sum(len(owned[topic]) for topic in unknown)
            owned = {topic: numbers for topic, numbers in owned.items() if topic in first}
        entries.append(len(owned))
        starts += map(first.__getitem__, owned)
        limits += map(group.topics.__getitem__, owned)
        lists += owned.values()
    sizes = np.fromiter(map(len, lists), np.int64, len(lists))
    number = np.fromiter(chain.from_iterable(lists), np.int64, int(sizes.sum()))
    by = np.repeat(np.repeat(np.arange(len(group.members)), entries), sizes)
    exists = (number >= 0) & (number < np.repeat(np.array(limits, np.int64), sizes))
    partition = number + np.repeat(np.array(starts, np.int64), sizes)
    if not exists.all():
        for index, count in enumerate(np.bincount(by[~exists], minlength=len(entries)).tolist()):
            if count:
                member_id = group.members[index].member_id
                refused[member_id] = refused.get(member_id, 0) + count
        partition, by = partition[exists], by[exists]
    return partition, by, refused


def _settle(
    group: Group,
    claims: tuple[Vector, Vector, npt.NDArray[np.bool_]],
    outcome: tuple[Owners, Owners],
    conflicts: tuple[dict[int, frozenset[int]], dict[str, tuple[str, int]]],
) -> None:
    """Resolve partitions with several claims, given as sorted distinct (partition, member) pairs."""
    partition, by, still_owns = claims
    owner, holder = outcome
    holders, disputed = conflicts
    generations = np.array([m.generation for m in group.members], np.int64)[by]
    latest = _is_newest(partition, generations, group.size)
    alone, several = _by_partition(partition[latest], by[latest])
    owner[partition] = NO_MEMBER
    owner[alone[0]] = alone[1]
    for first, *others in several.values():
        for other in others:
            member_id = group.members[other].member_id
            disputed[member_id] = group.members[first].member_id, disputed.get(member_id, ("", 0))[1] + 1

    # A claim without a generation may be current, so it counts while its member holds the partition.
    live = still_owns[by] & (latest | (generations == NO_GENERATION))
    partition, by, generations = partition[live], by[live], generations[live]
    latest = _is_newest(partition, generations, group.size)
    alone, several = _by_partition(partition[latest], by[latest])
    holder[alone[0]] = alone[1]
    for number, members in several.items():
        holder[number] = CONTESTED
        holders[number] = frozenset(members)


def _is_newest(partition: Vector, generations: Vector, size: int) -> npt.NDArray[np.bool_]:
    """Whether each claim has the highest generation of the claims on its partition."""
    newest = np.full(size, np.iinfo(np.int64).min)
    np.maximum.at(newest, partition, generations)
    latest: npt.NDArray[np.bool_] = generations == newest[partition]
    return latest


def _by_partition(partition: Vector, by: Vector) -> tuple[tuple[Vector, Vector], dict[int, list[int]]]:
    """Partitions with one claimant, as (partitions, members), and partition -> its several claimants."""
    numbers, starts, sizes = np.unique(partition, return_index=True, return_counts=True)
    alone = sizes == 1
    several = {
        int(number): sorted(by[start : start + size].tolist())
        for number, start, size in zip(numbers[~alone], starts[~alone], sizes[~alone], strict=True)
    }
    return (numbers[alone], by[starts[alone]]), several
