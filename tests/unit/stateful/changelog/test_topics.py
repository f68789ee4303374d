"""``changelogs_of``: the changelogs of tasks, and topics it refuses.  The cluster is a double."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from kafka.admin import ConfigResource
from kafka.errors import TopicAlreadyExistsError

from kafka_assignors.errors import ChangelogError, TopologyError
from kafka_assignors.stateful import Subtopology, Topology
from kafka_assignors.stateful.changelog import topics as changelog_topics
from kafka_assignors.stateful.changelog.topics import KnownChangelogs, changelogs_of
from tests.support.clock import Clock

TOPOLOGY = Topology((Subtopology("s", ("t",)),))


class Admin:
    """A cluster with topics of these numbers of partitions; -1: it does not let us describe the topic.

    It does not show the settings of topics in ``hidden``.
    """

    topics: dict[str, int]
    hidden: frozenset[str] = frozenset()

    def __init__(self, **topics: int) -> None:
        self.topics = topics

    def __call__(self, **_: Any) -> Admin:
        return self

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        counts = {name: self.topics.get(name, 0) for name in names}
        return [
            {"name": name, "partitions": [0] * count, "error_code": 29 if count < 0 else 0 if count else 3}
            for name, count in counts.items()
        ]

    def create_topics(self, topics: dict[str, dict[str, Any]], **_: Any) -> None:
        self.topics |= {name: settings["num_partitions"] for name, settings in topics.items()}

    def describe_configs(self, resources: list[ConfigResource], **_: Any) -> dict[str, Any]:
        compacted = {"cleanup.policy": {"value": "compact"}}
        return {"topic": {each.name: {} if each.name in self.hidden else compacted for each in resources}}

    def close(self) -> None:
        pass


def cluster(monkeypatch: pytest.MonkeyPatch, **topics: int) -> None:
    monkeypatch.setattr(
        changelog_topics, "KafkaAdminClient", Admin(**{n.replace("_", "-"): c for n, c in topics.items()})
    )
    monkeypatch.setattr(changelog_topics, "_VISIBLE_S", 0.0)


def changelogs(monkeypatch: pytest.MonkeyPatch, **topics: int) -> Any:
    cluster(monkeypatch, **topics)
    return changelogs_of({}, TOPOLOGY, "g")


@pytest.mark.parametrize("of_changelog", [{}, {"g_s_changelog": 3}])
def test_each_task_gets_a_changelog_partition(
    of_changelog: dict[str, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    logs = changelogs(monkeypatch, t=3, **of_changelog)
    assert {task: log.partition for task, log in logs.items()} == {
        ("s", p): ("g-s-changelog", p) for p in range(3)
    }
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_member_starts_although_a_topic_has_grown_beyond_its_changelog(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise no member could start, or restart after a crash, before an operator adds partitions."""
    assert set(changelogs(monkeypatch, t=4, g_s_changelog=2)) == {("s", 0), ("s", 1)}
    assert (
        "changelog g-s-changelog has 2 partitions, its source topics have 4: tasks s_2 and above must wait"
        in caplog.text
    )


def test_settings_that_may_not_be_read_are_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker answers such a request with an error for the topic, which kafka-python ignores."""
    monkeypatch.setattr(Admin, "hidden", {"g-s-changelog"})
    assert set(changelogs(monkeypatch, t=2)) == {("s", 0), ("s", 1)}
    (line,) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    changelogs_of({}, TOPOLOGY, "g", create=False)  # a later search
    assert sum(r.levelno >= logging.WARNING for r in caplog.records) == 1
    assert line.startswith(
        "cannot read the settings of g-s-changelog (none returned: is DESCRIBE_CONFIGS granted?), so"
    )


@pytest.mark.parametrize("count", [5, 9])
def test_changelog_with_more_partitions_than_tasks_is_refused(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TopologyError, match=f"has {count} partitions, its source topics have 4"):
        changelogs(monkeypatch, t=4, g_s_changelog=count)


def test_topic_and_changelog_may_grow_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that starts meanwhile sees the topic as it was, and the changelog as it is now."""
    describe = Admin.describe_topics

    def grow_after_the_first_look(self: Admin, names: list[str]) -> list[dict[str, Any]]:
        described = describe(self, names)
        if names == ["t"]:
            self.topics = {"t": 5, "g-s-changelog": 5}
        return described

    monkeypatch.setattr(Admin, "describe_topics", grow_after_the_first_look)
    assert set(changelogs(monkeypatch, t=4, g_s_changelog=4)) == {("s", p) for p in range(5)}


@pytest.mark.parametrize(
    ("topics", "hidden"), [({"t": -1}, "t"), ({"t": 1, "g_s_changelog": -1}, "g-s-changelog")]
)
def test_topic_that_may_not_be_described_does_not_count_as_missing(
    topics: dict[str, int], hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise TopicAlreadyExistsError

    monkeypatch.setattr(Admin, "create_topics", refuse)
    with pytest.raises(ChangelogError, match=f"not allowed to describe topics {hidden}: grant DESCRIBE"):
        changelogs(monkeypatch, **topics)


def test_changelog_without_partitions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No partition at all does not mean that the topic grew."""
    monkeypatch.setattr(Admin, "create_topics", lambda *_, **__: None)
    with pytest.raises(TopologyError, match="has 0 partitions, its source topics have 4"):
        changelogs(monkeypatch, t=4)


def test_search_for_a_grown_topic_does_not_create_a_deleted_changelog_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It would be empty, and the state in it lost."""
    topology = Topology((Subtopology("a", ("t",)), Subtopology("b", ("u",))))
    monkeypatch.setattr(Admin, "create_topics", lambda *_, **__: pytest.fail("created a changelog"))
    cluster(monkeypatch, t=1, u=3, g_b_changelog=3)
    logs = changelogs_of({}, topology, "g", create=False)
    assert set(logs) == {("b", p) for p in range(3)}
    assert "changelog g-a-changelog does not exist: tasks of subtopology a cannot be opened" in caplog.text


def at_once() -> Any:
    """A background that runs each job when it is submitted."""

    def submit(job: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(job())
        except Exception as error:
            future.set_exception(error)
        return future

    return Mock(submit=submit)


@pytest.mark.parametrize(
    ("topics", "warning"),
    [
        ({"t": 3, "g_s_changelog": 2}, "tasks s_2 and above must wait"),
        ({"t": 3}, "changelog g-s-changelog does not exist"),
        ({"g_s_changelog": 2}, "the search for changelogs failed: source topics do not exist"),
    ],
)
def test_search_logs_the_same_warning_again_only_after_five_minutes(
    topics: dict[str, int], warning: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A member searches every 5 s, until an operator adds the partitions that its tasks lack."""
    cluster(monkeypatch, **topics)
    clock = Clock()
    find: Any = partial(changelogs_of, {}, TOPOLOGY, "g", create=False)
    changelogs = KnownChangelogs({}, find, at_once(), clock)
    for seconds in range(0, 301, 5):
        changelogs.search()
        changelogs.update()
        assert sum(warning in line for line in caplog.messages) == 1 + seconds // 300
        clock.now += 5


def test_search_that_fails_for_lack_of_threads_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """The admin client starts a thread, too."""
    fails = [RuntimeError("can't start new thread")]

    def find(**_: object) -> dict[Any, Any]:
        if fails:
            raise fails.pop()
        return {}

    changelogs = KnownChangelogs({}, find, at_once())
    answers = []
    for _turn in range(2):
        changelogs.search()
        answers.append(changelogs.update())
    assert answers == [False, True]
    assert "failed: RuntimeError: can't start new thread; trying again" in caplog.text


def test_search_whose_thread_cannot_start_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    background: Any = Mock(**{"submit.side_effect": RuntimeError("can't start new thread")})
    changelogs = KnownChangelogs({}, dict, background)
    for _turn in range(2):
        changelogs.search()
        assert not changelogs.update()
    assert caplog.messages == ["the search for changelogs cannot start: can't start new thread; trying again"]
