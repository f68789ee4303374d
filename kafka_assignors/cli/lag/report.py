"""What ``lag`` tells of a group: partitions, members and totals as values, and as JSON.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_assignors.lag import Offsets, Reading, Reset
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.plan import TopicPartition

__all__ = ["PartitionLag", "Report", "report"]

VERSION = 1


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition.

    Attributes:
        tp: which.
        member_id: who has it; None: nobody.
        lag: records left to read; None: not known, and ``missing`` says why.
        offsets: what the lag was made of.
        missing: why there is no lag.
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
        reset: where consumers without a commit start, as far as the lags are concerned.
        partitions: by topic and number; those that a member has, or that have a commit.
        time: when, as ISO 8601.
    """

    group: GroupState
    reset: Reset
    partitions: tuple[PartitionLag, ...]
    time: str

    @property
    def lag(self) -> int:
        """Records left to read, of the partitions of which that is known."""
        return sum(one.lag or 0 for one in self.partitions)

    @property
    def unknown(self) -> int:
        """Partitions whose lag is not known."""
        return sum(one.lag is None for one in self.partitions)

    def by_member(self) -> dict[str, tuple[int, int, int]]:
        """Member id -> its partitions, those whose lag is not known, and the lag of the others."""
        owned, unknown, lags = Counter[str](), Counter[str](), Counter[str]()
        for one in self.partitions:
            if one.member_id is not None:
                owned[one.member_id] += 1
                unknown[one.member_id] += one.lag is None
                lags[one.member_id] += one.lag or 0
        return {
            m.member_id: (owned[m.member_id], unknown[m.member_id], lags[m.member_id]) for m in self.members
        }

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Who is in the group."""
        return self.group.members

    def as_json(self) -> dict[str, Any]:
        """The object that ``--output json`` prints."""
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
                    "topic": one.tp.topic,
                    "partition": one.tp.partition,
                    "member": one.member_id,
                    "begin": one.offsets and one.offsets.begin,
                    "committed": one.offsets and one.offsets.committed,
                    "end": one.offsets and one.offsets.end,
                    "lag": one.lag,
                    "missing": one.missing,
                }
                for one in self.partitions
            ],
        }


def owners(group: GroupState) -> Mapping[TopicPartition, str | None]:
    """Who has each partition that somebody has, or that has a commit, by topic and number."""
    found: dict[TopicPartition, str | None] = dict.fromkeys(group.commits)
    for member in group.members:
        found |= dict.fromkeys(member.owned, member.member_id)
    return dict(sorted(found.items()))


def report(group: GroupState, reading: Reading, reset: Reset, time: str) -> Report:
    """Put together what was asked of the group and of its partitions."""
    return Report(
        group,
        reset,
        tuple(
            PartitionLag(tp, member, reading.lags.get(tp), reading.offsets.get(tp), reading.missing.get(tp))
            for tp, member in owners(group).items()
        ),
        time,
    )
