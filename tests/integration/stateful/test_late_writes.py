"""An old value does not stay behind the next owner's in a changelog."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from kafka_assignors.errors import ChangelogUnreachableError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful.changelog.writer import ChangelogWriter
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.conftest import FreshNames
from tests.integration.reading import all_records
from tests.integration.stateful.stateful_app import App
from tests.support.waiting import until


def test_write_stalled_in_the_network_is_dropped_when_it_is_given_up(tmp_path: Path) -> None:
    """Else the last value of a key would be the old one, and the next restore would lose an update."""
    with RestartableBroker(tmp_path, proxies=1) as broker:
        (proxy,), (address,) = broker.proxies, broker.addresses
        changelog = TopicPartition(FreshNames(broker.bootstrap).topic(1), 0)
        former = ChangelogWriter({"bootstrap_servers": address}, patience_s=2.0)
        owner = ChangelogWriter({"bootstrap_servers": broker.bootstrap})
        former.write({changelog: {b"k": b"1"}})
        proxy.mode = "stall"
        with pytest.raises(ChangelogUnreachableError):
            former.write({changelog: {b"k": b"2"}})
        former.close()
        owner.write({changelog: {b"k": b"3"}})
        proxy.reset()
        until(lambda: proxy.is_idle, "the stalled connections to end")
        owner.write({changelog: {b"end": b""}})
        owner.close()
        assert _values(broker.bootstrap, changelog.topic) == [b"1", b"3", b""]


def test_record_of_a_former_owner_does_not_replace_a_newer_value(fresh: FreshNames, tmp_path: Path) -> None:
    """Its process was stopped between the check and the socket, and continued after the take-over."""
    with App(fresh, tmp_path, partitions=1) as app:
        owner = app.join()
        app.wait_until_all_are_ready(owner)
        app.produce(50, keys=10)
        app.wait_until_done()
        app.write_changelog(0, b"n:k7", b"1")
        app.produce(20, keys=5)
        app.wait_until_done()
        app.wait_until(lambda: owner.logged("writing them again"), "the repair")
        app.close()
        app.assert_exact()


def test_batch_above_the_limit_of_the_topic_is_split_and_written(fresh: FreshNames) -> None:
    """kafka-python splits it, and ends the flush that waits for it with an error."""
    changelog = TopicPartition(fresh.topic(1), 0)
    admin = KafkaAdminClient(bootstrap_servers=fresh.bootstrap)
    limit = ConfigResource(ConfigResourceType.TOPIC, changelog.topic, configs={"max.message.bytes": "4000"})
    admin.alter_configs([limit])
    admin.close()
    writer = ChangelogWriter({"bootstrap_servers": fresh.bootstrap})
    (written,) = writer.write({changelog: {b"%d" % n: b"x" * 500 for n in range(40)}}).values()
    writer.write({changelog: {b"end": b""}})
    writer.close()
    assert written.records == 40
    assert len(_values(fresh.bootstrap, changelog.topic)) == 41


def _values(bootstrap: str, topic: str) -> list[bytes]:
    return [record.value for record in all_records(bootstrap, topic)]
