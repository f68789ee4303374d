"""A plan: the partitions of each member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NO_MEMBER, Group, Ownership

Owners = npt.NDArray[np.int32]
"""By partition: the index of its member, or ``NO_MEMBER``."""


class Assignment(Mapping[str, dict[str, list[int]]]):
    """Member id -> topic -> partition numbers, ascending.  Every member has an entry, possibly an empty one.

    The plan is stored as one array.  A member's entry is built on access, which saves a Python object per
    partition.

    Attributes:
        group: the group it was planned for.
        owners: by partition, the index of the member that gets it, or ``NO_MEMBER``.
        unlisted: further partitions of members, which the group's metadata does not list.
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
        topics, numbers, cuts = self.parts(member)
        plain, bounds = numbers.tolist(), cuts.tolist()
        names = self.group.names
        listed = {
            names[topic]: plain[start:end]
            for topic, start, end in zip(topics.tolist(), bounds, bounds[1:], strict=False)
        }
        if not self.unlisted:
            return listed
        for topic, more in self.unlisted.get(self.group.members[member].member_id, {}).items():
            listed[topic] = [*listed.get(topic, ()), *more]
        return listed

    def __iter__(self) -> Iterator[str]:
        return iter(self.group.index)

    def __len__(self) -> int:
        return len(self.group.members)

    def __repr__(self) -> str:
        return f"Assignment({dict(self)!r})"

    @property
    def loads(self) -> npt.NDArray[np.int64]:
        """Number of partitions of each member."""
        return np.bincount(self.owners[self.owners >= 0], minlength=len(self))

    def parts(
        self, member: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return one member's partitions as arrays.

        Returns:
            Its topics (indices into ``group.names``), its partition numbers topic by topic, and the offsets
            at which each topic's numbers begin, with the end of the last.
        """
        by_owner, bounds = self._by_owner
        partitions = by_owner[bounds[member] : bounds[member + 1]]
        topic = self.group.topic_of[partitions]
        new = np.flatnonzero(topic[1:] != topic[:-1]) + 1
        cuts = np.concatenate([[0], new, [len(topic)]]) if len(topic) else np.zeros(1, np.int64)
        return topic[cuts[:-1]], partitions - self.group.firsts[topic], cuts

    @cached_property
    def _by_owner(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The partitions in the order of their owners, and the offset of each member's first."""
        # Sorting 16-bit numbers is linear.
        keys = self.owners.astype(np.int16 if len(self) < 2**15 else np.int32)
        order = np.argsort(keys, kind="stable")
        return order, np.searchsorted(keys[order], np.arange(len(self) + 1))
