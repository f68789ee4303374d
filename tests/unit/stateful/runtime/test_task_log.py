"""``TaskLog``: the log lines about assigned and revoked tasks."""

from __future__ import annotations

import logging

import pytest

from kafka_assignors.stateful.runtime.task_log import TaskLog
from kafka_assignors.wire.stateful.task_section import Task


def tasks(count: int) -> list[Task]:
    return [("s", partition) for partition in range(count)]


@pytest.fixture
def task_log(caplog: pytest.LogCaptureFixture) -> TaskLog:
    caplog.set_level(logging.INFO)
    return TaskLog()


def test_task_that_was_assigned_only_between_two_lines_is_not_logged(
    task_log: TaskLog, caplog: pytest.LogCaptureFixture
) -> None:
    task_log.assigned(("s", 0))
    task_log.write()
    caplog.clear()
    task_log.assigned(("t", 0))
    for change in (task_log.revoked, task_log.assigned, task_log.revoked):
        change(("s", 0))
    task_log.revoked(("t", 0))
    task_log.revoked(("t", 1))  # it was never assigned
    task_log.write()
    assert caplog.messages == ["revoked 1 task: s_0; 0 left"]


def test_line_names_five_tasks_at_most(task_log: TaskLog, caplog: pytest.LogCaptureFixture) -> None:
    for task in tasks(1_000):
        task_log.assigned(task)
    task_log.write()
    assert caplog.messages == ["assigned 1000 tasks: s_0, s_1, s_2, s_3, s_4 and 995 more; 1000 in all"]


def test_copies_are_logged_when_they_change(task_log: TaskLog, caplog: pytest.LogCaptureFixture) -> None:
    for copies in ([], tasks(2), tasks(2)[::-1], []):
        task_log.keeps(copies)
    assert caplog.messages == [
        "standbys and warm-ups: 2 tasks: s_0, s_1",
        "standbys and warm-ups: 0 tasks",
    ]
