"""Records that Kafka's group coordinator writes into ``__consumer_offsets`` are decoded."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafka_assignors.pipeline.record.offsets_decoder import Groups, decode_batch
from tests.golden import load
from tests.support.offsets import oracle
from tests.support.offsets.records import commit_key, commit_value

JAVA = load("java_offsets")
COMMITS, TYPES = JAVA["commits"], JAVA["types"]


def read(entries: list[dict[str, Any]], tombstones: bool = False) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([bytes.fromhex(entry["key"]) for entry in entries], pa.binary()),
            "value": pa.array(
                [None if tombstones else bytes.fromhex(entry["value"]) for entry in entries], pa.binary()
            ),
            "partition": pa.array([0] * len(entries), pa.int32()),
            "offset": pa.array(range(len(entries)), pa.int64()),
            "timestamp": pa.array([0] * len(entries), pa.timestamp("us", "UTC")),
        }
    )
    decoded = decode_batch(batch, Groups(frozenset()))
    times = decoded.column("time").cast(pa.int64())
    rows: list[dict[str, Any]] = decoded.set_column(2, "time", times).to_pylist()
    return rows


def test_every_version_and_type_has_a_case() -> None:
    assert {case["version"] for case in COMMITS} == {0, 1, 2, 3, 4}
    assert {case["type"] for case in TYPES} == {0, 1, 2, *oracle.OTHER}


def test_decoded_commits_equal_the_committed_offsets() -> None:
    for case, row in zip(COMMITS, read(COMMITS), strict=True):
        facts = [row[name] for name in ("group", "topic", "partition", "committed_offset", "time")]
        given = [case[name] for name in ("group", "topic", "partition", "offset")]
        assert (row["kind"], row["problem"]) == ("commit", None), case["name"]
        assert facts == [*given, case["commit_ms"] * 1000], case["name"]
    assert {(row["kind"], row["committed_offset"]) for row in read(COMMITS, tombstones=True)} == {
        ("tombstone", -1)
    }


def test_records_of_other_types_are_no_commits() -> None:
    """The coordinator's empty commits have no names, which is a problem; no other type has one."""
    for tombstones in (False, True):
        rows = {case["type"]: row for case, row in zip(TYPES, read(TYPES, tombstones), strict=True)}
        assert {rows[kind]["problem"] for kind in (0, 1)} == {"key-name"}
        assert (rows[2]["kind"], rows[2]["problem"]) == ("group", None)
        others = {(rows[kind]["kind"], rows[kind]["problem"]) for kind in oracle.OTHER}
        assert others == {("other", None)}


@pytest.mark.parametrize("version", range(5))
def test_records_packed_by_hand_equal_javas(version: int) -> None:
    (case,) = (c for c in COMMITS if (c["name"], c["version"]) == ("metadata", version))
    key = commit_key(case["group"], case["topic"], case["partition"])
    value = commit_value(42, version=version, metadata="made by hand", commit_ms=case["commit_ms"], epoch=9)
    assert (key.hex(), value.hex()) == (case["key"], case["value"])


def test_the_oracle_decodes_javas_records() -> None:
    for case in COMMITS:
        commit = oracle.decode(bytes.fromhex(case["key"]), bytes.fromhex(case["value"]))
        assert commit == oracle.Commit(
            *(case[name] for name in ("group", "topic", "partition", "offset", "commit_ms"))
        ), case["name"]
