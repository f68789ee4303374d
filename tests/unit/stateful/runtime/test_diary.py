"""``Diary``: which tasks come and go, as the log tells it."""

from __future__ import annotations

import logging

import pytest

from kafka_assignors.stateful.runtime.diary import Diary
from kafka_assignors.stateful.topology import Task


def tasks(count: int) -> list[Task]:
    return [("s", partition) for partition in range(count)]


@pytest.fixture
def diary(caplog: pytest.LogCaptureFixture) -> Diary:
    caplog.set_level(logging.INFO)
    return Diary()


def test_what_comes_together_is_one_line(diary: Diary, caplog: pytest.LogCaptureFixture) -> None:
    for task in tasks(3):
        diary.came(task)
        diary.came(task)
    diary.write()
    diary.write()
    assert caplog.messages == ["assigned 3 tasks: s_0, s_1, s_2; 3 in all"]


def test_what_goes_is_said_with_what_is_left(diary: Diary, caplog: pytest.LogCaptureFixture) -> None:
    for task in tasks(3):
        diary.came(task)
    diary.write()
    diary.went(("s", 1))
    diary.went(("t", 1))
    diary.came(("t", 0))
    caplog.clear()
    diary.write()
    assert caplog.messages == ["gave back 1 task: s_1; 3 left", "assigned 1 task: t_0; 3 in all"]
    diary.close()
    assert caplog.messages[-1] == "ends, with 3 tasks: s_0, s_2, t_0"


def test_a_line_has_some_names_however_many_tasks_there_are(
    diary: Diary, caplog: pytest.LogCaptureFixture
) -> None:
    for task in tasks(1_000):
        diary.came(task)
    diary.write()
    assert caplog.messages == ["assigned 1000 tasks: s_0, s_1, s_2, s_3, s_4 and 995 more; 1000 in all"]


def test_copies_are_told_when_they_change(diary: Diary, caplog: pytest.LogCaptureFixture) -> None:
    for copies in ([], tasks(2), tasks(2)[::-1], []):
        diary.keeps(copies)
    assert caplog.messages == [
        "keeps copies of 2 tasks: s_0, s_1, as standbys or warm-ups",
        "keeps copies of 0 tasks, as standbys or warm-ups",
    ]
