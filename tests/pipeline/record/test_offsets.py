"""Commits recorded through the connector: problems are reported, and a checkpoint has one purpose."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from kafka_assignors.broker import development_broker
from kafka_assignors.broker.ports import free_ports
from kafka_assignors.cli.pipeline.recording import as_json, lines
from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline.record.offsets import record_offsets, record_offsets_once
from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS
from kafka_assignors.pipeline.record.samples import record_samples_once
from kafka_assignors.pipeline.run import PipelineReport
from kafka_assignors.pipeline.session import OFFSET_FETCHING
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit
from tests.pipeline.conftest import settings_of
from tests.support.broker.backend import own_backend
from tests.support.offsets.cases import BAD, GOOD, KEY, VALUE, Record
from tests.support.offsets.records import commit_key, commit_value, text


def send(bootstrap: str, topic: str, *records: Record) -> None:
    """Append raw records to the topic's last partition."""
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        last = max(producer.partitions_for(topic))
        for key, value in records:
            producer.send(topic, key=key, value=value, partition=last)
        producer.flush()


def test_problems_are_counted_and_the_first_of_each_is_logged(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    """Covers the connector, the stream, the report, the table and the JSON, on a topic like the broker's."""
    topic = names.topic(2)
    bad = [*BAD.values(), *BAD.values()]
    good: list[Record] = [(KEY, VALUE), (KEY, None), (b"\0\2" + text("g"), b"x"), (b"\0\3", b"x")]
    others: list[Record] = [(commit_key("other", "orders", 0), VALUE)]
    send(names.bootstrap, topic, *good, *others, *(record for record, _ in bad))
    report = record_offsets_once(
        spark, settings_of(names.bootstrap), str(tmp_path), groups=["billing"], topic=topic
    )
    assert report.records == len(good) + len(others) + len(bad)
    assert report.kinds == {"commit": 2, "tombstone": 1, "group": 1, "other": 1}
    assert report.landed == 2
    assert read_samples(spark, str(tmp_path)).count() == 2
    assert report.problems == Counter(problem for _, problem in bad)
    assert report.problems.keys() == PROBLEMS.keys()
    before = len(good) + len(others)
    first = {problem: before + n for n, (_, problem) in reversed(list(enumerate(BAD.values())))}
    assert report.first == {problem: (1, offset) for problem, offset in first.items()}

    report_lines = list(lines(PipelineReport(offsets=report)))
    for problem, count in report.problems.items():
        where = f"the first is at offset {first[problem]} of partition 1"
        assert f"  left out: {count:,} records, {PROBLEMS[problem]} ({where})" in report_lines
    told_json = json.loads(json.dumps(as_json(PipelineReport(offsets=report), "here")))["offsets_topic"]
    assert told_json["problems"] == report.problems
    assert told_json["first_problems"]["key-cut"] == {"partition": 1, "offset": first["key-cut"]}

    send(names.bootstrap, topic, (KEY, b""), (commit_key("g", "t", 0), VALUE))
    again = record_offsets_once(
        spark, settings_of(names.bootstrap), str(tmp_path), groups=["billing"], topic=topic
    )
    assert (again.records, again.problems) == (2, {"value-cut": 1}), "since it was started again"
    assert (report + again).first == report.first
    assert (report + again).problems["value-cut"] == report.problems["value-cut"] + 1


def test_batches_beyond_those_spark_keeps_are_counted(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    topic = names.topic(1)
    good = [record for record, _ in GOOD.values()]
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1")
    try:
        recording = record_offsets(
            spark, settings_of(names.bootstrap), str(tmp_path), groups_like=".*", topic=topic, every_s=0.1
        )
        try:
            for _ in range(3):
                send(names.bootstrap, topic, *good, (None, b"x"))
                recording.query.processAllAvailable()
            assert len(recording.query.recentProgress) <= 1
        finally:
            report = recording.stop()
    finally:
        spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")
    assert (report.records, report.landed) == (3 * (len(good) + 1), 3 * len(good))
    assert report.problems == {"no-key": 3}
    assert report.first == {"no-key": (0, len(good))}


def test_groups_are_selected_as_in_the_sampler(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    """A Python pattern matches the whole name.  An invalid selection fails before anything is read."""
    topic = names.topic(1)
    given = ["x-1", "x-12", "ax-1", "größe", "billing"]
    send(names.bootstrap, topic, *((commit_key(name, "t", 0), commit_value(1)) for name in given))
    settings = settings_of(names.bootstrap)
    record_offsets_once(
        spark, settings, str(tmp_path), groups=["billing"], groups_like=r"(?P<x>x)-\d|gr\w+", topic=topic
    )
    landed = {row["group"] for row in read_samples(spark, str(tmp_path)).collect()}
    assert landed == {"x-1", "größe", "billing"}

    unreachable = settings_of(f"127.0.0.1:{free_ports(1)[0]}")
    invalid = [([], "(", "groups_like"), ([], None, "groups"), ([""], None, "groups"), ("b", None, "groups")]
    for groups, like, option in invalid:
        with pytest.raises(OptionError) as caught:
            record_offsets(spark, unreachable, str(tmp_path / "never"), groups=groups, groups_like=like)
        assert caught.value.option == option
    assert not (tmp_path / "never").exists()


def test_setting_with_which_the_topic_reads_as_empty_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """The cluster is not asked for it."""
    spark.conf.set(OFFSET_FETCHING, "false")
    try:
        with pytest.raises(PipelineError, match=rf"as empty; set {OFFSET_FETCHING}=true"):
            record_offsets_once(spark, settings_of("127.0.0.1:1"), str(tmp_path), groups=["g"])
    finally:
        spark.conf.set(OFFSET_FETCHING, "true")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_unreachable_cluster_at_the_start_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    unreachable = settings_of(f"127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(PipelineError, match=r"^(no broker answers|the cluster did not answer)"):
        record_offsets(spark, unreachable, str(tmp_path), groups=["g"])
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_checkpoint_belongs_to_one_cluster_topic_and_selection_of_groups(
    spark: SparkSession, names: FreshNames, tmp_path: Path
) -> None:
    topic, group, root = names.topic(1), names.group(), str(tmp_path)
    send(names.bootstrap, topic, (commit_key(group, "t", 0), VALUE))
    commit(names.bootstrap, group, {TopicPartition(topic, 0): 0})
    settings = settings_of(names.bootstrap)
    which: dict[str, Any] = {"groups": ["b", group], "groups_like": "x.*", "topic": topic}
    assert record_offsets_once(spark, settings, root, **which).landed == 1
    record_samples_once(spark, settings, root, groups=[group])

    def refused(settings: dict[str, Any], message: str, **other: Any) -> None:
        before = sorted((file, file.stat().st_mtime_ns) for file in tmp_path.rglob("*"))
        with pytest.raises(PipelineError, match="take another folder") as caught:
            record_offsets_once(spark, settings, root, **{**which, **other})
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert sorted((file, file.stat().st_mtime_ns) for file in tmp_path.rglob("*")) == before

    words = f'"b", "{group}", like x.*'
    refused(settings, f'was made with groups {words}, not "b", like x.*', groups=["b"])
    refused(settings, f'was made with groups {words}, not "b", "{group}"', groups_like=None)
    refused(settings, f"was made with topic {topic}, not __consumer_offsets", topic="__consumer_offsets")
    with development_broker(own_backend()) as another:
        elsewhere = settings_of(another.bootstrap)
        FreshNames(another.bootstrap)
        refused(elsewhere, "was made with cluster ")
        commit_there = FreshNames(another.bootstrap).topic(1)
        commit(another.bootstrap, group, {TopicPartition(commit_there, 0): 0})
        with pytest.raises(PipelineError, match=r"was made with cluster \S+, not \S+: take another folder"):
            record_samples_once(spark, elsewhere, root, groups=[group])
    # The same groups, written differently.  The sampler keeps no state, so it accepts other groups.
    assert record_offsets_once(spark, settings, root, **{**which, "groups": [group, "b", "b"]}).records == 0
    with pytest.raises(PipelineError, match="no such group"):
        record_samples_once(spark, settings, root, groups=[names.group()])
