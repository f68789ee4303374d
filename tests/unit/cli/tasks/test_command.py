"""The report of ``tasks`` from members' user data, and its table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock
from uuid import UUID

import pytest
from click.testing import CliRunner

from kafka_assignors.cli.tasks import command as cli_tasks
from kafka_assignors.cli.tasks.report import ReportedCopy, TaskReport, TaskRow, task_report
from kafka_assignors.cli.tasks.view import fitted_lines, task_lines
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.wire.stateful import assignment as stateful_assignment
from kafka_assignors.wire.stateful import subscription as stateful_subscription
from kafka_assignors.wire.stateful.assignment import TaskAssignment
from kafka_assignors.wire.stateful.subscription import Subscription
from kafka_assignors.wire.stateful.task_section import MOST_LAG, Task
from tests.unit.cli.printed import printed

TIME = "2026-11-21T12:00:00.000+00:00"
A, B = (f"billing-{n}-1f0c2d3{n}-0000-4000-8000-0123456789ab" for n in (1, 2))
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "tasks.md"


def member(
    member_id: str, lags: Mapping[Task, int], assignment: TaskAssignment, *, endpoint: str = ""
) -> GroupMember:
    subscription = Subscription(UUID(int=7), lags=lags, endpoint=endpoint, rack="r")
    return GroupMember(
        member_id,
        None,
        member_id[:9],
        "10.0.0.7",
        (),
        subscription_user_data=stateful_subscription.encode(subscription),
        assignment_user_data=stateful_assignment.encode(assignment),
    )


def group(*members: GroupMember, strategy: str = "stateful") -> GroupState:
    return GroupState("billing", "Stable", strategy, members, {})


def a_report() -> TaskReport:
    """Two members: the second one came just now, and warms up."""
    running = TaskAssignment(
        actives=(("count", 0), ("count", 1), ("sum", 0)), next_probe_ms=1_795_262_405_000
    )
    copying = TaskAssignment(standbys=(("count", 0),), warmups=(("count", 1),))
    a = member(A, {("count", 0): 0, ("count", 1): 0}, running)
    b = member(B, {("count", 0): 1_200}, copying, endpoint="10.0.0.8:80")
    return task_report(group(a, b), TIME)


def lines(report: TaskReport, width: int = 100, *, everything: bool = False) -> str:
    return "\n".join(printed(task_lines(report, everything=everything), width=width))


def test_report_has_members_and_lag_of_each_task() -> None:
    assert a_report().rows == (
        TaskRow(("count", 0), ReportedCopy(A, 0), (ReportedCopy(B, 1_200),), ()),
        TaskRow(("count", 1), ReportedCopy(A, 0), (), (ReportedCopy(B, None),)),
        TaskRow(("sum", 0), ReportedCopy(A, None), (), ()),
    )
    assert a_report().probe_at == "2026-11-21T12:00:05+00:00"
    assert a_report().unread == {}


def test_copy_with_unknown_offset_has_no_lag() -> None:
    """Its changelog did not answer when the member joined."""
    joined = member(A, {("s", 0): MOST_LAG}, TaskAssignment((("s", 0),)))
    assert task_report(group(joined), TIME).rows[0].active == ReportedCopy(A, None)


def test_json_has_the_whole_report() -> None:
    current = json.loads(json.dumps(a_report().as_json()))
    assert current["tasks"][0] == {
        "task": "count_0",
        "subtopology": "count",
        "partition": 0,
        "active": {"member": A, "lag": 0},
        "standby": [{"member": B, "lag": 1200}],
        "warmup": [],
    }
    assert [m["endpoint"] for m in current["members"]] == [None, "10.0.0.8:80"]
    head = {"version": 1, "group": "billing", "probe_at": "2026-11-21T12:00:05+00:00"}
    assert head.items() <= current.items()


def test_table_equals_the_docs() -> None:
    assert lines(a_report()) in PAGE.read_text(encoding="utf-8")


def test_narrow_terminal_cuts_nothing() -> None:
    text = lines(a_report(), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert "1,200" in text


@pytest.mark.parametrize(
    ("subscription", "assignment", "why"),
    [
        (b"", b"", "no assignment yet"),
        (b"\xff" * 30, b"", "version -1"),
        (b"", b"\0\3\0\3 and more", "written by a newer release"),
        (b"\xff" * 30, b"\0\1", "; stateful assignment: "),
    ],
)
def test_unreadable_member_is_named(subscription: bytes, assignment: bytes, why: str) -> None:
    strange = GroupMember(
        "x", None, "x", "h", (), subscription_user_data=subscription, assignment_user_data=assignment
    )
    current = task_report(group(strange, member("y", {}, TaskAssignment((("s", 0),)))), TIME)
    assert why in current.unread["x"]
    assert [row.task for row in current.rows] == [("s", 0)]
    assert f"x: {current.unread['x']}"[:30] in lines(current)


def test_unreadable_subscription_costs_only_the_lags() -> None:
    received = TaskAssignment(actives=(("s", 0),), standbys=(("s", 1),))
    damaged = replace(member("x", {("s", 0): 3}, received), subscription_user_data=b"\xff" * 30)
    current = task_report(group(damaged), TIME)
    assert current.rows == (
        TaskRow(("s", 0), ReportedCopy("x", None), (), ()),
        TaskRow(("s", 1), None, (ReportedCopy("x", None),), ()),
    )
    assert "version -1" in current.unread["x"]
    assert "x" not in current.subscriptions


def test_task_without_active_member_is_noted() -> None:
    current = task_report(group(member("y", {}, TaskAssignment(standbys=(("s", 0),)))), TIME)
    assert current.rows[0].active is None
    assert "1 task without an active member" in lines(current)


def one_of_fifty_waits() -> TaskReport:
    """A member runs 50 tasks; another one builds a copy of the last of them."""
    tasks = tuple(("s", p) for p in range(50))
    busy = member("y", dict.fromkeys(tasks, 0), TaskAssignment(actives=tasks))
    copying = member("z", {("s", 49): 9}, TaskAssignment(warmups=(("s", 49),)))
    return task_report(group(busy, copying), TIME)


def test_large_group_shows_waiting_tasks_first() -> None:
    current = one_of_fifty_waits()
    few = lines(current)
    assert "s_49" in few
    assert "… and 30 more; --all shows them" in few
    assert len([line for line in lines(current, everything=True).splitlines() if line.startswith("s_")]) == 50


@pytest.mark.parametrize("height", [6, 9, 24, 70])
def test_watched_report_fits_the_terminal_with_waiting_tasks(height: int) -> None:
    current = one_of_fifty_waits()
    text = printed(lambda console: fitted_lines(current, console, height), height=height)
    assert len(text) <= height
    assert any(line.startswith("s_49") for line in text)
    assert text[0].startswith(f"{TIME[11:19]} UTC  ")
    assert any("… and" in line for line in text) == (height < 70)


def test_watch_notes_failures_and_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a pipe one table after the other; interrupted, it ends without a word."""
    look, failure = a_report().group, GroupError("the cluster does not answer")
    reader = Mock(**{"read.side_effect": [look, failure, look, KeyboardInterrupt]})
    monkeypatch.setattr(cli_tasks, "GroupReader", lambda *_: reader)
    monkeypatch.setattr("time.sleep", lambda _: None)
    done = CliRunner().invoke(cli_tasks.command, ["billing", "--bootstrap", "h:1", "--watch"])
    assert done.exit_code == 0
    assert done.stdout.count("billing: Stable") == 2
    assert done.stderr == "note: the cluster does not answer\n"


def test_group_that_rebalances_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile the broker returns its members without assignments."""
    joining = GroupState("billing", "PreparingRebalance", "", (GroupMember(A, None, "x", "h", ()),), {})
    reader = Mock(**{"read.side_effect": [joining, joining, a_report().group]})
    monkeypatch.setattr(cli_tasks, "GroupReader", lambda *_: reader)
    monkeypatch.setattr("kafka_assignors.cli.live_group._PAUSE_S", 0.0)
    done = CliRunner().invoke(cli_tasks.command, ["billing", "--bootstrap", "h:1"])
    assert done.output.startswith("billing: Stable, 2 members, 3 tasks")


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (group(), "has no members"),
        (group(GroupMember("x", None, "x", "h", ()), strategy="range"), "runs 'range'"),
    ],
)
def test_group_without_tasks_is_refused(state: GroupState, why: str) -> None:
    with pytest.raises(GroupError, match=why):
        task_report(state, TIME)
