"""Samples of real groups on a real broker, with missing answers and restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.admin import OffsetSpec, ResourceType
from pyspark.sql import SparkSession

from kafka_assignors.broker import start_broker
from kafka_assignors.broker.ports import free_ports
from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline.record.recording import Recording
from kafka_assignors.pipeline.record.sample_report import SamplesReport
from kafka_assignors.pipeline.record.sampler import NAME, group_samples
from kafka_assignors.pipeline.record.samples import record_samples, record_samples_once
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.guarded import PASSWORD, guarded_broker
from tests.integration.lagging import commit, write
from tests.pipeline.conftest import settings_of
from tests.support.waiting import until

PATIENCE_S = 240.0
Sample = tuple[str, str, int, int, int, int]


def samples(spark: SparkSession, root: Path) -> list[tuple[datetime, Sample]]:
    """Return the time and the other columns of each sample, in order of time."""
    rows = read_samples(spark, str(root)).collect()
    assert {row["source"] for row in rows} <= {"sampler"}
    for row in rows:
        assert row["date"] == row["time"].astimezone(timezone.utc).date()
    return sorted((row["time"].astimezone(timezone.utc), tuple(row[1:7])) for row in rows)


def wait_until(met: Callable[[], bool], what: str, recording: Recording[SamplesReport] | None = None) -> None:
    def come() -> bool:
        if recording is not None:
            assert recording.query.isActive, recording.query.exception()
        return met()

    until(come, what, patience_s=PATIENCE_S, pause_s=0.1)


def more_looks(recording: Recording[SamplesReport], count: int = 1) -> None:
    """Wait for this many samples that begin from now on."""
    seen = recording.report().looks
    wait_until(lambda: recording.report().looks > seen + count, "more looks", recording)


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings of this package, without those of kafka-python."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("kafka_assignors")]


def warns_of(caplog: pytest.LogCaptureFixture, problem: str) -> bool:
    return any(problem in line for line in warned(caplog))


@contextmanager
def recorded(*args: Any, **kwargs: Any) -> Iterator[Recording[SamplesReport]]:
    recording = record_samples(*args, **kwargs)
    try:
        yield recording
    finally:
        recording.stop()


def rows_of_the_admin_client(bootstrap: str, group: str) -> set[Sample]:
    """Return the samples of a group, read with kafka-python's admin client; all partitions have commits."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        commits = admin.list_group_offsets({group: None})[group]
        begins = admin.list_partition_offsets(dict.fromkeys(commits, OffsetSpec.EARLIEST))
        ends = admin.list_partition_offsets(dict.fromkeys(commits, OffsetSpec.LATEST))
    return {
        (group, tp.topic, tp.partition, begins[tp].offset, ends[tp].offset, commit_of.offset)
        for tp, commit_of in commits.items()
    }


def test_rows_are_those_of_the_admin_client(
    spark: SparkSession, names: FreshNames, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics = names.topics(3, 2)
    groups = [names.group("seen") for _ in range(3)]
    tps = [
        TopicPartition(topic, p) for topic, count in zip(topics, (3, 2), strict=True) for p in range(count)
    ]
    write(names.bootstrap, {tp: 5 + n for n, tp in enumerate(tps)})
    for n, group in enumerate(groups):
        commit(names.bootstrap, group, {tp: n + tp.partition for tp in tps})
    admin = KafkaAdminClient(bootstrap_servers=names.bootstrap)
    admin.delete_records({KafkaPartition(*tps[0]): 3})
    admin.close()
    before = datetime.now(timezone.utc)
    report = record_samples_once(
        spark, settings_of(names.bootstrap), str(tmp_path), groups=[*groups, "nobody's"]
    )
    after = datetime.now(timezone.utc)
    rows_of_the_table = samples(spark, tmp_path)
    expected = {row for group in groups for row in rows_of_the_admin_client(names.bootstrap, group)}
    assert {row for _, row in rows_of_the_table} == expected
    assert len(rows_of_the_table) == len(expected) == 15
    assert any(begin for _, _, _, begin, _, _ in expected)
    assert all(before <= when <= after for when, _ in rows_of_the_table)
    assert (report.looks, report.rows, report.groups, report.misses) == (1, 15, 3, {"no such group": 1})
    assert warned(caplog) == ['no samples of group "nobody\'s": no such group']

    again = record_samples_once(spark, settings_of(names.bootstrap), str(tmp_path), groups=groups[:1])
    assert again.rows == 5
    assert len(samples(spark, tmp_path)) == 20  # in the same folder


def test_assigned_partition_without_a_commit_is_sampled(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    topic, group = names.topic(2), names.group()
    write(names.bootstrap, {TopicPartition(topic, 0): 4})
    with KafkaConsumer(
        topic, bootstrap_servers=names.bootstrap, group_id=group, enable_auto_commit=False
    ) as consumer:
        # A leader that plans without a topic's metadata may never join again in kafka-python 3.0.12.
        wait_until(lambda: consumer.partitions_for_topic(topic), "the topic's metadata")
        wait_until(
            lambda: consumer.poll(100) is not None and len(consumer.assignment()) == 2, "an assignment"
        )
        record_samples_once(spark, settings_of(names.bootstrap), str(tmp_path), groups=[group])
    assert {row for _, row in samples(spark, tmp_path)} == {
        (group, topic, 0, 0, 4, -1),
        (group, topic, 1, 0, 0, -1),
    }


def test_stream_samples_at_an_interval_and_finds_new_groups(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    topic, other = names.topics(2, 1)
    prefix = names.group("found")
    tp = TopicPartition(topic, 0)
    commit(names.bootstrap, f"{prefix}-1", {tp: 0, TopicPartition(other, 0): 0})
    of_spark = f"spark-kafka-source-{prefix}-1"  # as the connector's own are, which commit nothing
    commit(names.bootstrap, of_spark, {tp: 0})
    with recorded(
        spark,
        settings_of(names.bootstrap),
        str(tmp_path),
        groups_like=f".*{prefix}-[0-9]",
        topics_like="topic-.*",
        every_s=1.0,
        timeout_s=30.0,
    ) as recording:
        more_looks(recording)
        write(names.bootstrap, {tp: 7})
        commit(names.bootstrap, f"{prefix}-1", {tp: 5})
        commit(names.bootstrap, f"{prefix}-2", {tp: 6})
        commit(names.bootstrap, f"{prefix}-other", {tp: 6})
        more_looks(recording)
        report = recording.stop()
    timed_rows = samples(spark, tmp_path)
    rows = [row for _, row in timed_rows]
    assert {row[:2] for row in rows} == {
        (f"{prefix}-1", topic),
        (f"{prefix}-1", other),
        (f"{prefix}-2", topic),
    }
    group_rows = [row[3:] for row in rows if row[:2] == (f"{prefix}-1", topic)]
    assert (group_rows[0], group_rows[-1]) == ((0, 0, 0), (0, 7, 5))
    assert group_rows == sorted(group_rows)
    # `stop` may interrupt a batch that has landed; it is not reported.
    assert len(rows) - report.rows in {0, 3}
    assert (report.groups, report.misses) == (2, {})
    assert report.looks >= 3
    assert max(Counter((when, *row[:3]) for when, row in timed_rows).values()) == 1


@pytest.mark.long
def test_restart_of_the_broker_does_not_end_the_stream(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (port,) = free_ports(1)
    data = tmp_path / "broker"
    broker = start_broker("jars", data_dir=data, port=port)
    try:
        names = FreshNames(broker.bootstrap)
        tp, group = TopicPartition(names.topic(), 0), names.group()
        write(broker.bootstrap, {tp: 3})
        commit(broker.bootstrap, group, {tp: 1})
        with recorded(
            spark,
            settings_of(broker.bootstrap),
            str(tmp_path / "root"),
            groups=[group],
            groups_like="group-.*",
            every_s=1.0,
            timeout_s=3.0,
        ) as recording:
            more_looks(recording)
            broker.stop()
            wait_until(lambda: warns_of(caplog, "groups cannot be listed"), "a look that fails", recording)
            missed = recording.report()
            broker = start_broker("jars", data_dir=data, port=port)
            write(broker.bootstrap, {tp: 4})
            wait_until(lambda: recording.report().rows > missed.rows, "a look that sees", recording)
            more_looks(recording)
            report = recording.stop()
    finally:
        broker.stop()
    rows = [row for _, row in samples(spark, tmp_path / "root")]
    assert len(rows) - report.rows in {0, 1}  # `stop` may interrupt a batch that has landed
    assert {row[:4] for row in rows} == {(group, tp.topic, 0, 0)}
    assert rows[0][4:] == (3, 1)
    assert rows[-1][4:] == (7, 1)
    assert any(group in line for line in warned(caplog))
    assert warns_of(caplog, "groups cannot be listed")


@pytest.mark.long
def test_groups_and_topics_without_authorization(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with guarded_broker() as broker:
        names = FreshNames(broker.bootstrap)
        seen, hidden = (TopicPartition(topic, 0) for topic in names.topics(1, 1))
        open_group, closed_group = names.group(), names.group()
        for group in (open_group, closed_group):
            commit(broker.bootstrap, group, {seen: 0, hidden: 0})
        broker.allow(ResourceType.GROUP, open_group)
        broker.allow(ResourceType.TOPIC, seen.topic)
        with recorded(
            spark,
            broker.config(),
            str(tmp_path),
            groups=[open_group, closed_group],
            every_s=1.0,
            timeout_s=20.0,
        ) as recording:
            more_looks(recording, 2)
            report = recording.stop()
        assert {row for _, row in samples(spark, tmp_path)} == {(open_group, seen.topic, 0, 0, 0, 0)}
        assert report.misses == {"not authorised to describe the group": report.looks}
        assert warned(caplog) == [
            f"no samples of group {closed_group!r}: not authorised to describe the group"
        ]

        wrong = broker.config("wrong-" + PASSWORD)
        for record in (record_samples, record_samples_once):
            with pytest.raises(PipelineError, match="denies access") as caught:
                record(spark, wrong, str(tmp_path), groups=[open_group])
            assert PASSWORD not in str(caught.value)


@pytest.mark.long
def test_recording_without_any_sample_is_an_error(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    settings, root = settings_of(names.bootstrap), str(tmp_path)
    with pytest.raises(PipelineError, match="nothing to sample: no such group"):
        record_samples_once(spark, settings, root, groups=[names.group()])
    with pytest.raises(PipelineError, match="nothing to sample: no group matches"):
        record_samples_once(spark, settings, root, groups_like=names.group())
    with pytest.raises(OptionError, match="groups"):
        record_samples_once(spark, settings, root)
    with pytest.raises(OptionError, match="'groups': expected a sequence of names"):
        record_samples_once(spark, settings, root, groups="billing")
    with pytest.raises(OptionError, match="timeout_s"):
        record_samples_once(spark, settings, root, groups=["g"], timeout_s=0)
    wrong: Any = "10"
    with pytest.raises(OptionError, match="every_s"):
        record_samples(spark, settings, root, groups=["g"], every_s=wrong)
    unreachable = settings_of(f"127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(PipelineError, match=r"^(no broker answers|the cluster did not answer)"):
        record_samples_once(spark, unreachable, root, groups=["g"], timeout_s=2.0)
    spark.dataSource.register(group_samples(unreachable))
    reader = spark.read.format(NAME).option("groups_like", ".*").option("timeout", "1")
    with pytest.raises(Exception, match=r"Lag\w+Error: (no broker answers|the cluster did not answer)"):
        reader.load().collect()
