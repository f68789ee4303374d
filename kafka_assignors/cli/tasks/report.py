"""What ``tasks`` tells of a stateful group: its tasks and their copies as values, and as JSON.  Pure.

It is all in the members' own words: what the leader told them to do, and how far their copies were when they
joined last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from kafka_assignors.errors import CodecError, GroupError
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.wire import stateful_assignment, stateful_subscription
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.task_section import MOST_LAG, Task

__all__ = ["Copy", "TaskReport", "TaskRow", "task_report"]

VERSION = 1
STRATEGY = "stateful"


@dataclass(frozen=True, slots=True)
class Copy:
    """A task's state at a member.

    Attributes:
        member_id: whose.
        lag: records it lacked when the member joined last; None: it had none, or did not say or know.
    """

    member_id: str
    lag: int | None

    def as_json(self) -> dict[str, Any]:
        """Its part of the JSON."""
        return {"member": self.member_id, "lag": self.lag}


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task.

    Attributes:
        task: which.
        active: who processes it; None: nobody at the moment.
        standbys: who keeps a copy.
        warmups: who builds a copy, to take it over.
    """

    task: Task
    active: Copy | None
    standbys: tuple[Copy, ...]
    warmups: tuple[Copy, ...]

    def as_json(self) -> dict[str, Any]:
        """Its part of the JSON."""
        return {
            "task": f"{self.task[0]}_{self.task[1]}",
            "subtopology": self.task[0],
            "partition": self.task[1],
            "active": self.active and self.active.as_json(),
            "standby": [copy.as_json() for copy in self.standbys],
            "warmup": [copy.as_json() for copy in self.warmups],
        }


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A group and its tasks.

    Attributes:
        group: as the broker describes it.
        rows: by subtopology and partition.
        unread: members whose words cannot be read, and why.
        said: what the others said of themselves.
        probe_at: when the next probing rebalance is, as ISO 8601; None: nothing is waited for.
        time: when this was, as ISO 8601.
    """

    group: GroupState
    rows: tuple[TaskRow, ...]
    unread: Mapping[str, str]
    said: Mapping[str, stateful_subscription.Subscription] = field(default_factory=dict)
    probe_at: str | None = None
    time: str = ""

    def as_json(self) -> dict[str, Any]:
        """The object that ``--output json`` prints."""
        return {
            "version": VERSION,
            "time": self.time,
            "group": self.group.group_id,
            "state": self.group.state,
            "probe_at": self.probe_at,
            "members": [
                {
                    "id": member.member_id,
                    "instance_id": member.instance_id,
                    "client_id": member.client_id,
                    "host": member.host,
                    "process": str(said.process_id) if said else None,
                    "rack": (said.rack or None) if said else None,
                    "endpoint": (said.endpoint or None) if said else None,
                    "unread": self.unread.get(member.member_id),
                }
                for member in self.group.members
                for said in [self.said.get(member.member_id)]
            ],
            "tasks": [row.as_json() for row in self.rows],
        }


def task_report(group: GroupState, time: str) -> TaskReport:
    """Put together what members say, and were told.

    Raises:
        GroupError: nobody is in the group, or it has no tasks.
    """
    if not group.members:
        raise GroupError(f"group {group.group_id!r} has no members: nobody has its tasks")
    if group.strategy not in {STRATEGY, ""}:
        raise GroupError(f"group {group.group_id!r} runs {group.strategy!r}: only {STRATEGY!r} has tasks")
    unread: dict[str, str] = {}
    said: dict[str, stateful_subscription.Subscription] = {}
    actives: dict[Task, Copy] = {}
    standbys: dict[Task, list[Copy]] = {}
    warmups: dict[Task, list[Copy]] = {}
    probes: list[int] = []
    for member in group.members:
        about, told = _words_of(member, unread)
        lags = {task: lag for task, lag in about.lags.items() if lag < MOST_LAG} if about else {}
        if about is not None:
            said[member.member_id] = about
        if told is None:
            continue
        actives |= {task: Copy(member.member_id, lags.get(task)) for task in told.actives}
        _add(standbys, told.standbys, member.member_id, lags)
        _add(warmups, told.warmups, member.member_id, lags)
        probes += [told.next_probe_ms] * bool(told.next_probe_ms)
    rows = tuple(
        TaskRow(task, actives.get(task), tuple(standbys.get(task, ())), tuple(warmups.get(task, ())))
        for task in sorted({*actives, *standbys, *warmups})
    )
    probe_at = _iso(min(probes)) if probes else None
    return TaskReport(group, rows, unread, said, probe_at, time)


def _words_of(
    member: GroupMember, unread: dict[str, str]
) -> tuple[stateful_subscription.Subscription | None, stateful_assignment.Assignment | None]:
    """What it said and what it was told; what cannot be read is noted."""
    try:
        about = stateful_subscription.decode(member.said) if member.said else None
        told = None if member.told in (b"", CLASSIC_ONLY) else stateful_assignment.decode(member.told)
    except CodecError as error:
        unread[member.member_id] = str(error)
        return None, None
    newer = not isinstance(about, stateful_subscription.Subscription | None) or not isinstance(
        told, stateful_assignment.Assignment | None
    )
    if newer:
        unread[member.member_id] = "written by a newer release"
    elif told is None:
        unread[member.member_id] = "it was told nothing yet"
    return (
        about if isinstance(about, stateful_subscription.Subscription) else None,
        told if isinstance(told, stateful_assignment.Assignment) else None,
    )


def _add(
    copies: dict[Task, list[Copy]], tasks: Iterable[Task], member_id: str, lags: Mapping[Task, int]
) -> None:
    for task in tasks:
        copies.setdefault(task, []).append(Copy(member_id, lags.get(task)))


def _iso(milliseconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # a member may say anything
        return None
