"""``kafka-assignors exporter`` on live clusters, scraped over HTTP; brokers go away and come back."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ACLOperation, ResourceType
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.broker.ports import HOST, free_ports
from kafka_assignors.cli.exporter.page import METRICS
from kafka_assignors.plan import TopicPartition
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.cli.exporter.process import exporter
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, USER, Guarded, Right
from tests.integration.lagging import commit, write
from tests.integration.members import Group, about
from tests.integration.proxy import Proxy
from tests.support.waiting import until

LAG = "kafka_consumergroup_group_lag"
SUM = "kafka_consumergroup_group_sum_lag"
SECONDS = "kafka_consumergroup_group_lag_seconds"
UP = "kafka_assignors_exporter_up"


def test_scrape_of_live_groups(fresh: FreshNames, tmp_path: Path) -> None:
    with Group(fresh, 4) as group:
        tps = sorted(group.partitions)
        write(group.bootstrap, dict.fromkeys(tps, 5))
        commit(group.bootstrap, group.group_id, {tp: tp.partition for tp in tps})  # members do not commit
        group.join_all(2, CooperativeStickyAssignor)
        owned = group.settled()
        other = TopicPartition(fresh.topic(), 0)
        without_members = fresh.group()
        write(group.bootstrap, {other: 5})
        commit(group.bootstrap, without_members, {other: 3})
        patterns = ("--groups", group.group_id, "--groups", without_members)
        with exporter(
            tmp_path, "--bootstrap", group.bootstrap, "--interval", "1", "--cluster-name", "c", *patterns
        ) as running:
            running.wait_for([2], SUM, cluster_name="c", group=without_members)
            (unowned,) = running.samples(LAG, group=without_members)
            place = {"cluster_name": "c", "group": without_members, "topic": other.topic, "partition": "0"}
            nobody = dict.fromkeys(("member_host", "consumer_id", "client_id"), "unknown")
            assert unowned.labels == place | nobody
            assert running.values("kafka_partition_latest_offset", topic=other.topic) == [5]
            assert running.values(UP) == [1]
            families = {family.name for family in text_string_to_metric_families(running.text())}
            assert families == set(METRICS)
            assert {s.labels["group"] for s in running.samples(SUM)} <= {group.group_id, without_members}
            shown = {
                (s.labels["topic"], int(s.labels["partition"]), s.labels["consumer_id"], s.value)
                for s in running.samples(LAG, group=group.group_id)
            }
            assert shown == {
                (*tp, about(member, "member_id"), 5 - tp.partition)
                for member in group.members
                for tp in owned[member.name]
            }
            assert running.values(SUM, group=group.group_id) == [14]
            assert running.values("kafka_consumergroup_group_max_lag", group=group.group_id) == [5]
            admin = KafkaAdminClient(bootstrap_servers=group.bootstrap)
            admin.delete_groups([without_members])
            admin.close()
            running.wait_for([], SUM, group=without_members)
            assert without_members not in running.text()


def test_lag_in_seconds_is_the_age_of_the_oldest_unread_record(fresh: FreshNames, tmp_path: Path) -> None:
    topic, group_id = fresh.topic(2), fresh.group()
    producer = KafkaProducer(bootstrap_servers=fresh.bootstrap)
    for age_s in (3600, 600, 60):
        producer.send(topic, b"x", partition=0, timestamp_ms=int((time.time() - age_s) * 1000))
        producer.flush()
    producer.close()
    commit(fresh.bootstrap, group_id, {TopicPartition(topic, 0): 1, TopicPartition(topic, 1): 0})
    words = ("--bootstrap", fresh.bootstrap, "--interval", "1", "--groups", group_id)
    with exporter(tmp_path, *words) as running:
        until(lambda: len(running.values(SECONDS)) == 2, "lag in seconds")
        late, read = running.values(SECONDS)
        assert 600 <= late < 700
        assert read == 0
        (longest,) = running.values("kafka_consumergroup_group_max_lag_seconds")
        assert 600 <= longest < 700
        running.wait_for_next_reading()
        assert running.values(SECONDS)[0] > late, "the age of a record that is not read again"
        commit(fresh.bootstrap, group_id, {TopicPartition(topic, 0): 2})
        until(lambda: 60 <= running.values(SECONDS)[0] < 160, "the age of the next record")


def test_denied_group_is_left_out_with_one_line(guarded: Guarded, names: FreshNames, tmp_path: Path) -> None:
    topic, allowed, denied = names.topic(prefix="described"), names.group("allowed"), names.group("denied")
    tp = TopicPartition(topic, 0)
    write(guarded.bootstrap, {tp: 4})
    for group_id in (allowed, denied):
        commit(guarded.bootstrap, group_id, {tp: 1})
    guarded.allow_only(
        [
            Right(ResourceType.CLUSTER, "kafka-cluster", ACLOperation.DESCRIBE),
            Right(ResourceType.GROUP, allowed, ACLOperation.DESCRIBE),
            Right(ResourceType.TOPIC, topic, ACLOperation.DESCRIBE),
        ]
    )
    secrets = {f"KAFKA_ASSIGNORS_{name.upper()}": str(value) for name, value in guarded.config().items()}
    with exporter(tmp_path, "--interval", "1", "--groups", f"{allowed}|{denied}", **secrets) as running:
        running.wait_for([3], SUM, group=allowed)
        for _ in range(2):  # more readings must not repeat the lines
            running.wait_for_next_reading()
        assert running.values(UP) == [1]
        assert running.values("kafka_assignors_exporter_groups_left_out") == [1]
        assert (running.values(SUM, group=denied), running.values(SECONDS)) == ([], [])
        _, *lines = running.log().splitlines()
        assert [line.removeprefix("kafka-assignors exporter: ") for line in lines] == [
            f"left out group {denied}: not authorised to describe the group",
            f"lag in seconds unknown of {topic}-0: not authorised to read the topic",
        ]
        for secret in (PASSWORD, USER):
            assert secret not in running.text() + running.log()


def test_wrong_password_is_one_line_without_it(guarded: Guarded, tmp_path: Path) -> None:
    wrong = "wr0ng-password"
    (port,) = free_ports(1)
    config = guarded.config(wrong) | {"bootstrap_servers": f"{HOST}:{port}"}
    secrets = {f"KAFKA_ASSIGNORS_{name.upper()}": str(value) for name, value in config.items()}
    sasl_port = int(guarded.sasl.rpartition(":")[2])
    with Proxy(port, sasl_port) as proxy, exporter(tmp_path, "--interval", "1", **secrets) as running:
        until(lambda: len(running.log().splitlines()) > 1, "the refusal")
        attempts = proxy.accepted
        until(lambda: proxy.accepted > attempts + 1, "another refusal")  # it is over when the next begins
        _, *lines = running.log().splitlines()
        assert len(lines) == 1
        assert "the cluster denies access" in lines[0]
        assert running.values(UP) == [0]
        assert wrong not in running.log() + running.text()


@pytest.mark.long
def test_broker_killed_and_restarted(tmp_path: Path) -> None:
    with RestartableBroker(tmp_path / "broker", 0) as broker:
        fresh = FreshNames(broker.bootstrap)
        topic, group_id = fresh.topic(), fresh.group()
        write(broker.bootstrap, {TopicPartition(topic, 0): 7})
        commit(broker.bootstrap, group_id, {TopicPartition(topic, 0): 2})
        with exporter(tmp_path, "--bootstrap", broker.bootstrap, "--interval", "2") as running:
            running.wait_for([5], SUM, group=group_id)
            assert running.values(UP) == [1]
            broker.kill()
            running.wait_for([0], UP)
            assert running.values(SUM, group=group_id) == [5]  # kept for three intervals
            running.wait_for([], SUM)
            assert running.values(UP) == [0]
            assert running.values("kafka_assignors_exporter_reading_age_seconds")[0] > 6
            broker.start()
            broker.wait_ready()
            running.wait_for([5], SUM, group=group_id)
            running.wait_for([1], UP)
            _, *lines = running.log().splitlines()
            assert lines[-1] == "kafka-assignors exporter: no problem is left"
            assert all("no broker answers" in line for line in lines[:-1])


def test_readings_share_connections_until_one_fails(
    guarded: Guarded, names: FreshNames, tmp_path: Path
) -> None:
    tp, group_id = TopicPartition(names.topic(), 0), names.group()
    write(guarded.bootstrap, {tp: 5})
    commit(guarded.bootstrap, group_id, {tp: 2})
    words = ("--bootstrap", guarded.proxied, "--interval", "1", "--groups", group_id)
    with exporter(tmp_path, *words) as running:
        running.wait_for([3], SUM)
        made = guarded.proxy.accepted
        for committed in (3, 4):
            commit(guarded.bootstrap, group_id, {tp: committed})
            running.wait_for([5 - committed], SUM)
        assert guarded.proxy.accepted == made
        guarded.proxy.mode = "stall"
        running.wait_for([0], UP)
        guarded.proxy.mode = "pass"
        running.wait_for([1], UP)
        assert guarded.proxy.accepted > made


def test_exporter_starts_before_its_broker(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with exporter(tmp_path, "--bootstrap", f"{HOST}:{port}", "--interval", "1") as running:
        until(lambda: "no broker answers" in running.log(), "the problem")
        assert running.values(UP) == [0]


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    start = time.monotonic()
    call()
    return time.monotonic() - start


@pytest.mark.long
def test_thousands_of_partitions_are_read_within_an_interval(tmp_path: Path) -> None:
    interval_s = 10
    with RestartableBroker(tmp_path / "broker", 0) as broker:
        fresh = FreshNames(broker.bootstrap)
        tps = [TopicPartition(topic, p) for topic in fresh.topics(1000, 1000, 1000) for p in range(1000)]
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        until(
            lambda: all(
                partition["leader_id"] >= 0
                for topic in admin.describe_topics(sorted({tp.topic for tp in tps}))
                for partition in topic["partitions"]
            ),
            "leaders",
            pause_s=1,
        )
        admin.close()
        write(broker.bootstrap, dict.fromkeys(tps, 2))
        groups = [fresh.group(), fresh.group()]
        for committed, group_id in enumerate(groups):
            commit(broker.bootstrap, group_id, dict.fromkeys(tps, committed))
        with exporter(tmp_path, "--bootstrap", broker.bootstrap, "--interval", str(interval_s)) as running:
            for committed, group_id in enumerate(groups):
                running.wait_for([(2 - committed) * len(tps)], SUM, group=group_id)
            assert len(running.samples(LAG)) == len(running.samples(SECONDS)) == 2 * len(tps)
            (took_ms,) = running.values("kafka_consumergroup_poll_time_ms")
            scrape_s = min(timed(running.text) for _ in range(3))
            print(f"{len(tps):,} partitions of 2 groups: read in {took_ms:.0f} ms, page in {scrape_s:.2f} s")
            assert took_ms < interval_s * 1000
            assert running.values(UP) == [1]
