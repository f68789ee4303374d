"""Pure: how fast a member reads, as its log tells."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from demo.figures.measure import NS, RunLogs
from demo.group.logs import Entry
from kafka_assignors.errors import KafkaAssignorsError

WINDOW_S = 1.0
_LONG_ENOUGH = 0.25  # busy so much of a window, all members together


class Pace(NamedTuple):
    """How fast a member reads while it has enough to read; polling, logging and committing included.

    Attributes:
        service_rate: records/s.
        by_window: in each window of ``WINDOW_S`` as multiples of that; 1 where nobody was busy long enough.
    """

    service_rate: float
    by_window: npt.NDArray[np.float64]


def pace(logs: RunLogs, enough: int, begin: int, end: int) -> Pace:
    """Measure it.

    Taken from the times between two records of a member, if at least ``enough`` waited for it after the first
    of them and no rebalance or warm-up came in between; all members together, who share a machine.

    Args:
        logs: all that the run wrote.
        enough: the most that a poll returns: with less there are more polls a record.
        begin: from this time on, ns.
        end: until this time, ns.

    Raises:
        KafkaAssignorsError: nobody ever had so much to read.
    """
    windows = math.ceil((end - begin) / NS / WINDOW_S)
    records, busy = np.zeros(windows), np.zeros(windows)
    for start, stop, read in _busy(logs, enough):
        if begin <= start and stop < end:
            window = int((stop - begin) / NS / WINDOW_S)
            records[window] += read
            busy[window] += (stop - start) / NS
    if not busy.any():
        raise KafkaAssignorsError("no member had enough to read for long enough to tell how fast it is")
    rate = float(records.sum() / busy.sum())
    known = busy >= WINDOW_S * _LONG_ENOUGH
    return Pace(rate, np.where(known, records / np.where(known, busy, 1.0) / rate, 1.0))


def _busy(logs: RunLogs, enough: int) -> Iterator[tuple[int, int, int]]:
    """From when to when (ns) some member worked without a pause, and how many records it did."""
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
        if member in before:
            yield before[member], entry.t, entry.last - entry.first + 1
        partition = entry.partitions[0]
        reached[partition] = max(reached[partition], entry.last + 1)
        if sum(max(sent[p] - reached[p], 0) for p in owned[member]) >= enough:
            before[member] = entry.t
        else:
            before.pop(member, None)


def _in_order(logs: RunLogs) -> list[tuple[str, Entry]]:
    """All that matters of members, and what was sent, by time."""
    found = [("", entry) for entry in logs.driver if entry.event == "sent"]
    found += [(member, entry) for member, log in logs.members.items() for entry in log]
    return sorted(found, key=lambda one: one[1].t)
