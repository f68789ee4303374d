"""Pure: the cost of each event.  `measure_events` defines every number of the scene's tables."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from demo.failover.acts import RATE
from demo.failover.results import CountsResult, EventResult, FailoverResult, TaskResult
from demo.failover.timeline import Copies, Event, TaskProgress, events_of, progress_of
from demo.figures import processing
from demo.group.logs import NS, Entry, RunLogs


def measure_failover(
    logs: RunLogs, session_timeout_s: float, flights: int, ends: Mapping[int, int], changelog_bytes: int
) -> FailoverResult:
    """Measure the scene; `compare_counts` completes the counts.

    ``flights`` were counted before the first event; ``ends`` and ``changelog_bytes`` are the changelog's.
    """
    end, counted = logs.driver_entry("end"), logs.driver_entry("counted")
    sent = processing.sent_by_partition(logs.driver)
    books = processing.account(sent, processing.stretches(logs.members, end.t))
    began = min(entry.t for entries in sent.values() for entry in entries)
    return FailoverResult(
        flights=flights,
        tasks=logs.partitions,
        rate=RATE,
        counting=_seconds(counted.t - began),
        bytes_counted=int(counted.note),
        bytes=changelog_bytes,
        changelog=sum(ends.values()),
        sent=books.produced,
        processed=books.processed,
        lost=books.lost,
        fault=end.note,
        events=measure_events(logs, session_timeout_s),
        counts=CountsResult(
            records=0, lines=0, counted=0, doubles=0, again=books.duplicates, copies=0, differences=[]
        ),
    )


def measure_events(logs: RunLogs, session_timeout_s: float) -> list[EventResult]:
    """Measure the events.

    A *gap* is the time between two records of a task that were processed for the first time.  The gaps of an
    event contain the event, or begin after it and before the group has settled.

    - *still*: the longest gap of a task; *still_max* and *still_p50*: maximum and median over the tasks.
    - *usual*: the longest gap of a task in the calm seconds before the event; of an event: the median over
      the tasks.
    - *in_all*: the sum of a task's gaps, each less *usual*; of an event: the mean over the tasks, so the loss
      of the whole group.
    - *session_timeout*: how long the broker waits for a heartbeat after a kill, part of *still* of the killed
      member's tasks.  0 for a join.
    - *moved*: tasks that another member processes when the group has settled; *changelog*: records in the
      changelogs of these tasks before the event.
    - *waited*: records of these changelogs that the new owner applied while no member processed the task:
      from the last record of the old owner until the new owner was ready.
    - *balanced*: time from the event until the last change of a member's tasks, warm-ups or generation.
    - *rebalances*: generations after the event; *probing*: probing rebalances requested after it.
    """
    progress, copies = progress_of(logs), Copies(logs)
    return [
        _event(logs, event, progress, copies, session_timeout_s if event.kind == "kill" else 0.0)
        for event in events_of(logs)
    ]


def _event(
    logs: RunLogs, event: Event, progress: Mapping[int, TaskProgress], copies: Copies, timeout_s: float
) -> EventResult:
    tasks = [_task(logs, event, task, progress[task], copies) for task in range(logs.partitions)]
    moved = [task for task in tasks if task["moved"]]
    usual = [task["usual"] for task in tasks if task["usual"] is not None]
    entries = [
        entry
        for name, log in logs.members.items()
        if name.startswith(f"{event.act}/")
        for entry in log
        if entry.event in {"state", "warmups", "probe"} and entry.t <= event.settled
    ]
    during = [entry for entry in entries if entry.t > event.at]
    changes = [entry.t for entry in during if entry.event != "probe"]
    return EventResult(
        act=event.act,
        kind=event.kind,
        member=event.member,
        fault=event.fault,
        still_max=max(task["still"] for task in tasks),
        still_p50=round(statistics.median(task["still"] for task in tasks), 3),
        usual=round(statistics.median(usual), 3) if usual else None,
        in_all=round(statistics.fmean(task["in_all"] for task in tasks), 3),
        session_timeout=timeout_s,
        moved=len(moved),
        changelog=sum(task["changelog"] for task in moved),
        waited=sum(task["waited"] for task in moved),
        balanced=_seconds(max(changes, default=event.at) - event.at),
        rebalances=_rebalances(entries, event.at),
        probing=sum(entry.event == "probe" for entry in during),
        tasks=tasks,
    )


def _task(logs: RunLogs, event: Event, task: int, progress: TaskProgress, copies: Copies) -> TaskResult:
    gaps = progress.gaps(event.at, event.settled)
    usual = progress.longest_within(event.calm, event.at)
    before, after = progress.owner_at(event.at), progress.owner_at(event.settled)
    moved, waited = False, 0
    if before is not None and after is not None and before != after:
        moved = True
        left = progress.left_by_others(after, event.settled)
        waited = copies.applied(after, task, left, _ready_at(logs.members[after], task, event.settled))
    return TaskResult(
        task=task,
        moved=moved,
        still=_seconds(max(gaps, default=0)),
        usual=None if usual is None else _seconds(usual),
        in_all=_seconds(sum(max(gap - (usual or 0), 0) for gap in gaps)),
        waited=waited,
        changelog=event.changelog.get(task, 0),
    )


def _ready_at(log: Sequence[Entry], task: int, settled: int) -> int:
    """Return when (ns) a member last began to process a task before the group had settled."""
    ready_at, is_ready = settled, False
    for entry in log:
        if entry.event == "state" and entry.t <= settled:
            if task in entry.partitions and not is_ready:
                ready_at = entry.t
            is_ready = task in entry.partitions
    return ready_at


def _rebalances(entries: Sequence[Entry], at: int) -> int:
    """Count the generations after ``at``: each is one more than the last."""
    states = [entry for entry in entries if entry.event == "state" and entry.generation >= 0]
    before = max((entry.generation for entry in states if entry.t <= at), default=0)
    return max((entry.generation for entry in states), default=before) - before


def _seconds(ns: float) -> float:
    return round(ns / NS, 3)
