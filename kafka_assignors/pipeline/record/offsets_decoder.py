"""Decodes records of ``__consumer_offsets``, an Arrow batch at a time.  Pure.

A record's key begins with its type, its value with its version, 2 bytes each (Kafka's ``OffsetCommitKey``,
``OffsetCommitValue`` and the others, in the group coordinator's ``common/message``)::

    key     type 0, 1   group string, topic string, partition int32
    value   version 0   offset int64, metadata string, commit time int64
            1           ..., expiry int64
            2           as 0
            3           offset int64, leader epoch int32, metadata string, commit time int64
            4           as 3, with a compact string, and tagged fields at the end (0: the topic's id)

A key of type 0 or 1 without a value is a tombstone: the commit was deleted or has expired.  Type 2 is the
state of a classic group.  Higher types are of consumer groups (KIP-848), share groups and streams groups.

Rules:
- Rows are processed as arrays: no row becomes a Python object.  One exception: if one group, topic or
  metadata of a batch is not UTF-8, Python decodes all texts of that field in the batch.
- No record raises an error, and no value is guessed: a record that differs from the above has a ``problem``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from re import Pattern
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_assignors.pipeline.record.byte_column import ByteColumn
from kafka_assignors.pipeline.record.own_groups import selects

if TYPE_CHECKING:
    from kafka_assignors.pipeline.record.byte_column import Ints, Mask

KINDS = ("commit", "tombstone", "group", "other")
"""Kinds of records: a tombstone removes a commit, ``group`` is the state of a classic group (type 2)."""

PROBLEMS = {
    "no-key": "it has no key",
    "key-cut": "its key ends before it should",
    "unknown-type": "its type is unknown to this package",
    "key-length": "its key has a text of negative length",
    "key-trailing": "its key has bytes after its end",
    "key-name": "its key has an empty group or topic",
    "key-text": "its key has a text that is not UTF-8",
    "key-partition": "its key has a negative partition",
    "value-cut": "its value ends before it should",
    "unknown-version": "the version of its value is unknown to this package",
    "value-length": "its value has a text of an impossible length",
    "value-text": "its value has a text that is not UTF-8",
    "value-offset": "its offset is below -1",
    "value-time": "its commit time is not in the years 1970 to 9999",
    "value-tags": "its tagged fields are malformed",
    "value-trailing": "its value has bytes after its end",
}
"""Problems of records -> description.  A record gets its first problem; those of the key come first."""

COLUMNS = """
    kind string, problem string, time timestamp, group string, topic string, partition int,
    committed_offset bigint, record_partition int, record_offset bigint, record_time timestamp,
    landed boolean, counted string
"""
"""Columns of ``decode_batch``, as Spark's DDL; `offsets.decode` describes them."""

_CODES = {name: code for code, name in enumerate(PROBLEMS, start=1)}
_KIND_NAMES = (None, *KINDS)  # by code
_COMMIT, _TOMBSTONE, _GROUP, _OTHER = range(1, 5)
_KIND_OF_TYPE = np.zeros(24, np.int64)  # Kafka 4.1's CoordinatorRecordType
_KIND_OF_TYPE[[0, 1]] = _COMMIT
_KIND_OF_TYPE[2] = _GROUP
_KIND_OF_TYPE[[*range(3, 9), *range(10, 18), *range(19, 24)]] = _OTHER

_LAST_VERSION = 4  # newest known version of a commit's value
_FLEXIBLE = 4  # the first version with a compact string and tagged fields
_WITH_EPOCH = 3
_WITH_EXPIRY = 1  # the only version with an expiry time
_LONGEST_TEXT = 0x7FFF
_LATEST_MS = 253_402_300_799_999  # the end of 9999; Spark's timestamps overflow later
_TOPIC_ID, _UUID = 0, 16  # the tagged field with the topic's id, and its length in bytes
_MOST_TAGS = 1000  # each takes a pass over the records; Kafka writes one


@dataclass(frozen=True, slots=True)
class Groups:
    """The wanted groups."""

    names: frozenset[str]
    like: Pattern[str] | None = None  # selects more groups, see ``own_groups``

    def among(self, column: Any) -> Any:
        """Return which rows are of wanted groups; a null is of none.  Each distinct name is matched once."""
        like, names = self.like, column.drop_null().unique().to_pylist()
        matching = [] if like is None else [name for name in names if selects(like, name)]
        return pc.is_in(column, pa.array([*self.names, *matching], pa.string()))


def decode_batch(batch: Any, groups: Groups) -> Any:
    """Decode each record of a batch with ``key``, ``value``, ``partition``, ``offset`` and ``timestamp``.

    Returns:
        A batch with ``COLUMNS`` and a row for each record; the first row has the counts of all rows.
    """
    key, value = ByteColumn(batch.column("key")), ByteColumn(batch.column("value"))
    problems = _Problems(len(batch))
    kind = _kinds(key, value.valid, problems)
    is_tombstone = kind == _TOMBSTONE
    is_commit = (kind == _COMMIT) | is_tombstone
    group, topic, partition = _keys(key, is_commit, problems)
    committed, commit_ms = _values(value, kind == _COMMIT, problems)
    is_valid = is_commit & problems.has_none

    record_time = batch.column("timestamp")
    commit_time = pa.array(commit_ms * 1000, mask=~is_valid).cast(record_time.type)
    group = pc.if_else(pa.array(is_valid), group, None)
    columns = {
        "kind": pa.array(_KIND_NAMES, pa.string()).take(pa.array(kind)),
        "problem": pa.array((None, *PROBLEMS), pa.string()).take(pa.array(problems.codes)),
        "time": pc.if_else(pa.array(is_tombstone & is_valid), record_time, commit_time),
        "group": group,
        "topic": pc.if_else(pa.array(is_valid), topic, None),
        "partition": pa.array(partition, pa.int32(), mask=~is_valid),
        "committed_offset": pa.array(np.where(is_tombstone, -1, committed), mask=~is_valid),
        "record_partition": batch.column("partition"),
        "record_offset": batch.column("offset"),
        "record_time": record_time,
        "landed": groups.among(group),
    }
    decoded = pa.RecordBatch.from_pydict(columns)
    counted = pa.concat_arrays([pa.array([_counted(decoded)]), pa.nulls(len(batch), pa.string())])
    return decoded.append_column("counted", counted[: len(batch)])


def _counted(decoded: Any) -> str:
    """Return the counts of a decoded batch as JSON, so that Spark needs only one aggregate.

    An aggregate for each kind and problem would cost more than all other work, because Spark plans and
    compiles the aggregates again for each batch of a stream.  Times are in microseconds since 1970.
    """
    problem, landed = decoded.column("problem"), decoded.column("landed")
    times = pc.min_max(decoded.column("time").filter(landed).cast(pa.int64())).as_py()
    position = ["record_time", "record_partition", "record_offset"]
    bad = decoded.select(["problem", *position]).filter(problem.is_valid())
    bad = bad.sort_by([(name, "ascending") for name in position])
    problems = _count_of_each(bad.column("problem"))
    rows = {name: bad.column("problem").index(name).as_py() for name in problems}
    positions = [bad.column(name).cast(pa.int64()) for name in position]
    counts = {
        "records": len(decoded),
        "kinds": _count_of_each(decoded.column("kind").filter(problem.is_null())),
        "problems": problems,
        "first": {name: [column[row].as_py() for column in positions] for name, row in rows.items()},
        "landed": landed.true_count,
        "since": times["min"],
        "until": times["max"],
    }
    return json.dumps(counts)


def _count_of_each(names: Any) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in names.value_counts().to_pylist()}


class _Problems:
    """The first problem of each row."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int8)

    def add(self, mask: Mask, problem: str) -> None:
        """Set the problem of rows that have none yet."""
        if mask.any():
            self.codes[mask & (self.codes == 0)] = _CODES[problem]

    @property
    def has_none(self) -> Mask:
        mask: Mask = self.codes == 0
        return mask


def _kinds(key: ByteColumn, has_value: Mask, problems: _Problems) -> Ints:
    """Return the index in `_KIND_NAMES` of the kind of each row; 0: unknown."""
    number, is_known = key.number(2, 0)
    is_listed = is_known & (number >= 0) & (number < len(_KIND_OF_TYPE))
    kind = np.where(is_listed, _KIND_OF_TYPE[np.where(is_listed, number, 0)], 0)
    problems.add(~key.valid, "no-key")
    problems.add(~is_known, "key-cut")
    problems.add(kind == 0, "unknown-type")
    return np.where((kind == _COMMIT) & ~has_value, _TOMBSTONE, kind)


def _keys(key: ByteColumn, is_commit: Mask, problems: _Problems) -> tuple[Any, Any, Ints]:
    """Return group, topic and partition of each row; null and 0 if unknown."""
    group_length, has_group = key.number(2, 2)
    topic_at = group_length + 6
    topic_length, has_topic = key.number(2, topic_at - 2)
    end = topic_at + topic_length
    partition, has_partition = key.number(4, end)
    has_topic &= has_group
    has_partition &= has_topic

    is_negative = (has_group & (group_length < 0)) | (has_topic & (topic_length < 0))
    problems.add(is_commit & is_negative, "key-length")
    problems.add(is_commit & ~has_partition, "key-cut")
    problems.add(is_commit & (key.size > end + 4), "key-trailing")
    problems.add(is_commit & ((group_length == 0) | (topic_length == 0)), "key-name")
    is_whole = is_commit & problems.has_none
    group = key.texts(4, group_length, is_whole)
    topic = key.texts(topic_at, topic_length, is_whole)
    problems.add(is_whole & np.asarray(pc.or_(group.is_null(), topic.is_null())), "key-text")
    problems.add(is_commit & (partition < 0), "key-partition")
    return group, topic, partition


def _values(value: ByteColumn, is_commit: Mask, problems: _Problems) -> tuple[Ints, Ints]:
    """Return committed offset and commit time (ms) of each row; 0 if unknown."""
    version, has_version = value.number(2, 0)
    is_flexible = has_version & (version >= _FLEXIBLE)
    committed, has_committed = value.number(8, 2)
    metadata_at = np.where(version >= _WITH_EPOCH, 14, 10)
    length, has_length = value.number(2, metadata_at)
    compact, size, begun, ended = value.varint(metadata_at)
    length = np.where(is_flexible, np.where(ended, compact - 1, -1), length)
    has_length = np.where(is_flexible, begun, has_length)
    text_at = metadata_at + np.where(is_flexible, size, 2)
    time_at = text_at + length
    commit_ms, has_time = value.number(8, time_at)

    problems.add(is_commit & ~has_version, "value-cut")
    problems.add(is_commit & ((version < 0) | (version > _LAST_VERSION)), "unknown-version")
    problems.add(is_commit & has_length & ((length < 0) | (length > _LONGEST_TEXT)), "value-length")
    problems.add(is_commit & ~(has_committed & has_length & has_time), "value-cut")
    has_text = is_commit & problems.has_none & (length > 0)
    metadata = value.texts(text_at, length, has_text)
    problems.add(has_text & np.asarray(metadata.is_null()), "value-text")
    problems.add(is_commit & (committed < -1), "value-offset")
    problems.add(is_commit & ((commit_ms < 0) | (commit_ms > _LATEST_MS)), "value-time")
    end = time_at + np.where(version == _WITH_EXPIRY, 16, 8)
    rows = np.flatnonzero(is_commit & problems.has_none & is_flexible)
    end[rows], well_formed = _end_of_tags(value.rows(rows), end[rows])
    problems.codes[rows[~well_formed]] = _CODES["value-tags"]
    problems.add(is_commit & (end > value.size), "value-cut")
    problems.add(is_commit & (end < value.size), "value-trailing")
    return committed, np.where(problems.has_none, commit_ms, 0)


def _end_of_tags(value: ByteColumn, at: Ints) -> tuple[Ints, Mask]:
    """Return the position after the tagged fields that begin at ``at``, and which rows are well-formed."""
    left, size, _, is_well_formed = value.varint(at)
    is_well_formed = is_well_formed & (left <= _MOST_TAGS)
    end = at + size
    rows = np.flatnonzero(is_well_formed & (left > 0))
    while len(rows):
        unfinished = value.rows(rows)
        tag, tag_size, _, has_tag = unfinished.varint(end[rows])
        length, length_size, _, has_length = unfinished.varint(end[rows] + tag_size)
        end[rows] += tag_size + length_size + length
        is_inside = (end[rows] <= unfinished.size) & ((tag != _TOPIC_ID) | (length == _UUID))
        is_sound = has_tag & has_length & is_inside
        is_well_formed[rows] = is_sound
        left[rows] -= 1
        rows = rows[is_sound & (left[rows] > 0)]
    return end, is_well_formed
