"""Combines groups, commits and offsets to the lag of each partition.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.lag import Offsets, Reading, Reset
from kafka_assignors.lag.fetch.group import GroupMember
from kafka_assignors.lag.reading import OldestUnread, next_unread
from kafka_assignors.plan import TopicPartition, shown

UNKNOWN = "unknown"
"""kafka-lag-exporter's labels of a partition without an owner."""
RESET: Reset = "earliest"
"""For commits outside the log: the broker does not know the group's ``auto.offset.reset``."""


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """All groups of a cluster at one moment.

    Attributes:
        groups: the partitions of each group.
        offsets: begin and end of each partition of a group.
        left_out: group -> why the exporter could not read it.
        problems: what could not be read: a key that stays from reading to reading -> its line.
        is_complete: False: a broker did not answer, or a partition has no leader.  Ages do not count.
        took_s: how long the reading took.
    """

    groups: Mapping[str, tuple[PartitionLag, ...]]
    offsets: Mapping[TopicPartition, Offsets]
    left_out: Mapping[str, str]
    problems: Mapping[str, str]
    is_complete: bool
    took_s: float


def is_same_log(before: Offsets, now: Offsets) -> bool:
    """Whether an offset still means the same record.

    A log whose begin or end went back belongs to a topic that was deleted and made again, or lost records.
    """
    return now.end >= before.end and (now.begin or 0) >= (before.begin or 0)


def partition_lag(
    tp: TopicPartition,
    owner: GroupMember | None,
    committed: int | None,
    reading: Reading,
    oldest: OldestUnread | None,
    *,
    now_ms: float,
) -> PartitionLag:
    """Return the lag of one partition of a group; without its age if ``oldest`` is None."""
    offsets = reading.offsets.get(tp)
    if offsets is None or committed is None:
        return PartitionLag(tp, owner, committed, None, None)
    age_s = None if oldest is None else oldest.age_s(next_unread(tp, offsets, RESET), now_ms)
    return PartitionLag(tp, owner, committed, reading.lags[tp], age_s)


def problem_lines(subject: str, reasons: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a line for each reason, with the number of names and the first as an example.

    The key of a line has neither, so the log does not repeat a problem whose number of names changes.
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons:
        by_reason.setdefault(reason, []).append(name)
    lines = {}
    for reason, names in sorted(by_reason.items()):
        others = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        lines[f"{subject}: {reason}"] = f"{subject} {shown(min(names))}{others}: {reason}"
    return lines
