"""The report of ``lag``: partitions, members and totals, as values and as JSON.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_assignors.lag import Offsets, Reading, Reset
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.plan import TopicPartition

VERSION = 1


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition.

    Attributes:
        tp: topic and number.
        member_id: its owner; None: no owner.
        lag: records left to read; None: unknown, with the reason in ``missing``.
        offsets: the offsets that the lag was computed from.
        missing: why the lag is unknown.
    """

    tp: TopicPartition
    member_id: str | None
    lag: int | None
    offsets: Offsets | None
    missing: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """A group and its lag.

    Attributes:
        group: as the broker describes it.
        reset: the start of consumers without a commit, by which lag is computed.
        partitions: all that have an owner or a commit, by topic and number.
        time: when the report was made, ISO 8601.
    """

    group: GroupState
    reset: Reset
    partitions: tuple[PartitionLag, ...]
    time: str

    @property
    def lag(self) -> int:
        """Records left to read, over all partitions with a known lag."""
        return sum(partition.lag or 0 for partition in self.partitions)

    @property
    def unknown(self) -> int:
        """Number of partitions with an unknown lag."""
        return sum(partition.lag is None for partition in self.partitions)

    def by_member(self) -> dict[str, tuple[int, int, int]]:
        """Member id -> number of partitions, of those with an unknown lag, and the lag of the others."""
        owned, unknown, lags = Counter[str](), Counter[str](), Counter[str]()
        for partition in self.partitions:
            if partition.member_id is not None:
                owned[partition.member_id] += 1
                unknown[partition.member_id] += partition.lag is None
                lags[partition.member_id] += partition.lag or 0
        return {
            m.member_id: (owned[m.member_id], unknown[m.member_id], lags[m.member_id]) for m in self.members
        }

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """The members of the group."""
        return self.group.members

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--output json`` prints."""
        totals = self.by_member()
        return {
            "version": VERSION,
            "time": self.time,
            "group": self.group.group_id,
            "state": self.group.state,
            "strategy": self.group.strategy or None,
            "reset": self.reset,
            "lag": self.lag,
            "unknown": self.unknown,
            "members": [
                {
                    "id": member.member_id,
                    "instance_id": member.instance_id,
                    "client_id": member.client_id,
                    "host": member.host,
                    "readable": member.readable,
                    "partitions": totals[member.member_id][0],
                    "unknown": totals[member.member_id][1],
                    "lag": totals[member.member_id][2],
                }
                for member in self.members
            ],
            "partitions": [
                {
                    "topic": partition.tp.topic,
                    "partition": partition.tp.partition,
                    "member": partition.member_id,
                    "begin": partition.offsets and partition.offsets.begin,
                    "committed": partition.offsets and partition.offsets.committed,
                    "end": partition.offsets and partition.offsets.end,
                    "lag": partition.lag,
                    "missing": partition.missing,
                }
                for partition in self.partitions
            ],
        }


def owners(group: GroupState) -> Mapping[TopicPartition, str | None]:
    """Map each partition with an owner or a commit to its owner, by topic and number."""
    owner_of: dict[TopicPartition, str | None] = dict.fromkeys(group.commits)
    for member in group.members:
        owner_of |= dict.fromkeys(member.owned, member.member_id)
    return dict(sorted(owner_of.items()))


def report(group: GroupState, reading: Reading, reset: Reset, time: str) -> Report:
    """Join the group's state and the offsets of its partitions."""
    return Report(
        group,
        reset,
        tuple(
            PartitionLag(tp, member, reading.lags.get(tp), reading.offsets.get(tp), reading.missing.get(tp))
            for tp, member in owners(group).items()
        ),
        time,
    )
