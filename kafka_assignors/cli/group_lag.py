"""The partitions of a group that count, and the lag of each.  Pure.

``lag``, ``watch`` and ``exporter`` share one rule: a partition counts if it has an owner, or a commit and a
topic that a member reads.  Commits of other topics do not count, because their lag only grows.  All commits
count if no partition has an owner, or if an assignment cannot be read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kafka_assignors.lag.fetch.group import REBALANCING, GroupMember, GroupState
from kafka_assignors.lag.rates import Rate
from kafka_assignors.lag.retention import NEAR
from kafka_assignors.plan import TopicPartition

GroupOwners = Mapping[TopicPartition, GroupMember]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """A partition of a group."""

    tp: TopicPartition
    owner: GroupMember | None  # None: it has no owner
    committed: int | None  # None: there is no commit
    lag: int | None  # records left to read; None: unknown
    seconds: float | None  # age of the oldest unread record, 0 without lag; None: unknown
    begin: int | None = None  # offset of the oldest record; None: unknown
    end: int | None = None  # offset of the next record to be written; None: unknown
    missing: str | None = None  # why the lag is unknown
    seconds_missing: str | None = None  # why the age is unknown
    rate: Rate | None = None  # None: there are no earlier offsets to compare
    # Share of the retention that the next unread record has left, 0 to 1.  None: no limit, or unknown.
    retention_left: float | None = None

    @property
    def member_id(self) -> str | None:
        """Id of the owner."""
        return None if self.owner is None else self.owner.member_id

    @property
    def near_retention(self) -> bool:
        """Whether retention deletes the next unread record soon."""
        return self.retention_left is not None and self.retention_left < NEAR


def owners_of(state: GroupState, before: GroupOwners = MappingProxyType({})) -> GroupOwners:
    """Map each owned partition to its member.

    A broker returns no owners while a group rebalances.  Then the result is ``before``, the last known
    owners.
    """
    if state.state in REBALANCING:
        return before
    return {tp: member for member in state.members for tp in member.owned}


def partitions_of(state: GroupState, owners: Collection[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions of a group that count."""
    topics = {tp.topic for tp in owners}.union(*(member.topics for member in state.members))
    are_known = bool(owners) and all(member.readable for member in state.members)
    return {*owners, *(tp for tp in state.commits if not are_known or tp.topic in topics)}
