"""A plan: who gets what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NOBODY, Group, Ownership

__all__ = ["Assignment", "Owners"]

Owners = npt.NDArray[np.int32]
"""By partition: index of its member, or ``NOBODY``."""


class Assignment(Mapping[str, dict[str, list[int]]]):
    """Member id -> topic -> partition numbers, ascending.  Every member has an entry, if only an empty one.

    It is held as one array, and a member's entry is made when it is asked for: a plan for a million
    partitions is that many Python objects less.

    Attributes:
        group: who it is for.
        owners: by partition, the index of the member that gets it, or ``NOBODY``.
        unlisted: what members get beside that, of partitions that the group's metadata does not list.
    """

    def __init__(
        self, group: Group, owners: Owners, unlisted: Mapping[str, Ownership] = MappingProxyType({})
    ) -> None:
        self.group = group
        self.owners = owners
        self.unlisted = unlisted

    @classmethod
    def of(cls, group: Group, plan: Mapping[str, Ownership]) -> Assignment:
        """Make one out of plain dictionaries.

        Raises:
            KeyError: a member or topic the group does not have.
        """
        owners = np.full(group.size, NOBODY, np.int32)
        for member_id, topics in plan.items():
            for topic, numbers in topics.items():
                owners[np.asarray(numbers, np.int64) + group.first[topic]] = group.index[member_id]
        return cls(group, owners)

    def __getitem__(self, member_id: str) -> dict[str, list[int]]:
        return self.of_member(self.group.index[member_id])

    def of_member(self, member: int) -> dict[str, list[int]]:
        """Topic -> partition numbers of one member, given by its index."""
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
        """How many partitions each member gets."""
        return np.bincount(self.owners[self.owners >= 0], minlength=len(self))

    def parts(
        self, member: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """What one member gets.

        Returns:
            Its topics (places in ``group.names``), its partition numbers topic by topic, and where each
            topic's begin and the last one's end.
        """
        by_owner, bounds = self._by_owner
        partitions = by_owner[bounds[member] : bounds[member + 1]]
        topic = self.group.topic_of[partitions]
        new = np.flatnonzero(topic[1:] != topic[:-1]) + 1
        cuts = np.concatenate([[0], new, [len(topic)]]) if len(topic) else np.zeros(1, np.int64)
        return topic[cuts[:-1]], partitions - self.group.firsts[topic], cuts

    @cached_property
    def _by_owner(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The partitions in the order of their owners, and where each member's begin."""
        # Sorting 16-bit numbers is linear.
        keys = self.owners.astype(np.int16 if len(self) < 2**15 else np.int32)
        order = np.argsort(keys, kind="stable")
        return order, np.searchsorted(keys[order], np.arange(len(self) + 1))
