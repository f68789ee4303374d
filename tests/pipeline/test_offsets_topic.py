"""Decodes ``__consumer_offsets``: every version and every kind of damage, without a false row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_assignors.pipeline.record.offsets import WRITER, commits, decode
from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS, Groups
from tests.support import offsets_oracle as oracle
from tests.support.offsets_cases import BAD, GOOD, KEY, VALUE, Record
from tests.support.offsets_records import NOW_MS, commit_key

SEEN = datetime(2026, 11, 22, 12, 0, tzinfo=timezone.utc)


def records(spark: SparkSession, rows: Sequence[Record]) -> DataFrame:
    """Return records as the connector returns them, at offsets 0, 1, ... of partition 3."""
    return spark.createDataFrame(
        [(key, value, 3, offset, SEEN) for offset, (key, value) in enumerate(rows)],
        "key binary, value binary, partition int, offset long, timestamp timestamp",
    )


def decoded(spark: SparkSession, rows: Sequence[Record]) -> list[Any]:
    """Return the row of each record, in their order."""
    rows_of = decode(records(spark, rows), Groups(frozenset())).collect()
    decoded_rows = sorted(rows_of, key=lambda row: row.record_offset)
    assert [row.record_offset for row in decoded_rows] == list(range(len(rows)))
    return decoded_rows


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)


def utc(time: datetime) -> datetime:
    """Return a timestamp as PySpark returns it: local, without a zone."""
    return time.astimezone(timezone.utc)


@pytest.fixture(scope="module")
def known(spark: SparkSession) -> list[Any]:
    """The rows of ``GOOD`` and then of ``BAD``, decoded in one job."""
    return decoded(spark, [record for record, _ in (*GOOD.values(), *BAD.values())])


def test_good_records_are_read(known: list[Any]) -> None:
    for name, row in zip(GOOD, known, strict=False):
        (key, value), (offset, commit_ms) = GOOD[name]
        expected = oracle.decode(key, value)
        assert isinstance(expected, oracle.Commit)
        time = SEEN if commit_ms is None else moment(commit_ms)
        kind = "tombstone" if value is None else "commit"
        actual = (row.kind, row.problem, row.group, row.topic, row.partition, row.committed_offset)
        assert actual == (kind, None, expected.group, expected.topic, expected.partition, offset), name
        assert utc(row.time) == time, name


def test_bad_records_have_a_problem_and_no_values(known: list[Any]) -> None:
    for name, row in zip(BAD, known[len(GOOD) :], strict=True):
        assert row.problem == BAD[name][1], name
        assert (row.time, row.group, row.topic, row.partition, row.committed_offset) == (None,) * 5, name


def test_each_problem_is_tested() -> None:
    assert {problem for _, problem in BAD.values()} == PROBLEMS.keys()


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
    assert [str(row.date) for row in commit_rows] == [str(moment(NOW_MS).date()), "2026-11-22"]
