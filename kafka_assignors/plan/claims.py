"""Who owned what, made out of what the members say.

What members claim is untrusted: a returning zombie claims what was given away long ago, a broken client
claims what does not exist.  The rules (KIP-54 with KIP-341's fix, and KIP-792's generations):

- the claim of the highest generation wins;
- two claims of one generation on one partition cancel out: it has no owner in the plan's eyes;
- who holds a partition is another question: a live claim without a generation (kafka-python's own members
  send none) cannot be told to be old, and keeps the partition from others until its member let go;
- unknown topics, partitions out of range, negative numbers: no claim at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import NO_GENERATION, NOBODY, Group

__all__ = ["CONTESTED", "Claims", "resolve"]

Vector = npt.NDArray[np.int64]

CONTESTED = -2
"""In ``Claims.holder``: two or more members claim it in the same generation, and have not let go."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The outcome; arrays are by partition (see ``Group``) and hold indices into ``Group.members``.

    Attributes:
        owner: the member whose history counts and who subscribes to the topic, or ``NOBODY``.
        holder: the cooperative member that still has the partition in its hands, ``CONTESTED`` when more
            than one of the same generation does, or ``NOBODY``.
        holders: partition -> all members that hold it, for contested partitions only.
        refused: member id -> how many of its claims were on partitions that do not exist.
        disputed: member id -> (id of the member that claims the same in the same generation, how many).
            Named once a pair, at the member later in seniority.
    """

    owner: Owners
    holder: Owners
    holders: MappingProxyType[int, frozenset[int]]
    refused: MappingProxyType[str, int]
    disputed: MappingProxyType[str, tuple[str, int]]


def resolve(group: Group) -> Claims:
    """Settle every claim of the group.  Cost: linear, and a sort of the partitions that several claim."""
    partition, by, refused = _claimed(group)
    owner = np.full(group.size, NOBODY, np.int32)
    holder = owner.copy()
    holds = np.array([m.holds for m in group.members], np.bool_)
    several = np.bincount(partition, minlength=group.size)[partition] > 1
    # Nearly everything has one claim at most, which then counts.
    alone, alone_by = partition[~several], by[~several]
    owner[alone] = alone_by
    holder[alone] = np.where(holds[alone_by], alone_by, NOBODY)
    holders: dict[int, frozenset[int]] = {}
    disputed: dict[str, tuple[str, int]] = {}
    if several.any():
        members = len(group.members)
        pairs = np.divmod(np.unique(partition[several] * members + by[several]), members)
        _settle(group, (*pairs, holds), (owner, holder), (holders, disputed))
    known = np.flatnonzero(owner >= 0)
    owner[known[~group.subscribed[group.topic_of[known], owner[known]]]] = NOBODY
    return Claims(
        owner=owner,
        holder=holder,
        holders=MappingProxyType(holders),
        refused=MappingProxyType(refused),
        disputed=MappingProxyType(disputed),
    )


def _claimed(group: Group) -> tuple[Vector, Vector, dict[str, int]]:
    """All claims on what exists, as partitions and members; and how many of each member's are on nothing."""
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
    there = (number >= 0) & (number < np.repeat(np.array(limits, np.int64), sizes))
    partition = number + np.repeat(np.array(starts, np.int64), sizes)
    if not there.all():
        for index, count in enumerate(np.bincount(by[~there], minlength=len(entries)).tolist()):
            if count:
                name = group.members[index].member_id
                refused[name] = refused.get(name, 0) + count
        partition, by = partition[there], by[there]
    return partition, by, refused


def _settle(
    group: Group,
    claims: tuple[Vector, Vector, npt.NDArray[np.bool_]],
    found: tuple[Owners, Owners],
    troubles: tuple[dict[int, frozenset[int]], dict[str, tuple[str, int]]],
) -> None:
    """Settle what several claim: (partition, member) pairs without doubles, sorted."""
    partition, by, holds = claims
    owner, holder = found
    holders, disputed = troubles
    dates = np.array([m.generation for m in group.members], np.int64)[by]
    latest = _is_newest(partition, dates, group.size)
    alone, several = _by_partition(partition[latest], by[latest])
    owner[partition] = NOBODY
    owner[alone[0]] = alone[1]
    for first, *others in several.values():
        for other in others:
            name = group.members[other].member_id
            disputed[name] = group.members[first].member_id, disputed.get(name, ("", 0))[1] + 1

    # A claim without a generation cannot be told to be old, so while its member holds on it counts.
    live = holds[by] & (latest | (dates == NO_GENERATION))
    partition, by, dates = partition[live], by[live], dates[live]
    latest = _is_newest(partition, dates, group.size)
    alone, several = _by_partition(partition[latest], by[latest])
    holder[alone[0]] = alone[1]
    for at, members in several.items():
        holder[at] = CONTESTED
        holders[at] = frozenset(members)


def _is_newest(partition: Vector, dates: Vector, size: int) -> npt.NDArray[np.bool_]:
    """Which claims are of the highest generation that claims their partition."""
    newest = np.full(size, np.iinfo(np.int64).min)
    np.maximum.at(newest, partition, dates)
    latest: npt.NDArray[np.bool_] = dates == newest[partition]
    return latest


def _by_partition(partition: Vector, by: Vector) -> tuple[tuple[Vector, Vector], dict[int, list[int]]]:
    """Claims on partitions that one member claims, and the members of those that several do, by seniority."""
    numbers, starts, sizes = np.unique(partition, return_index=True, return_counts=True)
    alone = sizes == 1
    several = {
        int(number): sorted(by[start : start + size].tolist())
        for number, start, size in zip(numbers[~alone], starts[~alone], sizes[~alone], strict=True)
    }
    return (numbers[alone], by[starts[alone]]), several
