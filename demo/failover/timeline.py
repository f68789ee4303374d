"""Pure: the logs of the scene, read as what happened, how each task went on, and what copies took."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from demo.failover.acts import ActName
from demo.group.logs import Entry, first_entry

Name = tuple[ActName, str]
"""Of a member: the same name is another process in the other act."""


@dataclass(frozen=True, slots=True)
class Logs:
    """All that the scene wrote.

    Args:
        tasks: how many.
        driver: ``sent``, ``act``, ``counted``, what happened, and ``end``.
        members: log per member.
    """

    tasks: int
    driver: Sequence[Entry]
    members: Mapping[Name, Sequence[Entry]]

    def of_driver(self, event: str) -> Entry:
        """The driver's first entry of that.

        Raises:
            KafkaAssignorsError: there is none.
        """
        return first_entry(self.driver, event)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the group; times in ns.

    Args:
        act: in which act.
        kind: what.
        member: who came, or was killed.
        calm: since when nothing else had happened.
        at: when.
        settled: when the group was at rest again, or was no longer waited for.
        fault: empty, or why it was not.
        changelog: task -> where its changelog ended before.
    """

    act: ActName
    kind: Literal["join", "kill"]
    member: str
    calm: int
    at: int
    settled: int
    fault: str
    changelog: Mapping[int, int]


def events_of(logs: Logs) -> list[Event]:
    """What happened, in order; what was not waited for to its end is left out."""
    found: list[Event] = []
    act: ActName = "cold"
    calm = 0
    changelog: dict[int, int] = {}
    begun: tuple[Literal["join", "kill"], Entry] | None = None
    for entry in logs.driver:
        if entry.event == "act":
            act = "warm" if entry.note == "warm" else "cold"
        elif entry.event == "calm":
            calm, changelog = entry.t, {}
        elif entry.event == "changelog":
            changelog[entry.partitions[0]] = entry.last
        elif entry.event in {"join", "kill"}:
            begun = ("join" if entry.event == "join" else "kill"), entry
        elif entry.event == "settled" and begun is not None:
            kind, what = begun
            found.append(Event(act, kind, what.note, calm, what.t, entry.t, entry.note, changelog))
            begun = None
    return found


class Advance(NamedTuple):
    """At ``t`` ns a member processed a record that nobody had processed before."""

    t: int
    member: Name


class Gap(NamedTuple):
    """Nothing new of a task was processed from ``start`` to ``end``, ns."""

    start: int
    end: int


class Progress:
    """How one task went on.

    Args:
        advances: ordered by time.
    """

    def __init__(self, advances: Sequence[Advance]) -> None:
        self._advances = advances
        self._times = [advance.t for advance in advances]

    def owner_at(self, t: int) -> Name | None:
        """Who processed it last, by then."""
        place = bisect.bisect_right(self._times, t)
        return self._advances[place - 1].member if place else None

    def left_by_others(self, owner: Name, until: int) -> int:
        """When another than that one processed its last new record, up to then; 0: never."""
        place = bisect.bisect_right(self._times, until)
        while place and self._advances[place - 1].member == owner:
            place -= 1
        return self._advances[place - 1].t if place else 0

    def longest_gap(self, begin: int, end: int) -> Gap:
        """The longest time between two new records, the event at ``begin`` within it or before it.

        What is not over at ``end`` counts up to there; where no record came before, from ``begin`` on.
        """
        return max(self._gaps(begin, end), key=lambda gap: gap.end - gap.start, default=Gap(begin, end))

    def gaps_beyond(self, usual: int, begin: int, end: int) -> int:
        """All such times added up, ns, of each what it took longer than usual."""
        return sum(max(gap.end - gap.start - usual, 0) for gap in self._gaps(begin, end))

    def _gaps(self, begin: int, end: int) -> list[Gap]:
        first = max(bisect.bisect_right(self._times, begin) - 1, 0)
        times = [*self._times[first : bisect.bisect_right(self._times, end)], end]
        if times[0] > begin:
            times = [begin, *times]
        return [Gap(a, b) for a, b in pairwise(times)]

    def longest_within(self, begin: int, end: int) -> int | None:
        """The same of those that began and ended within; None: there was none."""
        times = self._times[bisect.bisect_left(self._times, begin) : bisect.bisect_right(self._times, end)]
        return max((b - a for a, b in pairwise(times)), default=None)


def progress_of(logs: Logs) -> dict[int, Progress]:
    """How each task went on."""
    done = sorted(
        (entry.t, entry.partitions[0], entry.last, name)
        for name, log in logs.members.items()
        for entry in log
        if entry.event == "done"
    )
    reached = dict.fromkeys(range(logs.tasks), -1)
    advances: dict[int, list[Advance]] = {task: [] for task in range(logs.tasks)}
    for t, task, offset, name in done:
        if offset > reached[task]:
            reached[task] = offset
            advances[task].append(Advance(t, name))
    return {task: Progress(found) for task, found in advances.items()}


class Copies:
    """How many records of changelogs copies have taken, at any time.

    Args:
        logs: of the scene.
    """

    def __init__(self, logs: Logs) -> None:
        self._of: dict[tuple[Name, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for name, log in logs.members.items():
            for entry in log:
                if entry.event == "restored":
                    times, counts = self._of[name, entry.partitions[0]]
                    times.append(entry.t)
                    counts.append(entry.last)

    def taken(self, name: Name, task: int, begin: int, end: int) -> int:
        """Records that a member's copy of a task took between two times."""
        return self._at(name, task, end) - self._at(name, task, begin)

    def taken_by_all(self, act: ActName, begin: int, end: int) -> int:
        """The same of all copies of all members of an act."""
        return sum(self.taken(name, task, begin, end) for name, task in list(self._of) if name[0] == act)

    def _at(self, name: Name, task: int, t: int) -> int:
        if (name, task) not in self._of:
            return 0
        times, counts = self._of[name, task]
        place = bisect.bisect_right(times, t)
        return counts[place - 1] if place else 0


def states_of(logs: Logs, act: ActName) -> Iterator[tuple[Name, Entry]]:
    """What members of an act said of themselves, by time."""
    found = [
        (entry.t, name, place, entry)
        for name, log in logs.members.items()
        if name[0] == act
        for place, entry in enumerate(log)
        if entry.event in {"state", "warmups", "probe"}
    ]
    for _, name, _, entry in sorted(found, key=lambda one: one[:3]):
        yield name, entry
