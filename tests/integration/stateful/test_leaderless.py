"""A changelog whose only broker is down, on a real cluster of two."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from kafka_assignors.broker import development_broker
from tests.integration.conftest import FreshNames
from tests.integration.reading import leaderless
from tests.integration.stateful.stateful_app import App
from tests.integration.two_brokers import one_more_broker, wait_until_seen


@pytest.mark.long
def test_partition_without_a_leader_delays_no_other_task(tmp_path: Path) -> None:
    """A new member restores the readable changelog, and logs the other."""
    with ExitStack() as first, ExitStack() as second:
        broker = first.enter_context(development_broker("jars", properties={"broker.rack": "zone-a"}))
        names = FreshNames(broker.bootstrap)
        with App(names, tmp_path / "before", partitions=1) as before:  # makes the topic of offsets, here
            before.wait_until_all_are_ready(before.join())
            before.produce(1)
            before.wait_until_done()
        app = first.enter_context(App(names, tmp_path, partitions=2))
        second.enter_context(one_more_broker(broker, "zone-b"))
        wait_until_seen(broker.bootstrap, {1: "zone-a", 2: "zone-b"})
        _make_on_both(broker.bootstrap, app.changelog)
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_done()
        a.close()
        second.close()
        missed = {(app.changelog, 1)}
        app.wait_until(
            lambda: leaderless(broker.bootstrap, app.changelog) == missed, "the second to be missed"
        )
        b = app.join("b")
        app.wait_until(lambda: b.ready == {0}, "the task whose changelog can be read")
        assert b.logged(f"changelog {app.changelog}-1: no offset (no leader)")
        app.produce(500, partition=0)
        app.wait_until(lambda: app.committed()[0] == 1_000, "its records to be processed")
        assert b.ready == {0}
        b.close()


def _make_on_both(bootstrap: str, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics(
            [
                NewTopic(
                    topic,
                    num_partitions=-1,
                    replication_factor=-1,
                    replica_assignments={0: [1], 1: [2]},
                    topic_configs={"cleanup.policy": "compact"},
                )
            ]
        )
