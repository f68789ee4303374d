"""The report of ``tasks``: a stateful group's tasks and their copies, as values and as JSON.  Pure.

Tasks and lags come from user data.  Members send it when they join, and the leader sends it with assignments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from kafka_assignors.errors import CodecError, GroupError
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.stateful import assignment as stateful_assignment
from kafka_assignors.wire.stateful import subscription as stateful_subscription
from kafka_assignors.wire.stateful.task_section import MOST_LAG, Task
from kafka_assignors.wire.stateful.version import NewerHeader

VERSION = 1
STRATEGY = "stateful"


@dataclass(frozen=True, slots=True)
class ReportedCopy:
    """A member's copy of a task's state."""

    member_id: str
    lag: int | None  # records behind at the member's last join; None: unknown, or there was no copy

    def as_json(self) -> dict[str, Any]:
        """Return the copy's part of the JSON."""
        return {"member": self.member_id, "lag": self.lag}


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task."""

    task: Task  # subtopology and partition
    active: ReportedCopy | None  # None: no member whose assignment is readable processes it
    standbys: tuple[ReportedCopy, ...]
    warmups: tuple[ReportedCopy, ...]  # copies that will become active

    def as_json(self) -> dict[str, Any]:
        """Return the task's part of the JSON."""
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
    """A group and its tasks.  Subscriptions are by member id."""

    group: GroupState
    rows: tuple[TaskRow, ...]  # by subtopology and partition
    unread: Mapping[str, str]  # member id -> why its user data is unreadable, or that it has no assignment
    subscriptions: Mapping[str, stateful_subscription.Subscription] = field(default_factory=dict)
    probe_at: str | None = None  # time of the next probing rebalance, ISO 8601; None: none is due
    time: str = ""  # of the report, ISO 8601

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--output json`` prints."""
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
                    "process": str(subscription.process_id) if subscription else None,
                    "rack": (subscription.rack or None) if subscription else None,
                    "endpoint": (subscription.endpoint or None) if subscription else None,
                    "unread": self.unread.get(member.member_id),
                }
                for member in self.group.members
                for subscription in [self.subscriptions.get(member.member_id)]
            ],
            "tasks": [row.as_json() for row in self.rows],
        }


def task_report(group: GroupState, time: str) -> TaskReport:
    """Build the report from the members' subscriptions and assignments.

    Raises:
        GroupError: the group has no members, or runs another strategy.
    """
    if not group.members:
        raise GroupError(f"group {group.group_id!r} has no members, so no task is assigned")
    if group.strategy not in {STRATEGY, ""}:
        raise GroupError(f"group {group.group_id!r} runs {group.strategy!r}: only {STRATEGY!r} has tasks")
    unread: dict[str, str] = {}
    subscriptions: dict[str, stateful_subscription.Subscription] = {}
    actives: dict[Task, ReportedCopy] = {}
    standbys: dict[Task, list[ReportedCopy]] = {}
    warmups: dict[Task, list[ReportedCopy]] = {}
    probes: list[int] = []
    for member in group.members:
        subscription, assignment, reasons = _decode(member)
        if reasons:
            unread[member.member_id] = "; ".join(reasons)
        if subscription is None:
            lags = {}
        else:
            subscriptions[member.member_id] = subscription
            lags = {task: lag for task, lag in subscription.lags.items() if lag < MOST_LAG}
        if assignment is None:
            continue
        actives |= {task: ReportedCopy(member.member_id, lags.get(task)) for task in assignment.actives}
        _add(standbys, assignment.standbys, member.member_id, lags)
        _add(warmups, assignment.warmups, member.member_id, lags)
        probes += [assignment.next_probe_ms] * bool(assignment.next_probe_ms)
    rows = tuple(
        TaskRow(task, actives.get(task), tuple(standbys.get(task, ())), tuple(warmups.get(task, ())))
        for task in sorted({*actives, *standbys, *warmups})
    )
    probe_at = _iso(min(probes)) if probes else None
    return TaskReport(group, rows, unread, subscriptions, probe_at, time)


def _decode(
    member: GroupMember,
) -> tuple[stateful_subscription.Subscription | None, stateful_assignment.TaskAssignment | None, list[str]]:
    """Decode a member's subscription and assignment; also return why either cannot be used."""
    sent, received = member.subscription_user_data, member.assignment_user_data
    subscription: stateful_subscription.Subscription | NewerHeader | None = None
    assignment: stateful_assignment.TaskAssignment | NewerHeader | None = None
    reasons = []
    try:
        subscription = stateful_subscription.decode(sent) if sent else None
    except CodecError as error:
        reasons.append(str(error))
    if received in (b"", CLASSIC_ONLY):
        reasons.append("no assignment yet")
    else:
        try:
            assignment = stateful_assignment.decode(received)
        except CodecError as error:
            reasons.append(str(error))
    if isinstance(subscription, NewerHeader) or isinstance(assignment, NewerHeader):
        reasons.append("written by a newer release")
    return (
        None if isinstance(subscription, NewerHeader) else subscription,
        None if isinstance(assignment, NewerHeader) else assignment,
        reasons,
    )


def _add(
    copies: dict[Task, list[ReportedCopy]], tasks: Iterable[Task], member_id: str, lags: Mapping[Task, int]
) -> None:
    for task in tasks:
        copies.setdefault(task, []).append(ReportedCopy(member_id, lags.get(task)))


def _iso(milliseconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # a member may send any number
        return None
