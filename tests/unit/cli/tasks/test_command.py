"""What ``tasks`` makes of a group's own words, and how it shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from rich.console import Console

from kafka_assignors.cli.tasks import command as cli_tasks
from kafka_assignors.cli.tasks.report import Copy, TaskReport, TaskRow, task_report
from kafka_assignors.cli.tasks.view import fitted_lines, task_lines
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.wire import stateful_assignment, stateful_subscription
from kafka_assignors.wire.task_section import MOST_LAG, Task

TIME = "2026-11-21T12:00:00.000+00:00"
A, B = (f"billing-{n}-1f0c2d3{n}-0000-4000-8000-0123456789ab" for n in (1, 2))
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "tasks.md"


def member(
    member_id: str,
    lags: Mapping[Task, int],
    told: stateful_assignment.Assignment,
    *,
    endpoint: str = "",
) -> GroupMember:
    said = stateful_subscription.Subscription(UUID(int=7), lags=lags, endpoint=endpoint, rack="r")
    return GroupMember(
        member_id,
        None,
        member_id[:9],
        "10.0.0.7",
        (),
        said=stateful_subscription.encode(said),
        told=stateful_assignment.encode(told),
    )


def group(*members: GroupMember, strategy: str = "stateful") -> GroupState:
    return GroupState("billing", "Stable", strategy, members, {})


def a_report() -> TaskReport:
    """Two members: the second one came just now, and warms up."""
    return task_report(
        group(
            member(
                A,
                {("count", 0): 0, ("count", 1): 0},
                stateful_assignment.Assignment(
                    actives=(("count", 0), ("count", 1), ("sum", 0)), next_probe_ms=1_795_262_405_000
                ),
            ),
            member(
                B,
                {("count", 0): 1_200},
                stateful_assignment.Assignment(standbys=(("count", 0),), warmups=(("count", 1),)),
                endpoint="10.0.0.8:80",
            ),
        ),
        TIME,
    )


def lines(report: TaskReport, width: int = 100, *, everything: bool = False) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(task_lines(report, everything=everything))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_who_has_what_and_how_far_it_is() -> None:
    assert a_report().rows == (
        TaskRow(("count", 0), Copy(A, 0), (Copy(B, 1_200),), ()),
        TaskRow(("count", 1), Copy(A, 0), (), (Copy(B, None),)),
        TaskRow(("sum", 0), Copy(A, None), (), ()),
    )
    assert a_report().probe_at == "2026-11-21T12:00:05+00:00"
    assert a_report().unread == {}


def test_how_far_a_copy_is_that_does_not_know_it_is_not_known() -> None:
    """Its changelog did not answer when the member joined."""
    told = stateful_assignment.Assignment((("s", 0),))
    assert task_report(group(member(A, {("s", 0): MOST_LAG}, told)), TIME).rows[0].active == Copy(A, None)


def test_the_json_has_all_of_it() -> None:
    found = json.loads(json.dumps(a_report().as_json()))
    assert found["tasks"][0] == {
        "task": "count_0",
        "subtopology": "count",
        "partition": 0,
        "active": {"member": A, "lag": 0},
        "standby": [{"member": B, "lag": 1200}],
        "warmup": [],
    }
    assert [m["endpoint"] for m in found["members"]] == [None, "10.0.0.8:80"]
    assert (found["version"], found["group"], found["probe_at"]) == (
        1,
        "billing",
        "2026-11-21T12:00:05+00:00",
    )


def test_the_table_is_the_one_in_the_docs() -> None:
    assert lines(a_report()) in PAGE.read_text(encoding="utf-8")


def test_on_a_narrow_terminal_nothing_is_cut() -> None:
    text = lines(a_report(), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert "1,200" in text


@pytest.mark.parametrize(
    ("said", "told", "why"),
    [
        (b"", b"", "it was told nothing yet"),
        (b"", b"\0\1", "needs 2 bytes"),
        (b"\xff" * 30, b"", "version -1"),
        (b"", b"\0\3\0\3 and more", "written by a newer release"),
    ],
)
def test_a_member_that_cannot_be_read_is_named(said: bytes, told: bytes, why: str) -> None:
    strange = GroupMember("x", None, "x", "h", (), said=said, told=told)
    found = task_report(group(strange, member("y", {}, stateful_assignment.Assignment((("s", 0),)))), TIME)
    assert why in found.unread["x"]
    assert [row.task for row in found.rows] == [("s", 0)]
    assert f"x: {found.unread['x']}"[:30] in lines(found)


def test_a_task_that_nobody_processes_is_said() -> None:
    found = task_report(group(member("y", {}, stateful_assignment.Assignment(standbys=(("s", 0),)))), TIME)
    assert found.rows[0].active is None
    assert "1 task that nobody processes" in lines(found)


def test_of_many_tasks_those_that_wait_are_shown_first() -> None:
    tasks = tuple(("s", p) for p in range(50))
    found = task_report(
        group(
            member("y", dict.fromkeys(tasks, 0), stateful_assignment.Assignment(actives=tasks)),
            member("z", {("s", 49): 9}, stateful_assignment.Assignment(warmups=(("s", 49),))),
        ),
        TIME,
    )
    few = lines(found)
    assert "s_49" in few
    assert "… and 30 more; --all shows them" in few
    assert len([line for line in lines(found, everything=True).splitlines() if line.startswith("s_")]) == 50


@pytest.mark.parametrize("height", [6, 9, 24, 70])
def test_what_is_watched_fits_the_terminal_with_what_waits_in_it(height: int) -> None:
    tasks = tuple(("s", p) for p in range(50))
    found = task_report(
        group(
            member("y", dict.fromkeys(tasks, 0), stateful_assignment.Assignment(actives=tasks)),
            member("z", {("s", 49): 9}, stateful_assignment.Assignment(warmups=(("s", 49),))),
        ),
        TIME,
    )
    console = Console(width=80, height=height, highlight=False)
    with console.capture() as captured:
        console.print(fitted_lines(found, console, height))
    text = captured.get().splitlines()
    assert len(text) <= height
    assert any(line.startswith("s_49") for line in text)
    assert text[0].startswith(f"{TIME[11:19]} UTC  ")
    assert ("… and" in captured.get()) == (height < 70)


def test_watching_says_what_fails_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a pipe one table after the other; interrupted, it ends without a word."""
    states: list[Any] = [a_report().group, GroupError("the cluster does not answer"), a_report().group]

    class Reader:
        def __init__(self, *_: object) -> None:
            """Nothing is connected."""

        def read(self) -> GroupState:
            if not states:
                raise KeyboardInterrupt
            now = states.pop(0)
            if isinstance(now, GroupError):
                raise now
            found: GroupState = now
            return found

        def close(self) -> None:
            """Nothing was connected."""

    monkeypatch.setattr(cli_tasks, "GroupReader", Reader)
    monkeypatch.setattr("time.sleep", lambda _: None)
    done = CliRunner().invoke(cli_tasks.command, ["billing", "--bootstrap", "h:1", "--watch"])
    assert done.exit_code == 0
    assert done.stdout.count("billing: Stable") == 2
    assert done.stderr == "note: the cluster does not answer\n"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (group(), "has no members"),
        (group(GroupMember("x", None, "x", "h", ()), strategy="range"), "runs 'range'"),
    ],
)
def test_a_group_without_tasks_is_refused(state: GroupState, why: str) -> None:
    with pytest.raises(GroupError, match=why):
        task_report(state, TIME)
