"""What Kafka's own group coordinator writes into ``__consumer_offsets`` is read for what it is."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafka_assignors.pipeline.record.offsets_decoder import decode_batch
from tests.golden import load
from tests.support import offsets_oracle as oracle
from tests.support.offsets_records import commit_key, commit_value

JAVA = load("java_offsets")
COMMITS, TYPES = JAVA["commits"], JAVA["types"]


def read(entries: list[dict[str, Any]], tombstones: bool = False) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([bytes.fromhex(one["key"]) for one in entries], pa.binary()),
            "value": pa.array(
                [None if tombstones else bytes.fromhex(one["value"]) for one in entries], pa.binary()
            ),
            "partition": pa.array([0] * len(entries), pa.int32()),
            "offset": pa.array(range(len(entries)), pa.int64()),
            "timestamp": pa.array([0] * len(entries), pa.timestamp("us", "UTC")),
        }
    )
    found = decode_batch(batch)
    times = found.column("time").cast(pa.int64())
    rows: list[dict[str, Any]] = found.set_column(2, "time", times).to_pylist()
    return rows


def test_every_version_is_there() -> None:
    assert {case["version"] for case in COMMITS} == {0, 1, 2, 3, 4}
    assert {case["type"] for case in TYPES} == {0, 1, 2, *oracle.OTHER}


def test_commits_are_what_was_committed() -> None:
    for case, row in zip(COMMITS, read(COMMITS), strict=True):
        facts = [row[name] for name in ("group", "topic", "partition", "committed_offset", "time")]
        given = [case[name] for name in ("group", "topic", "partition", "offset")]
        assert (row["kind"], row["problem"]) == ("commit", None), case["name"]
        assert facts == [*given, case["commit_ms"] * 1000], case["name"]
    assert {(row["kind"], row["committed_offset"]) for row in read(COMMITS, tombstones=True)} == {
        ("tombstone", -1)
    }


def test_whatever_has_another_type_is_no_commit() -> None:
    """Of commits the coordinator's empty ones have no names, which is a problem; no others have any."""
    for tombstones in (False, True):
        rows = {case["type"]: row for case, row in zip(TYPES, read(TYPES, tombstones), strict=True)}
        assert {rows[kind]["problem"] for kind in (0, 1)} == {"key-name"}
        assert (rows[2]["kind"], rows[2]["problem"]) == ("group", None)
        others = {(rows[kind]["kind"], rows[kind]["problem"]) for kind in oracle.OTHER}
        assert others == {("other", None)}


@pytest.mark.parametrize("version", range(5))
def test_records_that_tests_pack_by_hand_are_javas(version: int) -> None:
    (case,) = (one for one in COMMITS if (one["name"], one["version"]) == ("metadata", version))
    key = commit_key(case["group"], case["topic"], case["partition"])
    value = commit_value(42, version=version, metadata="made by hand", commit_ms=case["commit_ms"], epoch=9)
    assert (key.hex(), value.hex()) == (case["key"], case["value"])


def test_the_oracle_reads_them_too() -> None:
    for case in COMMITS:
        found = oracle.decode(bytes.fromhex(case["key"]), bytes.fromhex(case["value"]))
        assert found == oracle.Commit(
            *(case[name] for name in ("group", "topic", "partition", "offset", "commit_ms"))
        ), case["name"]
