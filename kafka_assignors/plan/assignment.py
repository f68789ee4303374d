"""A plan: the partitions of each member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.model import NO_MEMBER, Group, Ownership

Owners = npt.NDArray[np.int32]
"""By partition: the index of its member, or ``NO_MEMBER``."""


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
        """Topic -> partition numbers of the member with this index."""
        topic_indices, numbers, bounds = (array.tolist() for array in self.partition_arrays(member))
        names = self.group.names
        partitions = {
            names[index]: numbers[start:end]
            for index, start, end in zip(topic_indices, bounds, bounds[1:], strict=False)
        }
        if not self.unlisted:
            return partitions
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

    def partition_arrays(self, member: int) -> tuple[npt.NDArray[np.int32], Vector, Vector]:
        """Return one member's partitions as arrays.

        Returns:
            The topics (indices into ``group.names``), the partition numbers topic by topic, and slice bounds:
            topic ``i`` has ``numbers[bounds[i]:bounds[i + 1]]``.
        """
        by_owner, starts = self._by_owner
        partitions = by_owner[starts[member] : starts[member + 1]]
        topic = self.group.topic_of[partitions]
        cuts = np.flatnonzero(topic[1:] != topic[:-1]) + 1
        bounds = np.concatenate([[0], cuts, [len(topic)]]) if len(topic) else np.zeros(1, np.int64)
        return topic[bounds[:-1]], partitions - self.group.firsts[topic], bounds

    @cached_property
    def _by_owner(self) -> tuple[Vector, Vector]:
        """Return the partitions sorted by owner, and the start of each member's slice, then the last end."""
        # numpy sorts 16-bit numbers in linear time.
        keys = self.owners.astype(np.int16 if len(self) < 2**15 else np.int32)
        order = np.argsort(keys, kind="stable")
        return order, np.searchsorted(keys[order], np.arange(len(self) + 1))
