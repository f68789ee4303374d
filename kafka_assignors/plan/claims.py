"""Who owned what, made out of what the members say.

What members claim is untrusted: a returning zombie claims what was given away long ago, a broken client
claims what does not exist.  The rules (KIP-54 with KIP-341's fix, and KIP-792's generations):

- the claim of the highest generation wins;
- two claims of one generation on one partition cancel out: it has no owner in the plan's eyes;
- unknown topics, partitions out of range, negative numbers: no claim at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import Group

__all__ = ["CONTESTED", "NOBODY", "Claims", "resolve"]

NOBODY = -1
"""In ``Claims.owner`` and ``Claims.holder``: no member."""

CONTESTED = -2
"""In ``Claims.holder``: two or more members claim it in the same generation, and have not let go."""

_NEVER = -(2**62)


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
    """Settle every claim of the group.  Linear in the claims plus the partitions."""
    owner = {t: np.full(count, NOBODY, np.int32) for t, count in group.topics.items()}
    holder = {t: np.full(count, NOBODY, np.int32) for t, count in group.topics.items()}
    newest = {t: np.full(count, _NEVER, np.int64) for t, count in group.topics.items()}
    holders: dict[tuple[str, int], set[int]] = {}
    first = {t: np.full(count, NOBODY, np.int32) for t, count in group.topics.items()}
    refused: dict[str, int] = {}
    disputed: dict[str, tuple[str, int]] = {}

    for index, member in enumerate(group.members):
        for topic, numbers in member.owned.items():
            count = group.topics.get(topic, 0)
            wanted = np.asarray(numbers, np.int64)
            there = wanted[(wanted >= 0) & (wanted < count)]
            if wrong := len(wanted) - len(there):
                refused[member.member_id] = refused.get(member.member_id, 0) + wrong
            # A member that names a partition twice claims it once.
            claimed = np.unique(there)
            if not len(claimed):
                continue
            known = newest[topic][claimed]
            wins = claimed[member.generation > known]
            ties = claimed[member.generation == known]
            newest[topic][wins] = member.generation
            first[topic][wins] = index
            if len(ties):
                other = group.members[int(first[topic][ties[0]])].member_id
                disputed[member.member_id] = other, disputed.get(member.member_id, ("", 0))[1] + len(ties)
            owner[topic][wins] = index
            owner[topic][ties] = NOBODY
            # A newer claim frees the partition from older hands, even if the newer member has revoked it.
            for partition in wins[holder[topic][wins] == CONTESTED].tolist():
                del holders[topic, partition]
            holder[topic][wins] = index if member.holds else NOBODY
            if member.holds:
                for partition in ties.tolist():
                    before = int(holder[topic][partition])
                    if before == NOBODY:
                        holder[topic][partition] = index
                        continue
                    holder[topic][partition] = CONTESTED
                    at = holders.setdefault((topic, partition), {before} if before >= 0 else set())
                    at.add(index)

    for topic, owners in owner.items():
        for index in np.unique(owners[owners >= 0]).tolist():
            if topic not in group.members[index].topics:
                owners[owners == index] = NOBODY
    return Claims(
        owner=MappingProxyType(owner),
        holder=MappingProxyType(holder),
        holders=MappingProxyType({at: frozenset(who) for at, who in holders.items()}),
        refused=MappingProxyType(refused),
        disputed=MappingProxyType(disputed),
    )
