"""Changelogs as a cluster has them, doubled: which tasks get one, and what is refused."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafka_assignors.errors import TopologyError
from kafka_assignors.stateful import Subtopology, Topology
from kafka_assignors.stateful.changelog import topics as changelog_topics
from kafka_assignors.stateful.changelog.topics import changelogs_of

TOPOLOGY = Topology((Subtopology("s", ("t",)),))


class Admin:
    """A cluster with these topics, by their numbers of partitions."""

    topics: dict[str, int]

    def __init__(self, **topics: int) -> None:
        self.topics = topics

    def __call__(self, **_: Any) -> Admin:
        return self

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [{"name": name, "partitions": [0] * self.topics.get(name, 0)} for name in names]

    def create_topics(self, topics: dict[str, dict[str, Any]], **_: Any) -> None:
        self.topics |= {name: told["num_partitions"] for name, told in topics.items()}

    def describe_configs(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


def found(monkeypatch: pytest.MonkeyPatch, **topics: int) -> Any:
    monkeypatch.setattr(
        changelog_topics, "KafkaAdminClient", Admin(**{n.replace("_", "-"): c for n, c in topics.items()})
    )
    monkeypatch.setattr(changelog_topics, "_HEARD_S", 0.0)
    return changelogs_of({}, TOPOLOGY, "g")


@pytest.mark.parametrize("of_changelog", [{}, {"g_s_changelog": 3}])
def test_one_for_each_task(
    of_changelog: dict[str, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    logs = found(monkeypatch, t=3, **of_changelog)
    assert {task: log.at for task, log in logs.items()} == {("s", p): ("g-s-changelog", p) for p in range(3)}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_member_begins_though_a_topic_has_grown_beyond_its_changelog(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else nobody could be started, or come back after a crash, before an operator has done something."""
    assert set(found(monkeypatch, t=4, g_s_changelog=2)) == {("s", 0), ("s", 1)}
    assert (
        "subtopology s: changelog g-s-changelog has 2 partitions, its topics have 4: tasks from s_2 on wait"
        in caplog.text
    )


@pytest.mark.parametrize("count", [5, 9])
def test_more_than_there_are_tasks_is_another_topologys(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TopologyError, match=f"has {count} partitions, its topics have 4"):
        found(monkeypatch, t=4, g_s_changelog=count)


def test_one_that_cannot_be_seen_is_waited_for_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No partition to begin with: that is no topic that grew."""
    monkeypatch.setattr(Admin, "create_topics", lambda *_, **__: None)
    with pytest.raises(TopologyError, match="has 0 partitions, its topics have 4"):
        found(monkeypatch, t=4)
