"""A plan: the partitions of each member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.model import NO_MEMBER, Group, Ownership

Owners = npt.NDArray[np.int32]
"""By partition: the index of its member, or ``NO_MEMBER``."""


class Runs(NamedTuple):
    """The partitions of a plan, sorted by member, topic and number.

    A run is a member's partitions of one topic.

    Attributes:
        topics: by run, the index of its topic in ``group.names``.
        numbers: by partition, its number.
        bounds: by run, the index in ``numbers`` at which it begins; then the end of the last run.
        members: by member, the index of its first run; then the number of runs.
    """

    topics: npt.NDArray[np.int32]
    numbers: Vector
    bounds: Vector
    members: Vector


class Assignment(Mapping[str, dict[str, list[int]]]):
    """Member id -> topic -> partition numbers, ascending.  Every member has an entry, possibly an empty one.

    The plan is stored as one array, which takes less memory than a Python object for each partition.  A
    member's entry is built on access.

    Attributes:
        group: the group it was planned for.
        owners: by partition, the index of the member that gets it, or ``NO_MEMBER``.
        unlisted: member id -> the partitions it owns that the metadata does not list yet.
    """

    def __init__(
        self, group: Group, owners: Owners, unlisted: Mapping[str, Ownership] = MappingProxyType({})
    ) -> None:
        self.group = group
        self.owners = owners
        self.unlisted = unlisted

    @classmethod
    def of(cls, group: Group, plan: Mapping[str, Ownership]) -> Assignment:
        """Build an assignment from plain dictionaries.

        Partition numbers must exist; they are not checked.

        Raises:
            KeyError: the group has no such member or topic.
        """
        owners = np.full(group.size, NO_MEMBER, np.int32)
        for member_id, topics in plan.items():
            for topic, numbers in topics.items():
                owners[np.asarray(numbers, np.int64) + group.first[topic]] = group.index[member_id]
        return cls(group, owners)

    def __getitem__(self, member_id: str) -> dict[str, list[int]]:
        return self.of_member(self.group.index[member_id])

    def of_member(self, member: int) -> dict[str, list[int]]:
        """Return topic -> partition numbers, for the member with this index."""
        runs, names = self.runs, self.group.names
        first, end = runs.members[member : member + 2].tolist()
        bounds = runs.bounds[first : end + 1]
        numbers, cuts = runs.numbers[bounds[0] : bounds[-1]].tolist(), (bounds - bounds[0]).tolist()
        partitions = {
            names[topic]: numbers[start:stop]
            for topic, (start, stop) in zip(runs.topics[first:end].tolist(), pairwise(cuts), strict=True)
        }
        for topic, further in self.unlisted.get(self.group.members[member].member_id, {}).items():
            partitions[topic] = [*partitions.get(topic, ()), *further]
        return partitions

    def __iter__(self) -> Iterator[str]:
        return iter(self.group.index)

    def __len__(self) -> int:
        return len(self.group.members)

    def __repr__(self) -> str:
        return f"Assignment({dict(self)!r})"

    @property
    def counts(self) -> Vector:
        """Number of partitions of each member."""
        return np.bincount(self.owners[self.owners >= 0], minlength=len(self))

    @cached_property
    def runs(self) -> Runs:
        """All partitions with a member; those in ``unlisted`` are not among them."""
        # numpy sorts 16-bit numbers in linear time.
        order = np.argsort(self.owners.astype(np.int16 if len(self) < 2**15 else np.int32), kind="stable")
        order = order[np.count_nonzero(self.owners == NO_MEMBER) :]  # these sort first
        owner, topic = self.owners[order], self.group.topic_of[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (owner[1:] != owner[:-1]) | (topic[1:] != topic[:-1])
        first = np.flatnonzero(is_first)
        return Runs(
            topics=topic[first],
            numbers=order - self.group.firsts[topic],
            bounds=np.append(first, len(order)),
            members=np.searchsorted(owner[first], np.arange(len(self) + 1)),
        )
