"""The input of a planner: members and topics.

Partitions are numbers under their topic's name, as on the wire: a member that owns ``t-2`` and ``t-3`` has
``{"t": (2, 3)}``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.capacity import Capacities

_T = TypeVar("_T")

_LONGEST = 300  # characters of a name that ``shown`` keeps

Ownership = Mapping[str, Sequence[int]]
"""Topic -> numbers of its partitions."""

MOST_CELLS = 2**24
"""Maximum number of cells for planning by racks.

The number of cells is members times pairs.  A pair is a topic and a set of racks that hold the replicas of at
least one of its partitions.  A cell takes 80 bytes.
"""

UNKNOWN_LAG = -1
"""In ``Group.lags``: the lag is unknown."""

_MOST_RECORDS = 2**62
"""Limit of the sum of all loads: half of the largest int64, so that no sum overflows."""

NO_MEMBER = -1
"""No member, in arrays of member indices."""

NO_GENERATION = -1
"""The member has reported no generation, or was in none yet.  Lower than any real generation."""


class TopicPartition(NamedTuple):
    """A partition.  Sorts by topic, then number."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the group, as it describes itself.  ``owned`` is untrusted; ``claims.resolve`` checks it.

    Attributes:
        member_id: the id from the broker, unique in the group.
        topics: the topics it subscribes to.
        owned: the partitions it claims to own, as of ``generation``.
        generation: the generation of ``owned``; ``NO_GENERATION`` when never reported.
        instance_id: the id of a static member (KIP-345); None for a dynamic member.
        rack: the rack it runs in (KIP-881); None when unknown.
        still_owns: whether it keeps ``owned`` during a rebalance, as members of the cooperative protocol
            do (KIP-429).  False: it has revoked everything, and ``owned`` is only history.
        priority: in an active/passive group the member with the highest priority is active; None when not
            reported.
        capacity: how fast it reads, compared with the other members: 2 reads twice as fast as 1.  Strategies
            that plan by lag use it.
    """

    member_id: str
    topics: frozenset[str]
    owned: Ownership = field(default_factory=dict)
    generation: int = NO_GENERATION
    instance_id: str | None = None
    rack: str | None = None
    still_owns: bool = False
    priority: int | None = None
    capacity: float = 1.0


def shown(name: str) -> str:
    """Escape and cut a name for a log or a terminal, because members choose their own names."""
    return name if name.isprintable() and len(name) <= _LONGEST else repr(name[:_LONGEST])


def listed(
    things: Collection[_T],
    most: int = 3,
    *,
    name: Callable[[_T], str] = str,
    between: str = ", ",
    last: str = "and",
) -> str:
    """Join the names of the first things, and count the rest: ``a, b, c and 2 more``."""
    names = between.join(map(name, islice(things, most)))
    rest = len(things) - most
    return f"{names} {last} {rest:,} more" if rest > 0 else names


def seniority(member: Member) -> tuple[bool, str, str]:
    """Sort key for every tie: static members first, then by instance id, then by member id.

    Java compares UTF-16 code units, so it sorts ids with characters above U+FFFF differently.
    """
    return (member.instance_id is None, member.instance_id or "", member.member_id)


@dataclass(frozen=True)
class Group:
    """A planning problem: members, and topics to consume.

    The planner numbers all partitions: topics in the order of their names, and in each topic by number.  An
    array "by partition" has one entry for each partition, in that order.

    Attributes:
        members: sorted by seniority.
        topics: topic -> number of partitions, sorted by name.  A subscribed topic that is missing here has no
            partitions (yet).
        racks: topic -> for each of its partitions the racks that have a replica (KIP-881).  Missing topics,
            and partitions beyond the sequence, have no known rack.
        lags: topic -> for each of its partitions the records left to read, or ``UNKNOWN_LAG``.  Missing
            topics, and partitions beyond the sequence, have unknown lag.

    Raises:
        ProblemError: two members have the same id, a partition count is negative, or a capacity is out of
            its range.
    """

    members: tuple[Member, ...]
    topics: Mapping[str, int]
    racks: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)
    lags: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=seniority))
        if len({m.member_id for m in members}) != len(members):
            raise ProblemError("two members have the same id")
        if negative := [t for t, count in self.topics.items() if count < 0]:
            raise ProblemError(f"topic {min(negative)!r} has a negative number of partitions")
        object.__setattr__(self, "members", members)
        _ = self.capacities  # raises ProblemError if a capacity is out of its range
        object.__setattr__(self, "topics", MappingProxyType(dict(sorted(self.topics.items()))))

    @cached_property
    def index(self) -> dict[str, int]:
        """Member id -> index in ``members``."""
        return {member.member_id: i for i, member in enumerate(self.members)}

    @cached_property
    def capacities(self) -> Capacities:
        """The members' capacities, which weigh their lag."""
        return Capacities([member.capacity for member in self.members])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The topics, in order."""
        return tuple(self.topics)

    @cached_property
    def counts(self) -> Vector:
        """Number of partitions of each topic."""
        return np.fromiter(self.topics.values(), np.int64, len(self.topics))

    @cached_property
    def firsts(self) -> Vector:
        """Offset of each topic's first entry in an array by partition, then the length of the array."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @cached_property
    def first(self) -> dict[str, int]:
        """Topic -> offset of its first entry in an array by partition."""
        return dict(zip(self.topics, self.firsts.tolist(), strict=False))

    @property
    def size(self) -> int:
        """Number of partitions of all topics."""
        return int(self.firsts[-1])

    @cached_property
    def topic_of(self) -> npt.NDArray[np.int32]:
        """By partition: the index of its topic in ``names``."""
        return np.repeat(np.arange(len(self.names), dtype=np.int32), self.counts)

    @cached_property
    def subscribed(self) -> Mask:
        """Whether each member subscribes to each topic, shape (topics, members)."""
        index = {topic: i for i, topic in enumerate(self.topics)}
        # Many members have the same subscription, so each distinct one is looked up once.
        subscriptions: dict[frozenset[str], int] = {}
        row_of = [subscriptions.setdefault(member.topics, len(subscriptions)) for member in self.members]
        rows = np.zeros((len(subscriptions), len(index)), np.bool_)
        for row, topics in zip(rows, subscriptions, strict=True):
            row[[index[topic] for topic in topics if topic in index]] = True
        return np.ascontiguousarray(rows[row_of].T)

    @cached_property
    def assignable_topics(self) -> Mask:
        """By topic: whether it has partitions and a subscriber."""
        return self.subscribed.any(axis=1) & (self.counts > 0)

    @cached_property
    def kinds(self) -> tuple[Vector, Mask]:
        """By topic: the index of its kind; and the subscribers of each kind, shape (kinds, members).

        Topics of one kind have the same subscribers.
        """
        index: dict[bytes, int] = {}
        kind_of = np.array([index.setdefault(row.tobytes(), len(index)) for row in self.subscribed], np.int64)
        return kind_of, self.subscribed[np.unique(kind_of, return_index=True)[1]]

    @cached_property
    def rack_sets(self) -> tuple[npt.NDArray[np.int32], tuple[frozenset[str], ...]]:
        """By partition: the index of the set of its replicas' racks; and all distinct sets."""
        index: dict[frozenset[str], int] = {frozenset(): 0}
        by_partition = np.zeros(self.size, np.int32)
        for topic, count in self.topics.items():
            sets = self.racks.get(topic, ())[:count]
            first = self.first[topic]
            by_partition[first : first + len(sets)] = [index.setdefault(racks, len(index)) for racks in sets]
        return by_partition, tuple(index)

    @cached_property
    def _rack_pairs(self) -> int:
        """Number of pairs of a topic and a set of its replicas' racks; 0 if ``racks`` is empty."""
        if not self.racks:
            return 0
        set_of, sets = self.rack_sets
        return len(np.unique(self.topic_of.astype(np.int64) * len(sets) + set_of))

    @property
    def too_many_racks(self) -> bool:
        """Whether planning by racks would take too much memory.  The plan then ignores racks."""
        return self._rack_pairs * len(self.members) > MOST_CELLS

    @property
    def rack_limit(self) -> str:
        """The reason for ``too_many_racks``, for a log."""
        return (
            f"racks are ignored: {self._rack_pairs:,} pairs of a topic and a set of racks, "
            f"times {len(self.members):,} members, are more than {MOST_CELLS:,}"
        )

    @cached_property
    def in_racks(self) -> Mask | None:
        """Whether each member is in a rack of each set, shape (``rack_sets``, members).

        None if there are ``too_many_racks``, no member has a rack, or ``racks`` is empty.
        """
        index = {rack: i for i, rack in enumerate(sorted({m.rack for m in self.members if m.rack}))}
        if not (index and self.racks) or self.too_many_racks:
            return None
        sets = self.rack_sets[1]
        has_rack = np.zeros((len(sets), len(index) + 1), np.bool_)  # the last column: members without a rack
        for row, racks in zip(has_rack, sets, strict=True):
            row[[index[rack] for rack in racks if rack in index]] = True
        return has_rack[:, [index[m.rack] if m.rack else len(index) for m in self.members]]

    def near(self, owners: npt.NDArray[np.int32]) -> Mask | None:
        """By partition: whether its owner is in a rack that has a replica; None if ``in_racks`` is None."""
        if self.in_racks is None:
            return None
        near: Mask = (owners != NO_MEMBER) & self.in_racks[self.rack_sets[0], owners]
        return near

    @cached_property
    def known_lag(self) -> Vector:
        """By partition: records left to read, or ``UNKNOWN_LAG``; limited so that sums do not overflow."""
        known = np.full(self.size, UNKNOWN_LAG, np.int64)
        for topic, count in self.topics.items():
            lags = self.lags.get(topic, ())[:count]
            first = self.first[topic]
            known[first : first + len(lags)] = lags
        return np.clip(known, UNKNOWN_LAG, _MOST_RECORDS // self.capacities.ratio // max(self.size, 1))

    @cached_property
    def lag(self) -> Vector:
        """By partition: records left to read, with an estimate for unknown lag.

        Unknown lag counts as the mean of its topic's known lags, or as 0 if the topic has none.  So it does
        not bias a plan.
        """
        known = self.known_lag
        is_known = known != UNKNOWN_LAG
        topics = len(self.names)
        count = np.bincount(self.topic_of[is_known], minlength=topics)
        # A mean of floats is slightly off, which is fine for an estimate.
        total = np.bincount(self.topic_of[is_known], known[is_known].astype(np.float64), minlength=topics)
        mean = (total / np.maximum(count, 1)).astype(np.int64)
        return np.where(is_known, known, mean[self.topic_of])

    @property
    def knows_lag(self) -> bool:
        """Whether the lag of any partition is known."""
        return bool((self.known_lag != UNKNOWN_LAG).any())

    def at(self, partition: int) -> TopicPartition:
        """Return the topic and number of a partition, from its index in an array by partition."""
        topic = int(self.topic_of[partition])
        return TopicPartition(self.names[topic], partition - int(self.firsts[topic]))
