"""Who owned what, made out of what the members say.

What members claim is untrusted: a returning zombie claims what was given away long ago, a broken client
claims what does not exist.  The rules (KIP-54 with KIP-341's fix, and KIP-792's generations):

- the claim of the highest generation wins;
- two claims of one generation on one partition cancel out: it has no owner in the plan's eyes;
- unknown topics, partitions out of range, negative numbers: no claim at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import Group

__all__ = ["CONTESTED", "NOBODY", "Claims", "resolve"]

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
            than one does, or ``NOBODY``.
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
        owner[topic] = np.full(group.topics[topic], NOBODY, np.int32)
        holder[topic] = np.full(group.topics[topic], NOBODY, np.int32)
        if not claims:
            continue
        partition, by = _in_range(claims, group.topics[topic], refused)
        order = np.lexsort((by, -generations[by], partition))
        partition, by = partition[order], by[order]
        starts = np.flatnonzero(np.diff(partition, prepend=NOBODY))
        # Only claims of the newest generation of their partition count from here on; they come first.
        newest = generations[by] == np.repeat(generations[by[starts]], np.diff(starts, append=len(by)))
        partition, by = partition[newest], by[newest]
        starts = np.flatnonzero(np.diff(partition, prepend=NOBODY))
        sizes = np.diff(starts, append=len(by))
        alone = sizes == 1
        subscribed = np.array([topic in m.topics for m in group.members])
        sole = by[starts[alone]]
        owner[topic][partition[starts[alone]]] = np.where(subscribed[sole], sole, NOBODY)
        holder[topic][partition[holds[by]]] = by[holds[by]]
        for start, size in zip(starts[~alone].tolist(), sizes[~alone].tolist(), strict=True):
            first, *others = by[start : start + size].tolist()
            for other in others:
                name, count = (
                    group.members[other].member_id,
                    disputed.get(group.members[other].member_id, ("", 0))[1],
                )
                disputed[name] = group.members[first].member_id, count + 1
            live = frozenset(i for i in (first, *others) if holds[i])
            if len(live) > 1:
                holder[topic][partition[start]] = CONTESTED
                holders[topic, int(partition[start])] = live
    return Claims(
        owner=MappingProxyType(owner),
        holder=MappingProxyType(holder),
        holders=MappingProxyType(holders),
        refused=MappingProxyType({m.member_id: n for m, n in zip(group.members, refused, strict=True) if n}),
        disputed=MappingProxyType(disputed),
    )


def _in_range(
    claims: list[tuple[int, Sequence[int]]], count: int, refused: list[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """One topic's claims as (partition, member) pairs, each once; those out of range are counted."""
    partition = np.fromiter(chain.from_iterable(numbers for _, numbers in claims), np.int64)
    by = np.repeat([index for index, _ in claims], [len(numbers) for _, numbers in claims])
    there = (partition >= 0) & (partition < count)
    for index in by[~there].tolist():
        refused[index] += 1
    pairs = np.unique(np.stack([partition[there], by[there]]), axis=1)
    return pairs[0], pairs[1]
