"""The checks of a stateful member before it starts: topics and changelogs."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACLOperation, NewTopic, ResourceType

from kafka_assignors.errors import ChangelogError, TopologyError
from kafka_assignors.stateful import StatefulConsumer, Subtopology, Topology
from kafka_assignors.stateful.changelog.topics import changelogs_of
from tests.integration.conftest import FreshNames
from tests.integration.guarded import Guarded, Right
from tests.integration.stateful.stateful_app import App
from tests.support.waiting import until


def changelogs(fresh: FreshNames, topology: Topology, group: str) -> dict[Any, Any]:
    """Find or create the changelogs, as a member does."""
    return changelogs_of({"bootstrap_servers": fresh.bootstrap}, topology, group)


def make(fresh: FreshNames, topic: str, partitions: int, policy: str) -> None:
    """Create a topic, as an operator would."""
    with KafkaAdminClient(bootstrap_servers=fresh.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions, 1, topic_configs={"cleanup.policy": policy})])


def test_changelogs_are_created_compacted_with_a_partition_a_task(fresh: FreshNames) -> None:
    a, b, c = fresh.topics(3, 3, 2)
    topology = Topology(
        (Subtopology("x", (a, b)), Subtopology("y", (c,)), Subtopology("z", (fresh.topic(),), stateful=False))
    )
    group = fresh.group()
    logs = changelogs(fresh, topology, group)
    assert {task: log.partition for task, log in logs.items()} == {
        **{("x", p): (f"{group}-x-changelog", p) for p in range(3)},
        **{("y", p): (f"{group}-y-changelog", p) for p in range(2)},
    }
    assert all(log.topic_id for log in logs.values())
    assert changelogs(fresh, topology, group) == logs, "the second member finds the topics of the first"


def test_missing_topic_is_named(fresh: FreshNames, tmp_path: Path) -> None:
    """Neither a lock nor a thread stays behind."""
    topology = Topology((Subtopology("x", ("no-such-topic",)),))
    for _ in range(2):
        with pytest.raises(TopologyError, match="source topics do not exist: no-such-topic"):
            StatefulConsumer(
                topology, print, tmp_path, group_id=fresh.group(), bootstrap_servers=fresh.bootstrap
            )


def test_member_that_never_runs_leaves_nothing_behind(fresh: FreshNames, tmp_path: Path) -> None:
    """Neither a lock nor a thread, also without a ``with`` block."""
    before = set(threading.enumerate())
    topology, group = Topology((Subtopology("x", (fresh.topic(),)),)), fresh.group()
    for _ in range(2):
        made = StatefulConsumer(topology, print, tmp_path, group_id=group, bootstrap_servers=fresh.bootstrap)
        made.close()
        made.run()
        until(lambda: set(threading.enumerate()) <= before, "its threads to end")


def test_topics_with_unequal_partitions_are_refused(fresh: FreshNames) -> None:
    topology = Topology((Subtopology("x", tuple(fresh.topics(2, 3))),))
    with pytest.raises(TopologyError, match="topics must have the same number of partitions"):
        changelogs(fresh, topology, fresh.group())


def test_changelog_with_another_number_of_partitions_is_refused(fresh: FreshNames) -> None:
    group = fresh.group()
    make(fresh, f"{group}-x-changelog", 3, "compact")
    with pytest.raises(TopologyError, match="has 3 partitions, its source topics have 2"):
        changelogs(fresh, Topology((Subtopology("x", (fresh.topic(2),)),)), group)


def test_settings_of_changelogs_that_an_acl_denies_are_one_warning(
    guarded: Guarded, names: FreshNames, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group = names.topic(2), names.group()
    make(names, f"{group}-x-changelog", 2, "delete")
    guarded.allow_only(
        [Right(ResourceType.TOPIC, name, ACLOperation.DESCRIBE) for name in (topic, f"{group}-x-changelog")]
    )
    topology = Topology((Subtopology("x", (topic,)),))
    assert len(changelogs_of(guarded.config(), topology, group)) == 2
    assert f"settings of {group}-x-changelog (none returned: is DESCRIBE_CONFIGS granted?)" in caplog.text


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_changelog_with_retention_is_refused(fresh: FreshNames, policy: str) -> None:
    group = fresh.group()
    make(fresh, f"{group}-x-changelog", 2, policy)
    with pytest.raises(ChangelogError, match="which would lose state; set it to compact"):
        changelogs(fresh, Topology((Subtopology("x", (fresh.topic(2),)),)), group)


def test_changelog_deleted_and_created_again_restarts_its_state(fresh: FreshNames, tmp_path: Path) -> None:
    """The state on disk is of the old topic, and is not mixed with the new one."""
    with App(fresh, tmp_path, partitions=1) as app:
        app.produce(100)
        a = app.join("a")
        app.wait_until_done()
        a.close()
        app.admin.delete_topics([app.changelog])
        app.wait_until(lambda: app.changelog not in app.admin.list_topics(), "the topic to be gone")
        app.produce(50)
        a = app.join("a")
        app.wait_until_done()
        (line,) = a.logged("restored from the beginning")
        assert "was deleted and created again" in line
        a.close()
        (state,) = app.state()
        assert sum(int(v) for k, v in state.items() if k.startswith(b"n:")) == 50


def test_changelog_deleted_while_it_is_read_ends_no_member(fresh: FreshNames, tmp_path: Path) -> None:
    """Each member logs that the changelog of its standby is gone, and creates no topic in its place."""
    with App(fresh, tmp_path, partitions=2, num_standby_replicas=1) as app:
        app.produce(100)
        a, b = app.join("a"), app.join("b")
        app.wait_until(lambda: len(a.ready) == len(b.ready) == 1, "balance")
        app.wait_until_done()
        app.admin.delete_topics([app.changelog])
        for member in (a, b):
            app.wait_until(partial(member.logged, "no offset"), "a log line")
        assert app.changelog not in app.admin.list_topics()
        app.close()


def test_tasks_of_a_grown_topic_wait_for_their_changelog_partition(fresh: FreshNames, tmp_path: Path) -> None:
    """The other tasks go on, also with a member that starts then."""
    with App(fresh, tmp_path, partitions=2) as app:
        a = app.join("a", metadata_max_age_ms=500)
        app.wait_until_all_are_ready(a)
        app.admin.create_partitions({app.topic: 3})
        app.wait_until(lambda: a.logged("partition 2 of the changelog"), "it to log the missing partition")
        app.produce(100)
        app.wait_until_done()
        a.close()
        b = app.join("b", metadata_max_age_ms=500)
        app.wait_until(lambda: b.ready == {0, 1}, "the other tasks to be processed")
        assert b.logged("has 2 partitions, its source topics have 3: tasks count_2 and above must wait")
        app.produce(100)
        app.wait_until_done()
        app.admin.create_partitions({app.changelog: 3})
        app.wait_until(lambda: b.ready == {0, 1, 2}, "the new task to be processed")
        app.partitions = 3
        app.given.append(Counter())
        app.produce(90)
        app.wait_until_done()
        app.close()
        app.assert_exact()


def test_consumer_runs_once_and_releases_everything(fresh: FreshNames, tmp_path: Path) -> None:
    topology = Topology((Subtopology("x", (fresh.topic(),)),))
    settings: dict[str, Any] = {"group_id": fresh.group(), "bootstrap_servers": fresh.bootstrap}
    for _ in range(2):  # the second run finds the directory unlocked
        with StatefulConsumer(topology, print, tmp_path, **settings) as consumer:
            pass
    with pytest.raises(Exception, match="create a new one"):
        consumer.run()
    consumer = StatefulConsumer(topology, print, tmp_path, **settings)
    consumer.close()
    consumer.run()
    with pytest.raises(Exception, match="create a new one"):
        consumer.run()
