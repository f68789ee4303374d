"""Lag in time on a real broker: records with known timestamps, and ``kafka-assignors lag`` of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import Producer as TheirProducer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPartition

from kafka_assignors import RangeAssignor
from kafka_assignors.lag.fetch.link import open_link
from kafka_assignors.lag.fetch.oldest_unread import OldestUnreadFetch
from kafka_assignors.lag.reading import OldestUnread, ReadPosition
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition
from tests.integration.cli.lag_command import lag, refused, run, watched
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit
from tests.support.quick import long
from tests.support.waiting import until

AMPLE_MS = 30_000
COMPACT = {"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.001"}


def write(
    fresh: FreshNames, records: list[tuple[TopicPartition, int]], key: bytes | None = None, **config: Any
) -> None:
    """Append a record with each timestamp."""
    with KafkaProducer(bootstrap_servers=fresh.bootstrap, **config) as producer:
        for tp, timestamp in records:
            producer.send(tp.topic, b"x" * 20, key, partition=tp.partition, timestamp_ms=timestamp)
        producer.flush()


def fetch(settings: Mapping[str, Any], *positions: ReadPosition) -> OldestUnread:
    """Fetch the timestamps over a connection of its own."""
    deadline = time.monotonic() + AMPLE_MS / 1000
    with open_link(settings, deadline) as link:
        reading = OldestUnreadFetch(link, fetch_settings(settings, "-", "earliest"), positions, deadline)
        link.run(reading.run, timeout_s=AMPLE_MS / 1000)
        return reading.result()


def read(fresh: FreshNames, *positions: ReadPosition, **config: Any) -> OldestUnread:
    """Fetch the timestamps; none may be missing."""
    oldest = fetch({"bootstrap_servers": fresh.bootstrap, **config}, *positions)
    assert oldest.missing == {}
    return oldest


def times(fresh: FreshNames, tp: TopicPartition, *offsets: int, **config: Any) -> list[int | None]:
    """Return the timestamp at or after each offset of one partition."""
    oldest = read(fresh, *(ReadPosition(tp, offset) for offset in offsets), **config)
    return [oldest.timestamps[ReadPosition(tp, offset)] for offset in offsets]


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_timestamps_of_records_in_a_batch(fresh: FreshNames, compression: str | None) -> None:
    tp, start = TopicPartition(fresh.topic(), 0), int(time.time() * 1000) - 60_000
    write(fresh, [(tp, start + i) for i in range(50)], compression_type=compression, linger_ms=200)
    assert times(fresh, tp, 0, 1, 30, 49) == [start, start + 1, start + 30, start + 49]
    assert times(fresh, tp, 50) == [None]


def test_log_append_time_is_the_brokers(fresh: FreshNames) -> None:
    tp = TopicPartition(fresh.topic(configs={"message.timestamp.type": "LogAppendTime"}), 0)
    before = int(time.time() * 1000)
    write(fresh, [(tp, 1_000)])
    (oldest,) = times(fresh, tp, 0)
    assert oldest is not None
    assert before - 5_000 <= oldest <= time.time() * 1000 + 5_000


@pytest.mark.parametrize("codec", ["lz4", "snappy", "zstd"])
def test_batch_whose_codec_is_not_installed_has_the_time_of_its_first_record(
    fresh: FreshNames, codec: str
) -> None:
    tp, start = TopicPartition(fresh.topic(), 0), int(time.time() * 1000) - 60_000
    config = {"bootstrap.servers": fresh.bootstrap, "compression.type": codec, "linger.ms": 500}
    producer = TheirProducer(config)
    for i in range(20):
        producer.produce(tp.topic, b"x" * 500, partition=0, timestamp=start + i)
    producer.flush()
    for oldest in times(fresh, tp, 0, 10):
        assert oldest is not None
        assert start <= oldest < start + 20


def test_aborted_transactions_and_markers(fresh: FreshNames) -> None:
    tp, start = TopicPartition(fresh.topic(), 0), int(time.time() * 1000) - 60_000
    with KafkaProducer(bootstrap_servers=fresh.bootstrap, transactional_id=fresh.group()) as producer:
        producer.init_transactions()
        for number, finish in enumerate([producer.abort_transaction, producer.commit_transaction]):
            producer.begin_transaction()
            sent = producer.send(tp.topic, b"x", partition=0, timestamp_ms=start + number)
            sent.get(30)  # a producer that aborts drops records it has not sent
            finish()
    # Offsets: aborted record, marker, committed record, marker.  A broker writes markers in the background.
    until(lambda: not fetch({"bootstrap_servers": fresh.bootstrap}, ReadPosition(tp, 4)).missing)
    assert times(fresh, tp, 0, 1, 2, 3) == [start, start + 1, start + 1, None]
    committed = times(fresh, tp, 0, 1, 2, 3, isolation_level="read_committed")
    assert committed == [start + 1, start + 1, start + 1, None]


@pytest.mark.long
def test_compacted_topic_has_gaps(fresh: FreshNames) -> None:
    tp, start = TopicPartition(fresh.topic(configs=COMPACT), 0), int(time.time() * 1000) - 60_000
    for number in range(5):
        write(fresh, [(tp, start + number)], key=b"same")

    def compacted() -> bool:
        write(fresh, [(tp, int(time.time() * 1000))], key=b"other")  # rolls the segment
        return times(fresh, tp, 0) == [start + 4]

    until(compacted, "compaction", patience_s=90, pause_s=0.5)
    assert times(fresh, tp, 2, 4) == [start + 4, start + 4]


def test_records_below_the_log_start_are_skipped(fresh: FreshNames) -> None:
    tp, start = TopicPartition(fresh.topic(), 0), int(time.time() * 1000) - 60_000
    write(fresh, [(tp, start + i) for i in range(10)])
    with KafkaAdminClient(bootstrap_servers=fresh.bootstrap) as admin:
        admin.delete_records({KafkaPartition(*tp): 6})
    assert times(fresh, tp, 2, 6, 7) == [start + 6, start + 6, start + 7]


def test_more_partitions_than_a_request_takes_are_read(fresh: FreshNames) -> None:
    """A request has at most 204 partitions, if their batches have the default size."""
    name = fresh.topic(250)
    tps, start = [TopicPartition(name, p) for p in range(250)], int(time.time() * 1000) - 60_000
    write(fresh, [(tp, start + tp.partition) for tp in tps for _ in range(2)])
    oldest = read(fresh, *(ReadPosition(tp, 1) for tp in tps))
    assert oldest.timestamps == {ReadPosition(tp, 1): start + tp.partition for tp in tps}


# --- the command -------------------------------------------------------------------------------------------


def lagging(fresh: FreshNames, age_s: float, group_id: str | None = None) -> str:
    """A group without members; its oldest of three unread records has this age."""
    group_id = group_id or fresh.group()
    tp = TopicPartition(fresh.topic(), 0)
    now_ms = int(time.time() * 1000)
    write(fresh, [(tp, now_ms - 3_600_000), *[(tp, now_ms - int(1000 * age_s))] * 3])
    commit(fresh.bootstrap, group_id, {tp: 1})
    return group_id


def test_report_has_the_lag_in_time(fresh: FreshNames) -> None:
    report = lag(fresh.bootstrap, lagging(fresh, 600))
    assert report["lag"] == 3
    assert 600_000 <= report["time_lag_ms"] < 900_000
    table = run(report["group"], "--bootstrap", fresh.bootstrap)
    assert "time lag 10m" in table.stdout


def test_group_in_a_rebalance_counts_all_commits_and_says_so(fresh: FreshNames) -> None:
    """A member that does not poll holds the rebalance up."""
    group_id, read_topic, abandoned = fresh.group(), fresh.topic(), TopicPartition(fresh.topic(), 0)
    write(fresh, [(abandoned, int(time.time() * 1000))] * 3)
    commit(fresh.bootstrap, group_id, {abandoned: 0})
    words = [group_id, "--bootstrap", fresh.bootstrap, "--fail-above", "2"]
    settings = {"group_id": group_id, "partition_assignment_strategy": [RangeAssignor]}
    settings |= {"bootstrap_servers": fresh.bootstrap}

    def state() -> str:
        return str(lag(fresh.bootstrap, group_id)["state"])

    with closing(KafkaConsumer(read_topic, **settings)) as slow:
        until(lambda: slow.poll(timeout_ms=50) or slow.assignment(), "an assignment")
        assert run(*words).returncode == 0
        with closing(KafkaConsumer(read_topic, **settings)) as other:
            until(lambda: other.poll(timeout_ms=50) or state() == "PreparingRebalance", "a rebalance")
            done = run(*words)
            reason = "counting all commits, because the group is rebalancing"
            assert (done.returncode, done.stderr) == (1, f"{group_id}: lag 3 is above 2, {reason}\n")
            both = (slow, other)
            until(lambda: any(c.poll(timeout_ms=50) for c in both) or state() == "Stable", "its end")
            assert run(*words).returncode == 0


def test_patterns_and_several_groups(fresh: FreshNames) -> None:
    prefix = fresh.group("pay")
    groups = [lagging(fresh, 60, f"{prefix}-{n}") for n in (1, 2)] + [lagging(fresh, 60)]
    words = ["--bootstrap", fresh.bootstrap, "--output", "json"]
    done = run(f"{prefix}-*", groups[2], *words)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert [each["group"] for each in report["groups"]] == sorted(groups)
    assert [each["lag"] for each in report["groups"]] == [3, 3, 3]
    assert report["problems"] == []
    nowhere = f"{prefix}-x*"
    assert refused(nowhere, "--bootstrap", fresh.bootstrap) == f"no group matches {nowhere!r}"


def test_watched_group_has_rates(fresh: FreshNames) -> None:
    group_id, tp = fresh.group(), TopicPartition(fresh.topic(), 0)
    commit(fresh.bootstrap, group_id, {tp: 0})
    words = [group_id, "--bootstrap", fresh.bootstrap, "--watch", "--every", "0.5", "--output", "json"]
    with watched(*words) as program:
        assert program.stdout is not None
        assert json.loads(program.stdout.readline())["rate_in"] is None
        write(fresh, [(tp, int(time.time() * 1000))] * 100)
        while not (report := json.loads(program.stdout.readline()))["rate_in"]:
            pass
        assert (report["rate_out"], report["catch_up_s"]) == (0, None)
        commit(fresh.bootstrap, group_id, {tp: 100})
        while not (report := json.loads(program.stdout.readline()))["rate_out"]:
            pass
        assert report["catch_up_s"] == 0


@pytest.mark.parametrize(
    ("configs", "age_s", "is_near"),
    [
        long({"retention.ms": "86400000"}, 80_000, True),
        ({"retention.ms": "86400000"}, 3_600, False),
        long({"retention.ms": "-1"}, 80_000, False),
        ({"retention.ms": "-1", "retention.bytes": "100"}, 60, True),
    ],
    ids=["old", "young", "unlimited", "large"],
)
def test_records_near_the_end_of_retention(
    fresh: FreshNames, configs: Mapping[str, str], age_s: int, is_near: bool
) -> None:
    group_id, now_ms = fresh.group(), int(time.time() * 1000)
    tp = TopicPartition(fresh.topic(configs=configs), 0)
    write(fresh, [(tp, now_ms - 1000 * age_s)] * 3)
    commit(fresh.bootstrap, group_id, {tp: 0})
    report = lag(fresh.bootstrap, group_id)
    assert report["near_retention"] == is_near
    table = run(group_id, "--bootstrap", fresh.bootstrap).stdout
    assert ("retention soon deletes" in table) == is_near


def test_members_of_the_new_protocol(fresh: FreshNames) -> None:
    group_id, tp = fresh.group(), TopicPartition(fresh.topic(2), 0)
    write(fresh, [(tp, int(time.time() * 1000) - 60_000)])
    ids = {"group.id": group_id, "client.id": "newcomer"}
    with closing(
        Consumer({"bootstrap.servers": fresh.bootstrap, "group.protocol": "consumer", **ids})
    ) as consumer:
        consumer.subscribe([tp.topic])
        until(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 2, "its partitions")
        report: dict[str, Any] = {}

        def described() -> bool:
            consumer.poll(0.1)
            report.update(lag(fresh.bootstrap, group_id))
            return bool(report["members"]) and report["members"][0]["partitions"] == 2

        until(described, "the description of the member")
    assert (report["state"], report["strategy"]) == ("Consumer", "uniform")
    (member,) = report["members"]
    assert (member["client_id"], member["partitions"], member["lag"]) == ("newcomer", 2, 1)
    assert member["time_lag_ms"] >= 60_000
