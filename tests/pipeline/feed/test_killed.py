"""Model and feed are killed in the middle of batches; the topic ends up as it does without that.

The feed is written beside the model, so at a kill it may lack forecasts of batches that Spark knows to be
done.  A run begins with the newest forecasts of all landed rows, less those that the topic has: that makes up
for the missing ones, and writes nothing twice.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from pyspark.sql import SparkSession

from kafka_assignors.pipeline.feed.feed import create_feed
from kafka_assignors.pipeline.run import run_pipeline
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import load_feed
from tests.integration.conftest import FreshNames
from tests.pipeline.killing import done, kill_at, program, under_way
from tests.pipeline.model.points import MODEL, WRITER, landing, rows_of
from tests.pipeline.model.process import model_and_feed
from tests.pipeline.samples import Look, write_file

FILES = 60
MINUTES = 10  # of looks in a file
ALWAYS = 0  # the partition that is in all of them


class ForecastId(NamedTuple):
    """The key and time of a forecast, which identify it."""

    key: bytes
    time_ms: int


def files_of_samples() -> list[list[Look]]:
    """Return files of samples.  One partition is in all files; another one is in this file only."""
    return [
        [
            Look(60 * minute, (3 + p % 5) * minute, 2 * minute, partition=p)
            for minute in range(n * MINUTES, (n + 1) * MINUTES)
            for p in (ALWAYS, n + 1)
        ]
        for n in range(FILES)
    ]


class Reader:
    """Reads the feed from its first record, as members do.  ``landed`` and ``behind`` are points to kill."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest"
        )
        self._at = [KafkaPartition(topic, p) for p in self._consumer.partitions_for_topic(topic) or ()]
        self._consumer.assign(self._at)
        self._records: list[tuple[ForecastId, bytes]] = []

    def close(self) -> None:
        self._consumer.close()

    def records(self) -> list[tuple[ForecastId, bytes]]:
        """Return the id and the value of all records so far; records of a key are in order."""
        ends = self._consumer.end_offsets(self._at)
        while any(self._consumer.position(partition) < end for partition, end in ends.items()):
            for polled in self._consumer.poll(1000).values():
                self._records += (
                    (ForecastId(record.key, json.loads(record.value)["time_ms"]), record.value)
                    for record in polled
                )
        return self._records

    def landed(self, root: Path) -> bool:
        """Return whether the rows of a batch have landed and the topic has none of their forecasts."""
        due = newest(root, under_way(root, MODEL))
        return bool(due) and due.isdisjoint(forecast for forecast, _ in self.records())

    def behind(self, root: Path) -> bool:
        """Return whether the topic lacks forecasts of batches that Spark has recorded as done."""
        return not newest(root, range(done(root, MODEL))) <= {forecast for forecast, _ in self.records()}


def last_values(records: Iterable[tuple[ForecastId, bytes]]) -> dict[bytes, bytes]:
    """Return the last value of each key, as compaction keeps it."""
    return {forecast.key: value for forecast, value in records}


def newest(root: Path, batches: Iterable[int]) -> set[ForecastId]:
    """Return the newest forecast of each partition in the landed rows of these batches."""
    times: dict[bytes, int] = {}
    for batch in batches:
        for file in rows_of(root, batch):
            with contextlib.suppress(FileNotFoundError):  # done again, it is replaced
                for key, time_ms in foreseen(file):
                    times[key] = max(times.get(key, 0), time_ms)
    return {ForecastId(key, time_ms) for key, time_ms in times.items()}


@cache  # a batch that is done again has the same rows
def foreseen(file: Path) -> tuple[ForecastId, ...]:
    """Return the forecasts in a file of load."""
    rows = pq.ParquetFile(file).read(["time", "group", "topic", "partition", "forecast"])
    ms = rows["time"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    return tuple(
        ForecastId(
            load_feed.encode_key(row["group"], TopicPartition(row["topic"], row["partition"])), time_ms
        )
        for row, time_ms in zip(rows.to_pylist(), ms, strict=True)
        if row["forecast"] is not None
    )


@pytest.mark.long
def test_killed_feed_has_the_same_topic_in_the_end(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    """Killed with -9 when a batch had landed and was not fed, before and after Spark knew it to be done.

    No record is older than one of its key before it.
    """
    files = files_of_samples()

    def topic_of(root: Path) -> str:
        topic = FreshNames(bootstrap).group(f"feed-{root.name}")
        assert create_feed(spark, {"kafka.bootstrap.servers": bootstrap}, topic)
        return topic

    def finish(root: Path, topic: str) -> None:
        """Run to the end, and once more after the last file, so that a partition has two records at least."""
        for _ in range(2):
            run = model_and_feed(str(root), bootstrap, topic)
            run_pipeline(spark, run, stop=None, on_report=lambda _: None)
            write_file(root, WRITER, FILES - 1, files[-1])

    calm, rough = tmp_path / "calm", tmp_path / "rough"
    topic = topic_of(calm)
    for number, looks in enumerate(files[:-1]):
        write_file(calm, WRITER, number, looks)
    finish(calm, topic)
    with contextlib.closing(Reader(bootstrap, topic)) as undisturbed:
        expected = last_values(undisturbed.records())
    assert {load_feed.decode_key(key).partition.partition for key in expected} == set(range(FILES + 1))

    topic = topic_of(rough)
    process = ["tests.pipeline.model.process", str(rough), bootstrap, topic]
    write_file(rough, WRITER, 0, files[0])
    with contextlib.closing(Reader(bootstrap, topic)) as feed:
        with landing(rough, files[:-1]) as landed:
            for point, in_batch in ((feed.landed, True), (feed.behind, False)):
                kill_at(point, rough, MODEL, lambda: program(rough, *process), in_batch=in_batch)
        for number in range(len(landed), FILES - 1):
            write_file(rough, WRITER, number, files[number])
        finish(rough, topic)
        records = feed.records()

    assert last_values(records) == expected
    times: dict[bytes, list[int]] = defaultdict(list)
    for forecast, _ in records:
        times[forecast.key].append(forecast.time_ms)
    assert max(map(len, times.values())) > 1, "of one partition each run had something new"
    assert all(of_one == sorted(set(of_one)) for of_one in times.values()), "each is newer than those before"
