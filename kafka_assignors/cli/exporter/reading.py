"""One reading of the groups: the lag of each partition, and problems.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.lag import Offsets, Reading, Reset
from kafka_assignors.lag.fetch.group import GroupMember
from kafka_assignors.lag.reading import OldestUnread, next_unread
from kafka_assignors.plan import TopicPartition, listed, shown

UNKNOWN = "unknown"
"""kafka-lag-exporter's value for the labels of a partition without an owner."""
RESET: Reset = "earliest"
"""Assumed for commits outside of the log: the broker does not know the group's ``auto.offset.reset``."""


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """One reading of the selected groups of a cluster."""

    groups: Mapping[str, tuple[PartitionLag, ...]]
    offsets: Mapping[TopicPartition, Offsets]  # of each partition of these groups whose offsets are known
    left_out: Mapping[str, str]  # group -> why the exporter could not read it
    problems: Mapping[str, str]  # key -> log line; a problem keeps its key while it lasts
    is_complete: bool  # no failure that a retry may cure; ages may be unknown
    took_s: float


def is_same_log(before: Offsets, now: Offsets) -> bool:
    """Return whether neither begin nor end of a log went back.

    If one did, the topic was deleted and created again, or lost records.  A new topic that has already passed
    the old end is not noticed, unless its begin is lower.
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
    """Return the lag of one partition of a group.

    Its lag and its age are unknown without offsets or a commit.  Without ``oldest``, only its age is unknown.
    """
    offsets = reading.offsets.get(tp)
    if offsets is None or committed is None:
        return PartitionLag(tp, owner, committed, None, None)
    age_s = None if oldest is None else oldest.age_s(next_unread(tp, offsets, RESET), now_ms)
    return PartitionLag(tp, owner, committed, reading.lags[tp], age_s)


def problem_lines(subject: str, reasons: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a log line for each reason, by the key of the problem.

    ``reasons`` are pairs of a name and its reason.  A line has the first name, and the number of the others.
    A key has no names, so a log does not repeat a problem when the names change.
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons:
        by_reason.setdefault(reason, []).append(name)
    return {
        f"{subject}: {reason}": f"{subject} {listed(sorted(names), 1, name=shown)}: {reason}"
        for reason, names in sorted(by_reason.items())
    }
