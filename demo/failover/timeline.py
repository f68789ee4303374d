"""Pure: the failover's logs as events, progress of each task, and restored copies."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from demo.group.logs import Entry, RunLogs


@dataclass(frozen=True, slots=True)
class Event:
    """A join or a kill; times in ns."""

    act: str
    kind: Literal["join", "kill"]
    member: str
    calm: int  # begin of the calm seconds before it
    at: int
    settled: int  # when the group had settled, or the wait for that ended
    fault: str  # empty, or why the group had not settled
    changelog: Mapping[int, int]  # task -> end offset of its changelog before the event


def events_of(logs: RunLogs) -> list[Event]:
    """Return the events in order; one that was interrupted before it settled is left out."""
    events: list[Event] = []
    act, calm, changelog, begun = "", 0, dict[int, int](), Entry(0, "end")
    for entry in logs.driver:
        match entry.event:
            case "act":
                act = entry.note
            case "calm":
                calm, changelog = entry.t, {}
            case "changelog":
                changelog[entry.partitions[0]] = entry.last
            case "join" | "kill":
                begun = entry
            case "settled" if begun.event in {"join", "kill"}:
                kind: Literal["join", "kill"] = "join" if begun.event == "join" else "kill"
                events.append(Event(act, kind, begun.note, calm, begun.t, entry.t, entry.note, changelog))
                begun = entry
    return events


class Advance(NamedTuple):
    """At ``t`` ns a member processed a record for the first time."""

    t: int
    member: str


class TaskProgress:
    """The progress of one task."""

    def __init__(self, advances: Sequence[Advance]) -> None:
        self._advances = advances
        self._times = [advance.t for advance in advances]

    def owner_at(self, t: int) -> str | None:
        """Return the member that processed the last new record up to ``t``; None: there was none."""
        place = bisect.bisect_right(self._times, t)
        return self._advances[place - 1].member if place else None

    def left_by_others(self, owner: str, until: int) -> int:
        """Return when (ns) another member processed its last new record up to ``until``; 0: never."""
        place = bisect.bisect_right(self._times, until)
        while place and self._advances[place - 1].member == owner:
            place -= 1
        return self._advances[place - 1].t if place else 0

    def gaps(self, begin: int, end: int) -> list[int]:
        """Return the times (ns) between two new records, from the gap that contains ``begin`` to ``end``.

        Without a record before ``begin``, the first gap begins there.  The last gap ends at ``end``.
        """
        first = max(bisect.bisect_right(self._times, begin) - 1, 0)
        times = [*self._times[first : bisect.bisect_right(self._times, end)], end]
        if times[0] > begin:
            times = [begin, *times]
        return [b - a for a, b in pairwise(times)]

    def longest_within(self, begin: int, end: int) -> int | None:
        """Return the longest gap (ns) that began and ended within; None: there was none."""
        times = self._times[bisect.bisect_left(self._times, begin) : bisect.bisect_right(self._times, end)]
        return max((b - a for a, b in pairwise(times)), default=None)


def progress_of(logs: RunLogs) -> dict[int, TaskProgress]:
    """Return the progress of each task."""
    done = sorted(
        (entry.t, entry.partitions[0], entry.last, name)
        for name, log in logs.members.items()
        for entry in log
        if entry.event == "done"
    )
    reached = dict.fromkeys(range(logs.partitions), -1)
    advances: dict[int, list[Advance]] = {task: [] for task in range(logs.partitions)}
    for t, task, offset, name in done:
        if offset > reached[task]:
            reached[task] = offset
            advances[task].append(Advance(t, name))
    return {task: TaskProgress(task_advances) for task, task_advances in advances.items()}


class Copies:
    """The changelog records that each member's copies had applied at any time."""

    def __init__(self, logs: RunLogs) -> None:
        self._of: defaultdict[tuple[str, int], list[Entry]] = defaultdict(list)
        for name, log in logs.members.items():
            for entry in log:
                if entry.event == "restored":
                    self._of[name, entry.partitions[0]].append(entry)

    def applied(self, name: str, task: int, begin: int, end: int) -> int:
        """Return the records that a member's copy of a task applied between two times."""
        entries = self._of[name, task]
        counts = [0, *(entry.last for entry in entries)]
        at_begin, at_end = (bisect.bisect_right(entries, t, key=lambda e: e.t) for t in (begin, end))
        return counts[at_end] - counts[at_begin]
