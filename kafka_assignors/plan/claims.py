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

from kafka_assignors.plan.model import NO_GENERATION, Group

__all__ = ["CONTESTED", "NOBODY", "Claims", "resolve"]

Vector = npt.NDArray[np.int64]

NOBODY = -1
"""In ``Claims.owner`` and ``Claims.holder``: no member."""

CONTESTED = -2
"""In ``Claims.holder``: two or more members claim it in the same generation, and have not let go."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The outcome, by topic; an array has one entry a partition, an index into ``Group.members``.

    Attributes:
        owner: the member whose history counts and who subscribes to the topic, or ``NOBODY``.
        holder: the cooperative member that still has the partition in its hands, ``CONTESTED`` when more
            than one of the same generation does, or ``NOBODY``.
        holders: (topic, partition) -> all members that hold it, for contested partitions only.
        refused: member id -> how many of its claims were on partitions that do not exist.
        disputed: member id -> (id of the member that claims the same in the same generation, how many).
            Named once a pair, at the member later in seniority.
    """

    owner: MappingProxyType[str, npt.NDArray[np.int32]]
    holder: MappingProxyType[str, npt.NDArray[np.int32]]
    holders: MappingProxyType[tuple[str, int], frozenset[int]]
    refused: MappingProxyType[str, int]
    disputed: MappingProxyType[str, tuple[str, int]]


def resolve(group: Group) -> Claims:
    """Settle every claim of the group.  Cost: a sort of each topic's claims."""
    claimed: dict[str, list[tuple[int, Sequence[int]]]] = {topic: [] for topic in group.topics}
    refused = [0] * len(group.members)
    for index, member in enumerate(group.members):
        for topic, numbers in member.owned.items():
            if topic in claimed:
                claimed[topic].append((index, numbers))
            else:
                refused[index] += len(numbers)

    generations = np.array([m.generation for m in group.members], np.int64)
    holds = np.array([m.holds for m in group.members], np.bool_)
    owner, holder = {}, {}
    holders: dict[tuple[str, int], frozenset[int]] = {}
    disputed: dict[str, tuple[str, int]] = {}
    for topic, claims in claimed.items():
        count = group.topics[topic]
        owner[topic] = np.full(count, NOBODY, np.int32)
        holder[topic] = np.full(count, NOBODY, np.int32)
        if not claims:
            continue
        partition, by = _in_range(claims, count, refused)
        newest = np.full(count, NO_GENERATION, np.int64)
        np.maximum.at(newest, partition, generations[by])
        latest = generations[by] == newest[partition]

        alone, several = _by_partition(partition[latest], by[latest])
        subscribed = np.array([topic in m.topics for m in group.members])
        owner[topic][alone[0]] = np.where(subscribed[alone[1]], alone[1], NOBODY)
        for first, *others in several.values():
            for other in others:
                name = group.members[other].member_id
                disputed[name] = group.members[first].member_id, disputed.get(name, ("", 0))[1] + 1

        # A claim without a generation cannot be told to be old, so while its member holds on it counts.
        live = holds[by] & (latest | (generations[by] == NO_GENERATION))
        dated = np.full(count, NO_GENERATION, np.int64)
        np.maximum.at(dated, partition[live], generations[by[live]])
        live &= generations[by] == dated[partition]
        alone, several = _by_partition(partition[live], by[live])
        holder[topic][alone[0]] = alone[1]
        for at, members in several.items():
            holder[topic][at] = CONTESTED
            holders[topic, at] = frozenset(members)
    return Claims(
        owner=MappingProxyType(owner),
        holder=MappingProxyType(holder),
        holders=MappingProxyType(holders),
        refused=MappingProxyType({m.member_id: n for m, n in zip(group.members, refused, strict=True) if n}),
        disputed=MappingProxyType(disputed),
    )


def _by_partition(partition: Vector, by: Vector) -> tuple[tuple[Vector, Vector], dict[int, list[int]]]:
    """Claims on partitions that one member claims, and the members of those that several do, by seniority."""
    numbers, starts, sizes = np.unique(partition, return_index=True, return_counts=True)
    alone = sizes == 1
    several = {
        int(number): sorted(by[start : start + size].tolist())
        for number, start, size in zip(numbers[~alone], starts[~alone], sizes[~alone], strict=True)
    }
    return (numbers[alone], by[starts[alone]]), several


def _in_range(
    claims: list[tuple[int, Sequence[int]]], count: int, refused: list[int]
) -> tuple[Vector, Vector]:
    """One topic's claims as sorted (partition, member) pairs; those out of range are counted."""
    partition = np.fromiter(chain.from_iterable(numbers for _, numbers in claims), np.int64)
    by = np.repeat([index for index, _ in claims], [len(numbers) for _, numbers in claims])
    there = (partition >= 0) & (partition < count)
    for index in by[~there].tolist():
        refused[index] += 1
    pairs = np.unique(np.stack([partition[there], by[there]]), axis=1)
    return pairs[0], pairs[1]
