"""Pure: what each event cost.  `measure_events` defines every number of the scene's tables."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demo.failover.results import EventResult, TaskResult
from demo.failover.timeline import (
    Copies,
    Event,
    Logs,
    Progress,
    events_of,
    progress_of,
    states_of,
)
from demo.figures.measure import NS
from demo.group.logs import Entry


@dataclass(frozen=True, slots=True)
class _Read:
    """What is read from the logs once, for all events."""

    logs: Logs
    progress: Mapping[int, Progress]
    copies: Copies


def measure_events(logs: Logs, session_timeout_s: float) -> list[EventResult]:
    """Measure what happened.

    - *still*: of a task, the longest time between two records of it that were processed for the first time;
      the event lies within it, or it began after the event and before the group was at rest.  *still_max* and
      *still_p50* (median) are of all tasks.
    - *usual*: the longest such time in the seconds before the event; of the event: the median of the tasks.
    - *in_all*: of a task, all such times added up, of each what it took longer than *usual*; of the event:
      the mean of the tasks, so what the group as a whole lost.
    - *session_timeout*: after a kill the broker waits so long for a heartbeat; that is part of *still* of the
      tasks that were the killed one's.  0 for a join.
    - *moved*: tasks that another member processes when all is at rest; *changelog*: records in the changelogs
      of these, before the event.
    - *waited*: records of these that the new owner applied to its copy from the last record the old one
      processed until it was ready itself: nobody processed the task meanwhile.
    - *restored*: records applied to all copies, until all was at rest; what standbys take of what goes on,
      and what new ones are built of, included.
    - *balanced*: from the event until no member's tasks, warm-ups or generation changed any more.
    - *rebalances*: generations after the event; *probing*: rebalances asked for to see whether copies are
      there.

    Args:
        logs: all that the scene wrote.
        session_timeout_s: of the group.
    """
    read = _Read(logs, progress_of(logs), Copies(logs))
    return [_measured(read, event, session_timeout_s) for event in events_of(logs)]


def times_done_again(logs: Logs) -> int:
    """How often a record was processed that had been processed before."""
    seen: set[tuple[int, int]] = set()
    times = 0
    for log in logs.members.values():
        for entry in log:
            if entry.event == "done":
                times += 1
                seen.add((entry.partitions[0], entry.last))
    return times - len(seen)


def _measured(read: _Read, event: Event, session_timeout_s: float) -> EventResult:
    tasks = [_of_task(read, event, task) for task in range(read.logs.tasks)]
    moved = [one for one in tasks if one["moved"]]
    usual = [one["usual"] for one in tasks if one["usual"] is not None]
    said = [e for _, e in states_of(read.logs, event.act) if event.at < e.t <= event.settled]
    changes = [entry.t for entry in said if entry.event != "probe"]
    return EventResult(
        act=event.act,
        kind=event.kind,
        member=event.member,
        fault=event.fault,
        still_max=max(one["still"] for one in tasks),
        still_p50=round(statistics.median(one["still"] for one in tasks), 3),
        usual=round(statistics.median(usual), 3) if usual else None,
        in_all=round(statistics.fmean(one["in_all"] for one in tasks), 3),
        session_timeout=session_timeout_s if event.kind == "kill" else 0.0,
        moved=len(moved),
        changelog=sum(one["changelog"] for one in moved),
        waited=sum(one["waited"] for one in moved),
        restored=read.copies.taken_by_all(event.act, event.at, event.settled),
        balanced=_seconds(max(changes, default=event.at) - event.at),
        rebalances=_rebalances(read.logs, event),
        probing=sum(entry.event == "probe" for entry in said),
        tasks=tasks,
    )


def _of_task(read: _Read, event: Event, task: int) -> TaskResult:
    progress = read.progress[task]
    gap = progress.longest_gap(event.at, event.settled)
    usual = progress.longest_within(event.calm, event.at)
    before, after = progress.owner_at(event.at), progress.owner_at(event.settled)
    moved, waited = False, 0
    if before is not None and after is not None and before != after:
        moved = True
        left = progress.left_by_others(after, event.settled)
        ready = _ready_at(read.logs.members[after], task, event)
        waited = read.copies.taken(after, task, left, ready)
    return TaskResult(
        task=task,
        moved=moved,
        still=_seconds(gap.end - gap.start),
        usual=None if usual is None else _seconds(usual),
        in_all=_seconds(progress.gaps_beyond(usual or 0, event.at, event.settled)),
        waited=waited,
        changelog=event.changelog.get(task, 0),
    )


def _ready_at(log: Sequence[Entry], task: int, event: Event) -> int:
    """When a member began to process a task, for the last time before all was at rest."""
    found, has = event.settled, False
    for entry in log:
        if entry.event == "state" and entry.t <= event.settled:
            if task in entry.partitions and not has:
                found = entry.t
            has = task in entry.partitions
    return found


def _rebalances(logs: Logs, event: Event) -> int:
    """Generations are counted up by one."""
    seen = [
        (entry.t, entry.generation)
        for _, entry in states_of(logs, event.act)
        if entry.event == "state" and entry.t <= event.settled and entry.generation >= 0
    ]
    before = max((generation for t, generation in seen if t <= event.at), default=0)
    return max((generation for _, generation in seen), default=before) - before


def _seconds(ns: float) -> float:
    return round(ns / NS, 3)
