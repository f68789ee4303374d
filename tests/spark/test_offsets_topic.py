"""Decoding ``__consumer_offsets``: every version, every kind of damage, and never a row that is not so."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_assignors.spark.offsets_topic import KINDS, PROBLEMS, SOURCE, commits, decode, problems
from tests import offsets_oracle as oracle
from tests.offsets_records import NOW_MS, commit_key, commit_value, text, varint

SEEN = datetime(2026, 11, 22, 12, 0, tzinfo=timezone.utc)
UUID = bytes(range(16))
KEY = commit_key("billing", "orders", 7)
VALUE = commit_value(42)
Record = tuple[bytes | None, bytes | None]


def records(spark: SparkSession, rows: Sequence[Record]) -> DataFrame:
    """Records as the connector has them, at offsets 0, 1, ... of partition 3."""
    return spark.createDataFrame(
        [(key, value, 3, offset, SEEN) for offset, (key, value) in enumerate(rows)],
        "key binary, value binary, partition int, offset long, timestamp timestamp",
    )


def decoded(spark: SparkSession, rows: Sequence[Record]) -> list[Any]:
    """What is made of each, in the order given."""
    found = sorted(decode(records(spark, rows)).collect(), key=lambda row: row.record_offset)
    assert [row.record_offset for row in found] == list(range(len(rows)))
    return found


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)


def utc(time: datetime) -> datetime:
    """A timestamp as PySpark gives it: local, without a zone."""
    return time.astimezone(timezone.utc)


GOOD: dict[str, tuple[Record, tuple[int, int | None]]] = {
    **{
        f"version {version}": ((KEY, commit_value(42, version=version, metadata="m")), (42, NOW_MS))
        for version in range(5)
    },
    "the legacy type of key": ((commit_key("g", "t", 0, kind=0), commit_value(1, version=0)), (1, NOW_MS)),
    "offset 0": ((KEY, commit_value(0)), (0, NOW_MS)),
    "the largest offset": ((KEY, commit_value(2**63 - 1)), (2**63 - 1, NOW_MS)),
    "offset -1, a commit of nothing": ((KEY, commit_value(-1)), (-1, NOW_MS)),
    "the largest partition": ((commit_key("g", "t", 2**31 - 1), VALUE), (42, NOW_MS)),
    "long metadata, two bytes of length": ((KEY, commit_value(5, metadata="x" * 4096)), (5, NOW_MS)),
    "the longest metadata": ((KEY, commit_value(5, metadata="x" * 0x7FFF)), (5, NOW_MS)),
    "metadata that is not ASCII": ((KEY, commit_value(5, metadata="größe")), (5, NOW_MS)),
    "names that are not ASCII": ((commit_key("gruppe-ü", "topic-🙂", 1), VALUE), (42, NOW_MS)),
    "a topic's id": ((KEY, commit_value(5, tags=((0, UUID),))), (5, NOW_MS)),
    "tags of the future": (
        (KEY, commit_value(5, tags=((0, UUID), (1, b""), (300, b"y" * 200)))),
        (5, NOW_MS),
    ),
    "a tombstone": ((KEY, None), (-1, None)),
    "1970": ((KEY, commit_value(5, commit_ms=0)), (5, 0)),
    "the end of 9999": ((KEY, commit_value(5, commit_ms=oracle.LATEST_MS)), (5, oracle.LATEST_MS)),
}

BAD: dict[str, tuple[Record, str]] = {
    "null key": ((None, VALUE), "no-key"),
    "empty key": ((b"", VALUE), "key-cut"),
    "one byte": ((b"\0", VALUE), "key-cut"),
    "type 24": ((b"\0\x18" + KEY[2:], VALUE), "unknown-type"),
    "type 9, which was never given out": ((b"\0\x09", None), "unknown-type"),
    "type -1": ((b"\xff\xff" + KEY[2:], VALUE), "unknown-type"),
    "nothing but a type": ((KEY[:2], VALUE), "key-cut"),
    "a group that goes beyond the end": ((b"\0\1" + b"\x7f\xff" + KEY[4:], VALUE), "key-cut"),
    "a group of negative length": ((b"\0\1" + b"\xff\xff" + KEY[4:], VALUE), "key-length"),
    "a topic of negative length": ((b"\0\1" + text("g") + b"\x80\0" + KEY[-4:], VALUE), "key-length"),
    "a key without its last byte": ((KEY[:-1], VALUE), "key-cut"),
    "a key with one byte more": ((KEY + b"\0", VALUE), "key-trailing"),
    "no group": ((commit_key("", "t", 0), VALUE), "key-name"),
    "no topic": ((commit_key("g", "", 0), VALUE), "key-name"),
    "a group of other bytes": ((b"\0\1\0\1\xff" + text("t") + b"\0\0\0\0", VALUE), "key-text"),
    "half a surrogate": ((b"\0\1\0\3\xed\xa0\x80" + text("t") + b"\0\0\0\0", VALUE), "key-text"),
    "a letter in too many bytes": ((b"\0\1\0\2\xc0\x80" + text("t") + b"\0\0\0\0", VALUE), "key-text"),
    "a negative partition": ((commit_key("g", "t", -1), VALUE), "key-partition"),
    "a tombstone with a damaged key": ((KEY[:-1], None), "key-cut"),
    "empty value": ((KEY, b""), "value-cut"),
    "version 5": ((KEY, b"\0\5" + VALUE[2:]), "unknown-version"),
    "version -1": ((KEY, b"\xff\xff" + VALUE[2:]), "unknown-version"),
    "a value without its last byte": ((KEY, commit_value(1, version=3)[:-1]), "value-cut"),
    "version 1 without its expiry": ((KEY, commit_value(1, version=1)[:-1]), "value-cut"),
    "version 4 without its count of tags": ((KEY, VALUE[:-1]), "value-tags"),
    "metadata beyond the end": ((KEY, VALUE[:14] + varint(50) + VALUE[15:]), "value-cut"),
    "metadata that is null": ((KEY, VALUE[:14] + varint(0) + VALUE[15:]), "value-length"),
    "metadata of negative length": (
        (KEY, commit_value(1, version=2)[:10] + b"\xff\xff" + commit_value(1, version=2)[12:]),
        "value-length",
    ),
    "metadata too long for a string": ((KEY, commit_value(1, metadata="x" * 0x8000)), "value-length"),
    "a length without end": ((KEY, VALUE[:14] + b"\xff" * 5 + VALUE[15:]), "value-length"),
    "metadata of other bytes": ((KEY, commit_value(1, metadata="x").replace(b"x", b"\xff")), "value-text"),
    "offset -2": ((KEY, commit_value(-2)), "value-offset"),
    "before 1970": ((KEY, commit_value(1, commit_ms=-1)), "value-time"),
    "the year 10000": ((KEY, commit_value(1, commit_ms=oracle.LATEST_MS + 1)), "value-time"),
    "a time that would overflow": ((KEY, commit_value(1, commit_ms=2**63 - 1)), "value-time"),
    "a topic's id of 15 bytes": ((KEY, commit_value(1, tags=((0, UUID[1:]),))), "value-tags"),
    "a tag that goes beyond the end": ((KEY, commit_value(1, tags=((1, b"xyz"),))[:-1]), "value-tags"),
    "two million tags": ((KEY, VALUE[:-1] + b"\xff\xff\x7f"), "value-tags"),
    "one byte more": ((KEY, VALUE + b"\0"), "value-trailing"),
    "one byte more, old version": ((KEY, commit_value(1, version=2) + b"\0"), "value-trailing"),
}


@pytest.fixture(scope="module")
def known(spark: SparkSession) -> list[Any]:
    """What is made of ``GOOD`` and then of ``BAD``, in one job."""
    return decoded(spark, [record for record, _ in (*GOOD.values(), *BAD.values())])


def test_good_records_are_read(known: list[Any]) -> None:
    for name, row in zip(GOOD, known, strict=False):
        (key, value), (offset, commit_ms) = GOOD[name]
        expected = oracle.decode(key, value)
        assert isinstance(expected, oracle.Commit)
        time = SEEN if commit_ms is None else moment(commit_ms)
        kind = "tombstone" if value is None else "commit"
        found = (row.kind, row.problem, row.group, row.topic, row.partition, row.committed_offset)
        assert found == (kind, None, expected.group, expected.topic, expected.partition, offset), name
        assert utc(row.time) == time, name


def test_bad_records_say_what_is_wrong_and_nothing_else(known: list[Any]) -> None:
    for name, row in zip(BAD, known[len(GOOD) :], strict=True):
        assert row.problem == BAD[name][1], name
        assert (row.time, row.group, row.topic, row.partition, row.committed_offset) == (None,) * 5, name


def test_each_problem_is_tested() -> None:
    assert {problem for _, problem in BAD.values()} == PROBLEMS.keys()


def test_what_is_no_commit_is_told_apart(spark: SparkSession) -> None:
    others = [(b"\0" + bytes([kind]) + b"whatever", value) for kind in oracle.OTHER for value in (b"x", None)]
    groups: list[Record] = [(b"\0\2" + text("g"), b"state"), (b"\0\2" + text("g"), None)]
    found = decoded(spark, [*groups, *others])
    assert [row.kind for row in found] == ["group"] * 2 + ["other"] * len(others)
    assert {row.problem for row in found} == {None}
    assert {row.kind for row in found} <= KINDS.keys()
    assert commits(decode(records(spark, [*groups, *others]))).count() == 0


def test_commits_are_samples(spark: SparkSession) -> None:
    rows = commits(decode(records(spark, [(KEY, VALUE), (KEY, None), (None, None), (b"\0\2\0\1g", b"")])))
    found = sorted(rows.collect(), key=lambda row: -row.committed_offset)
    assert [row.committed_offset for row in found] == [42, -1]
    assert {(row.group, row.topic, row.partition, row.source) for row in found} == {
        ("billing", "orders", 7, SOURCE)
    }
    assert {(row.begin_offset, row.end_offset) for row in found} == {(None, None)}
    assert [str(row.date) for row in found] == [str(moment(NOW_MS).date()), "2026-11-22"]


def test_problems_are_counted_with_the_place_of_the_first(spark: SparkSession) -> None:
    rows = [(KEY, VALUE), (KEY, b""), (None, None), (KEY, VALUE[:5]), (KEY, None)]
    found = [tuple(row) for row in problems(decode(records(spark, rows))).collect()]
    assert found == [("no-key", 1, 3, 2), ("value-cut", 2, 3, 1)]


def damaged(source: random.Random, good: Sequence[Record]) -> Iterator[Record]:
    """Each record cut, flipped, grown and spliced at random."""
    for key, value in good:
        for _ in range(150):
            pair = [bytearray(key or b""), bytearray(value or b"")]
            for _ in range(source.choice((1, 1, 1, 2, 5))):
                data = source.choice(pair)
                at = source.randrange(len(data) + 1)
                match source.randrange(4):
                    case 0:
                        del data[at:]
                    case 1 if at < len(data):
                        data[at] ^= 1 << source.randrange(8)
                    case 2:
                        data[at:at] = source.randbytes(source.choice((1, 2, 8)))
                    case _ if at < len(data):
                        data[at] = source.choice((0, 0x7F, 0x80, 0xFF))
            yield bytes(pair[0]), None if value is None else bytes(pair[1])


def test_damage_is_never_an_error_and_never_another_row(spark: SparkSession) -> None:
    """The decoder gives a row exactly where the oracle does, and the same."""
    good = [record for record, _ in GOOD.values() if len(record[1] or b"") < 1000]
    rows = list(damaged(random.Random(20261122), good))
    survived = 0
    for (key, value), row in zip(rows, decoded(spark, rows), strict=True):
        try:
            expected: oracle.Commit | str | None = oracle.decode(key, value)
        except oracle.CorruptError:
            expected = None
        if isinstance(expected, oracle.Commit):
            survived += 1
            found = oracle.Commit(
                row.group,
                row.topic,
                row.partition,
                row.committed_offset,
                None if row.kind == "tombstone" else round((utc(row.time).timestamp()) * 1000),
            )
            assert (row.problem, found) == (None, expected), (key, value)
        elif expected is None:
            assert row.problem is not None, (key, value)
            assert row.group is None, (key, value)
        else:
            assert (row.kind, row.problem) == (expected, None), (key, value)
    assert survived > 50  # else it tests nothing but noise
