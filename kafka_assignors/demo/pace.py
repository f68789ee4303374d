"""Pure: how fast a member reads, as its log tells."""

from __future__ import annotations

from collections import defaultdict

from kafka_assignors.demo.logs import Entry
from kafka_assignors.demo.measure import NS, RunLogs
from kafka_assignors.errors import KafkaAssignorsError

__all__ = ["service_rate"]


def service_rate(logs: RunLogs, enough: int, begin: int, end: int) -> float:
    """Records/s that a member reads while it has enough to read; polling, logging and committing included.

    Taken from the times between two records of a member, if at least ``enough`` waited for it after the first
    of them and no rebalance or warm-up came in between; all members together.

    Args:
        logs: all that the run wrote.
        enough: the most that a poll returns: with less there are more polls a record.
        begin: from this time on, ns.
        end: until this time, ns.

    Raises:
        KafkaAssignorsError: nobody ever had so much to read.
    """
    records, busy = 0, 0
    sent: defaultdict[int, int] = defaultdict(int)
    reached: defaultdict[int, int] = defaultdict(int)
    owned: defaultdict[str, set[int]] = defaultdict(set)
    before: dict[str, int] = {}  # when a member that had enough processed its last record
    for member, entry in _in_order(logs):
        if entry.event == "sent":
            sent[entry.partitions[0]] = entry.last + 1
            continue
        if entry.event != "done":
            before.pop(member, None)
            if entry.event == "assigned":
                owned[member] |= set(entry.partitions)
            elif entry.event in {"revoked", "lost"}:
                owned[member] -= set(entry.partitions)
            continue
        if member in before and begin <= before[member] and entry.t < end:
            records += entry.last - entry.first + 1
            busy += entry.t - before[member]
        partition = entry.partitions[0]
        reached[partition] = max(reached[partition], entry.last + 1)
        if sum(max(sent[p] - reached[p], 0) for p in owned[member]) >= enough:
            before[member] = entry.t
        else:
            before.pop(member, None)
    if not busy:
        raise KafkaAssignorsError("no member had enough to read for long enough to tell how fast it is")
    return records / (busy / NS)


def _in_order(logs: RunLogs) -> list[tuple[str, Entry]]:
    """All that matters of members, and what was sent, by time."""
    found = [("", entry) for entry in logs.driver if entry.event == "sent"]
    found += [(member, entry) for member, log in logs.members.items() for entry in log]
    return sorted(found, key=lambda one: one[1].t)
