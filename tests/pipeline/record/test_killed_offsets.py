"""Recording from ``__consumer_offsets``, killed in the middle of batches, loses and repeats no commit."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.structs import OffsetAndMetadata
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kafka_assignors.pipeline.record.offsets import TOPIC, WRITER, record_offsets_once
from kafka_assignors.pipeline.tables.reading import read_samples
from tests.integration.conftest import FreshNames
from tests.integration.reading import all_records
from tests.pipeline.killing import Point, kill_at, meanwhile, program
from tests.pipeline.record.writer_points import Writer
from tests.support.offsets import oracle

GROUPS, PARTITIONS = 3, 2
EVERY_S = 0.03  # a commit of each group
OFFSETS = Writer(WRITER)


class Commit(NamedTuple):
    """A commit, as the broker keeps it and as it lands."""

    group: str
    partition: int
    offset: int
    ms: int


def committing(bootstrap: str, groups: list[str], topic: str) -> contextlib.AbstractContextManager[list[int]]:
    """Let each group commit offsets 0, 1, 2, ... of all partitions, many a second; yield those committed."""

    def work(over: threading.Event, made: list[int]) -> None:
        consumers = [
            KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
            for group in groups
        ]
        while not over.wait(EVERY_S):
            offset = OffsetAndMetadata(len(made), "", -1)
            for consumer in consumers:
                consumer.commit({KafkaPartition(topic, p): offset for p in range(PARTITIONS)})
            made.append(len(made))
        for consumer in consumers:
            consumer.close()

    return meanwhile(work)


def kept_by_the_broker(bootstrap: str, groups: list[str]) -> Counter[Commit]:
    """Return all commits of these groups in the topic, read and decoded without the package."""
    decoded = (oracle.decode(record.key, record.value) for record in all_records(bootstrap, TOPIC))
    return Counter(
        Commit(commit.group, commit.partition, commit.offset, commit.commit_ms or 0)
        for commit in decoded
        if isinstance(commit, oracle.Commit) and commit.group in groups
    )


@pytest.mark.long
def test_killed_recording_loses_no_commit_and_lands_none_twice(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    """Kill the stream as a batch begins, while its files are written, and before Spark records the batch.

    Files are merged all the time, so the kill comes at any point of a merge.
    """
    names = FreshNames(bootstrap)
    groups, topic = sorted(names.group() for _ in range(GROUPS)), names.topic(PARTITIONS)
    settings, root = {"bootstrap_servers": [bootstrap]}, tmp_path / "root"
    given = tmp_path / "settings.json"
    given.write_text(json.dumps(settings), encoding="utf-8")
    process = [
        "tests.pipeline.record.sampling_process",
        "record_commits",
        str(given),
        str(root),
        json.dumps(groups),
    ]
    with committing(bootstrap, groups, topic) as made:
        for point in (OFFSETS.written, OFFSETS.finished, OFFSETS.planned):
            kill_at(point, root, WRITER, lambda: program(root, *process))
            if point == OFFSETS.written:
                assert OFFSETS.in_no_list(root), "what was cut short is still lying there"
    assert made
    record_offsets_once(spark, settings, str(root), groups=groups)

    rows = read_samples(spark, str(root)).select(
        "group", "partition", "committed_offset", F.unix_millis("time")
    )
    landed = Counter(Commit(*row) for row in rows.collect())
    expected = kept_by_the_broker(bootstrap, groups)
    assert {(commit.group, commit.partition, commit.offset) for commit in expected} == {
        (group, p, offset) for group in groups for p in range(PARTITIONS) for offset in made
    }
    assert landed == expected
    assert OFFSETS.in_no_list(root), "no reader has read it"


@pytest.mark.parametrize("point", [OFFSETS.planned, OFFSETS.written, OFFSETS.finished])
def test_points_are_false_for_a_folder_without_a_batch(point: Point, tmp_path: Path) -> None:
    assert not point(tmp_path)
