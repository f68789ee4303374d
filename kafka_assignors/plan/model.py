"""The values a plan is made from, and the plan itself.

Partitions of a topic are held as sorted numbers under the topic's name, the shape they have on the wire: a
member that owns ``t-2`` and ``t-3`` has ``{"t": (2, 3)}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from kafka_assignors.errors import ProblemError

__all__ = ["NO_GENERATION", "Assignment", "Group", "Member", "Ownership", "TopicPartition", "seniority"]

Ownership = Mapping[str, Sequence[int]]
"""Topic -> numbers of its partitions."""

Assignment = dict[str, dict[str, list[int]]]
"""Member id -> topic -> partition numbers, ascending.  Every member has an entry, if only an empty one."""

NO_GENERATION = -1
"""What a member reports that was in no generation yet; lower than any real one."""


class TopicPartition(NamedTuple):
    """One partition; sorts by topic, then number."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the group as it described itself.  Nothing in here is trusted before ``resolve``.

    Attributes:
        member_id: the broker's id, unique in the group.
        topics: what it subscribes to.
        owned: what it says it owns, as of ``generation``.
        generation: the generation of ``owned``; ``NO_GENERATION`` when never reported.
        instance_id: static membership's id (KIP-345), None for a dynamic member.
        rack: where it runs (KIP-881), None when unknown.
        holds: it still has ``owned`` in its hands while the group plans, as members of the cooperative
            protocol do (KIP-429).  False: it has revoked everything, and ``owned`` is only history.
    """

    member_id: str
    topics: frozenset[str]
    owned: Ownership = field(default_factory=dict)
    generation: int = NO_GENERATION
    instance_id: str | None = None
    rack: str | None = None
    holds: bool = False


def seniority(member: Member) -> tuple[bool, str, str]:
    """Static members first, then instance id, then member id: the order of every tie."""
    return (member.instance_id is None, member.instance_id or "", member.member_id)


@dataclass(frozen=True, slots=True)
class Group:
    """A planning problem: who is there, and what there is to consume.

    Attributes:
        members: in order of seniority, whatever order they came in.
        topics: topic -> number of partitions, sorted by name.  A topic somebody subscribes to and that is
            not in here does not exist (yet): it has no partitions.

    Raises:
        ProblemError: a member is there twice, or a partition count is negative.
    """

    members: tuple[Member, ...]
    topics: Mapping[str, int]

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=seniority))
        if len({m.member_id for m in members}) != len(members):
            raise ProblemError("a member id is there twice")
        if negative := [t for t, count in self.topics.items() if count < 0]:
            raise ProblemError(f"topic {min(negative)!r} has a negative number of partitions")
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "topics", MappingProxyType(dict(sorted(self.topics.items()))))

    def subscribers(self) -> dict[str, list[Member]]:
        """Topic (sorted, with partitions and at least one subscriber) -> its members by seniority."""
        by_topic: dict[str, list[Member]] = {t: [] for t, count in self.topics.items() if count}
        for member in self.members:
            for topic in member.topics:
                if topic in by_topic:
                    by_topic[topic].append(member)
        return {topic: members for topic, members in by_topic.items() if members}

    def empty_assignment(self) -> Assignment:
        """Everybody has nothing."""
        return {member.member_id: {} for member in self.members}
