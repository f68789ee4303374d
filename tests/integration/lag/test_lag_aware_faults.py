"""A leader that plans by lag, on a broker that refuses or stalls: one warning, and a plan."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from kafka.admin import ResourceType

from kafka_assignors import CooperativeLagAwareAssignor
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, Guarded
from tests.integration.lagging import write
from tests.support.group.joining import cluster, every, joined, owner_of, plan_of, raw
from tests.support.logged import ours
from tests.support.waiting import until

WAIT_MS = 1_500
SLACK_S = 5.0  # what a busy machine may add


def backlog(topic: str) -> dict[TopicPartition, int]:
    """KIP-169's example."""
    return {TopicPartition(topic, p): lag for p, lag in enumerate((100, 60, 50))}


class Leader:
    """An assignor that leads two members, its log, and how long each plan took."""

    def __init__(self, caplog: pytest.LogCaptureFixture, group_id: str, config: Mapping[str, Any]) -> None:
        caplog.set_level(logging.DEBUG)
        self._caplog = caplog
        self._threads = set(threading.enumerate())
        self.assignor = CooperativeLagAwareAssignor(
            consumer_config={**config, "group_id": group_id, "auto_offset_reset": "earliest"},
            lag_timeout_ms=WAIT_MS,
            lag_refresh_ms=1,  # nothing is remembered from one rebalance to the next
        )
        self.longest_s = 0.0

    def plan(self, topics: Mapping[str, int]) -> dict[str, dict[str, list[int]]]:
        members = [joined(name, raw(topics)) for name in ("a", "b")]
        began = time.monotonic()
        plan = plan_of(self.assignor.assign(cluster(topics), members))
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        assert owner_of(plan).keys() == every(topics)
        return plan

    def end(self) -> list[str]:
        """Close the assignor; return its warnings."""
        self.assignor.close()
        assert self.longest_s < WAIT_MS / 1000 + SLACK_S
        assert not {t for t in threading.enumerate() if t.name.startswith("kafka")} - self._threads
        assert PASSWORD not in self._caplog.text
        return ours(self._caplog, logging.WARNING)


def test_wrong_password_is_one_warning(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    leader = Leader(caplog, names.group(), guarded.config("not-" + PASSWORD[::-1]))
    for _ in range(2):
        plan = leader.plan({names.topic(4): 4})
        assert [sum(map(len, topics.values())) for topics in plan.values()] == [2, 2]
    (warning,) = leader.end()
    assert "lag unknown for 4 of 4 partitions" in warning
    assert "uthenticat" in warning
    assert PASSWORD[::-1] not in caplog.text


def test_denied_topic_is_shared_by_counts(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    """Its partitions are shared by counts, the others by lag."""
    group = names.group()
    seen, hidden = names.topics(3, 2)
    guarded.allow(ResourceType.TOPIC, seen)
    guarded.allow(ResourceType.GROUP, group)
    write(guarded.bootstrap, backlog(seen))
    leader = Leader(caplog, group, guarded.config())
    plan = leader.plan({seen: 3, hidden: 2})
    assert sorted((sorted(topics[seen]) for topics in plan.values()), key=len) == [[0], [1, 2]]
    (warning,) = leader.end()
    assert "lag unknown for 2 of 5 partitions" in warning
    assert hidden in warning


def test_broker_that_stops_answering_and_recovers(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    topic = names.topic(3)
    write(guarded.bootstrap, backlog(topic))
    leader = Leader(caplog, names.group(), {"bootstrap_servers": guarded.proxied})

    def planned() -> list[dict[str, list[int]]]:
        return sorted(leader.plan({topic: 3}).values(), key=str)

    # Its coordinator may have to be found first.
    until(lambda: planned() == [{topic: [0]}, {topic: [1, 2]}], "a plan by lag")
    before = len(ours(caplog, logging.WARNING))
    guarded.proxy.mode = "stall"
    for _ in range(2):
        leader.plan({topic: 3})
    guarded.proxy.mode = "pass"
    until(lambda: planned() and any("known again" in line for line in ours(caplog)), "the lag again")
    assert len(leader.end()) == before + 1


def test_topic_deleted_just_before_a_plan(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    """The cluster has deleted the topic; the consumer's metadata still lists it."""
    topic = names.topic(3)
    write(guarded.bootstrap, backlog(topic))
    leader = Leader(caplog, names.group(), {"bootstrap_servers": guarded.bootstrap})
    plan = leader.plan({topic: 3, "deleted": 2})
    assert [sum(map(len, topics.values())) for topics in plan.values()] in ([2, 3], [3, 2])
    (warning,) = leader.end()
    assert "deleted" in warning
