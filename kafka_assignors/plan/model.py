"""The values a plan is made from.

Partitions of a topic are held as numbers under the topic's name, the shape they have on the wire: a
member that owns ``t-2`` and ``t-3`` has ``{"t": (2, 3)}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import ProblemError

__all__ = [
    "MOST_CELLS",
    "NOBODY",
    "NO_GENERATION",
    "UNKNOWN_LAG",
    "Group",
    "Member",
    "Ownership",
    "TopicPartition",
    "seniority",
    "shown",
]

_LONGEST = 300  # characters of a name that are shown

Ownership = Mapping[str, Sequence[int]]
"""Topic -> numbers of its partitions."""

MOST_CELLS = 2**24
"""Of a matrix by racks: it takes 80 bytes a cell, and a leader must not run out of memory for locality."""

UNKNOWN_LAG = -1
"""In ``Group.lags``: nobody could say."""

_MOST_RECORDS = 2**62
"""In all partitions together: sums of lags, and twice those, must fit into 64 bits."""

NOBODY = -1
"""Where an array holds indices of members: none."""

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
        priority: of a member of an active/passive group, the highest is active; None when it did not say.
    """

    member_id: str
    topics: frozenset[str]
    owned: Ownership = field(default_factory=dict)
    generation: int = NO_GENERATION
    instance_id: str | None = None
    rack: str | None = None
    holds: bool = False
    priority: int | None = None


def shown(name: str) -> str:
    """A name as it may be put into a log or on a terminal: members choose theirs themselves."""
    return name if name.isprintable() and len(name) <= _LONGEST else repr(name[:_LONGEST])


def seniority(member: Member) -> tuple[bool, str, str]:
    """Static members first, then instance id, then member id: the order of every tie."""
    return (member.instance_id is None, member.instance_id or "", member.member_id)


@dataclass(frozen=True)
class Group:
    """A planning problem: who is there, and what there is to consume.

    The planner counts partitions through: topic by topic in the order of their names, each from 0.  An array
    "by partition" has an entry for each in that order.

    Attributes:
        members: in order of seniority, whatever order they came in.
        topics: topic -> number of partitions, sorted by name.  A topic somebody subscribes to and that is
            not in here does not exist (yet): it has no partitions.
        racks: topic -> for each of its partitions the racks that have a replica (KIP-881).  Topics that are
            not in here, and partitions beyond the sequence, have none that is known.
        lags: topic -> for each of its partitions the records left to read, ``UNKNOWN_LAG`` where nobody could
            say.  Topics that are not in here, and partitions beyond the sequence, are not known either.

    Raises:
        ProblemError: a member is there twice, or a partition count is negative.
    """

    members: tuple[Member, ...]
    topics: Mapping[str, int]
    racks: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)
    lags: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=seniority))
        if len({m.member_id for m in members}) != len(members):
            raise ProblemError("a member id is there twice")
        if negative := [t for t, count in self.topics.items() if count < 0]:
            raise ProblemError(f"topic {min(negative)!r} has a negative number of partitions")
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "topics", MappingProxyType(dict(sorted(self.topics.items()))))

    @cached_property
    def index(self) -> dict[str, int]:
        """Member id -> its place in ``members``."""
        return {member.member_id: i for i, member in enumerate(self.members)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The topics, in order."""
        return tuple(self.topics)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Partitions of each topic."""
        return np.fromiter(self.topics.values(), np.int64, len(self.topics))

    @cached_property
    def firsts(self) -> npt.NDArray[np.int64]:
        """Where each topic begins in an array by partition, and at last where it ends."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @cached_property
    def first(self) -> dict[str, int]:
        """Topic -> where it begins in an array by partition."""
        return dict(zip(self.topics, self.firsts.tolist(), strict=False))

    @property
    def size(self) -> int:
        """Partitions of all topics."""
        return int(self.firsts[-1])

    @cached_property
    def topic_of(self) -> npt.NDArray[np.int32]:
        """By partition: the place of its topic in ``names``."""
        return np.repeat(np.arange(len(self.names), dtype=np.int32), self.counts)

    @cached_property
    def subscribed(self) -> npt.NDArray[np.bool_]:
        """Who subscribes to what, shape (topics, members)."""
        place = {topic: i for i, topic in enumerate(self.topics)}
        kinds: dict[frozenset[str], int] = {}
        of_member = [kinds.setdefault(member.topics, len(kinds)) for member in self.members]
        by_kind = np.zeros((len(kinds), len(place)), np.bool_)
        for row, topics in zip(by_kind, kinds, strict=True):
            row[[place[topic] for topic in topics if topic in place]] = True
        return np.ascontiguousarray(by_kind[of_member].T)

    @cached_property
    def rack_sets(self) -> tuple[npt.NDArray[np.int32], tuple[frozenset[str], ...]]:
        """By partition: the place of its replicas' racks among all the different sets of racks; and those."""
        places: dict[frozenset[str], int] = {frozenset(): 0}
        by_partition = np.zeros(self.size, np.int32)
        for topic, count in self.topics.items():
            known = self.racks.get(topic, ())[:count]
            first = self.first[topic]
            by_partition[first : first + len(known)] = [places.setdefault(of, len(places)) for of in known]
        return by_partition, tuple(places)

    @cached_property
    def too_many_racks(self) -> bool:
        """Whether there are so many different sets of racks that planning by them would take too much memory.

        Then nobody counts as nearer than anybody.
        """
        if not self.racks:
            return False
        of, sets = self.rack_sets
        pairs = np.unique(self.topic_of.astype(np.int64) * len(sets) + of)
        return len(pairs) * len(self.members) > MOST_CELLS

    @cached_property
    def in_racks(self) -> npt.NDArray[np.bool_] | None:
        """Who is in which set of racks, shape (``rack_sets``, members).

        None when no rack of a member, or none of a replica, is known: then nobody is nearer than anybody.
        """
        place = {rack: i for i, rack in enumerate(sorted({m.rack for m in self.members if m.rack}))}
        if not (place and self.racks) or self.too_many_racks:
            return None
        sets = self.rack_sets[1]
        has = np.zeros((len(sets), len(place) + 1), np.bool_)  # the last one is for members without a rack
        for row, racks in zip(has, sets, strict=True):
            row[[place[rack] for rack in racks if rack in place]] = True
        return has[:, [place[m.rack] if m.rack else len(place) for m in self.members]]

    def near(self, owners: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_] | None:
        """By partition: whether its owner is in a rack that has a replica; None as in ``in_racks``."""
        if self.in_racks is None:
            return None
        near: npt.NDArray[np.bool_] = (owners != NOBODY) & self.in_racks[self.rack_sets[0], owners]
        return near

    @cached_property
    def known_lag(self) -> npt.NDArray[np.int64]:
        """By partition: records left to read, or ``UNKNOWN_LAG``; no more than what sums have room for."""
        known = np.full(self.size, UNKNOWN_LAG, np.int64)
        for topic, count in self.topics.items():
            told = self.lags.get(topic, ())[:count]
            first = self.first[topic]
            known[first : first + len(told)] = told
        return np.clip(known, UNKNOWN_LAG, _MOST_RECORDS // max(self.size, 1))

    @cached_property
    def lag(self) -> npt.NDArray[np.int64]:
        """By partition: records left to read, as far as it can be guessed.

        What is not known counts as much as the mean of what is known of its topic, and as nothing where
        nothing is: it then pulls a plan nowhere.
        """
        known = self.known_lag
        there = known != UNKNOWN_LAG
        topics = len(self.names)
        how_many = np.bincount(self.topic_of[there], minlength=topics)
        # The mean as a float can be a little off, which a guess may be.
        total = np.bincount(self.topic_of[there], known[there].astype(np.float64), minlength=topics)
        mean = (total / np.maximum(how_many, 1)).astype(np.int64)
        return np.where(there, known, mean[self.topic_of])

    @property
    def knows_lag(self) -> bool:
        """Whether anything at all is known of the lag."""
        return bool((self.known_lag != UNKNOWN_LAG).any())

    def at(self, partition: int) -> TopicPartition:
        """The name of a partition, from its place in an array by partition."""
        topic = int(self.topic_of[partition])
        return TopicPartition(self.names[topic], partition - int(self.firsts[topic]))
