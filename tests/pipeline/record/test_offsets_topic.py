"""Commits in ``__consumer_offsets`` become samples; ``tests/unit`` decodes all versions and all damage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from pyspark.sql import DataFrame, SparkSession

from kafka_assignors.pipeline.record.offsets import WRITER, commits, decode
from kafka_assignors.pipeline.record.offsets_decoder import Groups
from tests.support.offsets.cases import KEY, VALUE, Record
from tests.support.offsets.records import NOW_MS, commit_key

SEEN = datetime(2026, 11, 22, 12, 0, tzinfo=timezone.utc)


def records(spark: SparkSession, rows: Sequence[Record]) -> DataFrame:
    """Return records as the connector returns them, at offsets 0, 1, ... of partition 3."""
    return spark.createDataFrame(
        [(key, value, 3, offset, SEEN) for offset, (key, value) in enumerate(rows)],
        "key binary, value binary, partition int, offset long, timestamp timestamp",
    )


def test_commits_are_samples(spark: SparkSession) -> None:
    others: list[Record] = [(commit_key("other", "orders", 7), VALUE), (None, None), (b"\0\2\0\1g", b"")]
    given = records(spark, [(KEY, VALUE), (KEY, None), *others])
    rows = commits(decode(given, Groups(frozenset(["billing"]))))
    commit_rows = sorted(rows.collect(), key=lambda row: -row.committed_offset)
    assert [row.committed_offset for row in commit_rows] == [42, -1]
    assert {(row.group, row.topic, row.partition, row.source) for row in commit_rows} == {
        ("billing", "orders", 7, WRITER)
    }
    assert {(row.begin_offset, row.end_offset) for row in commit_rows} == {(None, None)}
    committed = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=NOW_MS)
    # PySpark returns a local time without a zone.
    assert [row.time.astimezone(timezone.utc) for row in commit_rows] == [committed, SEEN]
    assert [row.date for row in commit_rows] == [committed.date(), SEEN.date()]


def test_each_record_is_decoded_in_its_own_row(spark: SparkSession) -> None:
    given = records(spark, [(KEY, VALUE), (None, None), (b"\0\2\0\1g", b"")])
    rows = sorted(decode(given, Groups(frozenset())).collect(), key=lambda row: row.record_offset)
    positions = [(row.record_partition, row.record_offset, row.kind, row.problem) for row in rows]
    assert positions == [(3, 0, "commit", None), (3, 1, None, "no-key"), (3, 2, "group", None)]
