"""Decodes what the broker keeps in ``__consumer_offsets``: each commit that a group ever made, and more.

A record's key begins with its type, its value with its version, 2 bytes each (Kafka's ``OffsetCommitKey``,
``OffsetCommitValue`` and the others, in the group coordinator's ``common/message``)::

    key     type 0, 1   group string, topic string, partition int32
    value   version 0   offset int64, metadata string, commit time int64
            1           ..., expiry int64
            2           as 0
            3           offset int64, leader epoch int32, metadata string, commit time int64
            4           as 3, with a compact string, and tagged fields at the end (0: the topic's id)

Without a value it is a tombstone: the commit is gone, deleted or expired.  Type 2 is the state of a classic
group; those after it are of consumer groups (KIP-848), share groups and streams groups.

Rules:
- Column expressions only: no row becomes a Python object.
- No record is an error, and none is guessed at: one that is not wholly as above has a ``problem``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

from kafka_assignors.spark.binary import int16, int32, int64, is_text, let, text, unsigned_varint, varint_bits
from kafka_assignors.spark.time import utc_date

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["KINDS", "PROBLEMS", "SOURCE", "commits", "decode", "problems"]

SOURCE = "offsets-topic"

KINDS = {
    "commit": "a commit",
    "tombstone": "a commit that is no longer",
    "group": "the state of a classic group",
    "other": "of a consumer group (KIP-848), share group or streams group",
}
"""What a record can be."""

PROBLEMS = {
    "no-key": "it has no key",
    "unknown-type": "its type is none that this package knows",
    "key-cut": "its key ends before it should",
    "key-length": "its key has a text of negative length",
    "key-text": "its key has a text that is not UTF-8",
    "key-name": "its key has an empty group or topic",
    "key-partition": "its key has a negative partition",
    "key-trailing": "its key goes on where it should end",
    "unknown-version": "its value has a version that this package does not know",
    "value-cut": "its value ends before it should",
    "value-length": "its value has a text of a length that cannot be",
    "value-text": "its value has a text that is not UTF-8",
    "value-offset": "its offset is below -1",
    "value-time": "its commit time is not in the years 1970 to 9999",
    "value-tags": "its tagged fields are not what they should be",
    "value-trailing": "its value goes on where it should end",
}
"""What can be wrong with a record, the first of these that applies."""

_COMMIT = (0, 1)
_GROUP = 2
_OTHER = (*range(3, 9), *range(10, 18), *range(19, 24))  # Kafka 4.1's CoordinatorRecordType
_LAST_VERSION = 4
_FLEXIBLE = 4  # the first version with a compact string and tagged fields
_WITH_EPOCH = 3
_LONGEST_TEXT = 0x7FFF
_LATEST_MS = 253_402_300_799_999  # the end of 9999; Spark's timestamps would overflow some time later
_TOPIC_ID, _UUID = 0, 16  # a tagged field, and its length


def decode(records: DataFrame) -> DataFrame:
    """What each record of ``__consumer_offsets`` says.

    Args:
        records: with ``key``, ``value``, ``partition``, ``offset`` and ``timestamp``, as Spark's Kafka source
            has them.  Control records and aborted transactions must not be among them: read committed.

    Returns:
        A row a record: ``kind`` (of ``KINDS``; null where not even that is known), ``problem`` (of
        ``PROBLEMS``; null: it is as it should be), and of commits and tombstones without a problem ``time``,
        ``group``, ``topic``, ``partition``, ``committed_offset`` (-1: no commit any more); where the record
        is: ``record_partition``, ``record_offset``, ``record_time``.
    """
    return (
        records.select(
            "key",
            "value",
            F.col("partition").alias("record_partition"),
            F.col("offset").alias("record_offset"),
            F.col("timestamp").alias("record_time"),
        )
        .transform(_with_key)
        .transform(_with_value)
        .transform(_with_problem)
        .select(F.inline(F.array(F.struct(*_decoded()))))
    )


def _decoded() -> list[Column | str]:
    """The columns of ``decode``.

    They go through ``inline``, as an array of the one row they are: a filter on a plain projection is moved
    below it, with each column replaced by what it is made of, and of these steps that is megabytes.
    """
    fine = F.col("problem").isNull() & _is_commit()
    facts = {
        "time": F.coalesce(F.timestamp_millis("commit_ms"), "record_time"),
        "group": F.col("group"),
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "committed_offset": F.coalesce("committed", F.lit(-1)),
    }
    return [
        *("kind", "problem"),
        *(F.when(fine, column).alias(name) for name, column in facts.items()),
        *("record_partition", "record_offset", "record_time"),
    ]


def commits(decoded: DataFrame) -> DataFrame:
    """The commits and tombstones as ``SAMPLES``; which offsets the log then had, they do not know."""
    return decoded.where(F.col("problem").isNull() & _is_commit()).select(
        "time",
        "group",
        "topic",
        "partition",
        F.lit(None).cast("bigint").alias("begin_offset"),
        F.lit(None).cast("bigint").alias("end_offset"),
        "committed_offset",
        F.lit(SOURCE).alias("source"),
        utc_date("time").alias("date"),
    )


def problems(decoded: DataFrame) -> DataFrame:
    """How many records have which ``problem``, and where the first of them is; no rows: all is well."""
    return (
        decoded.where(F.col("problem").isNotNull())
        .groupBy("problem")
        .agg(
            F.count("*").alias("records"),
            F.min_by(
                F.struct("record_partition", "record_offset"),
                F.struct("record_time", "record_partition", "record_offset"),
            ).alias("first"),
        )
        .select("problem", "records", "first.record_partition", "first.record_offset")
        .orderBy("problem")
    )


# --- the steps of decode: each needs what the one before has found out ---


def _is_commit() -> Column:
    return F.col("kind").isin("commit", "tombstone")


def _with_key(records: DataFrame) -> DataFrame:
    key = F.col("key")
    kind = F.col("type")
    return (
        records.withColumn("type", int16(key, F.lit(1)))
        .withColumn(
            "kind",
            F.when(kind.isin(*_COMMIT), F.when(F.col("value").isNull(), "tombstone").otherwise("commit"))
            .when(kind == _GROUP, "group")
            .when(kind.isin(*_OTHER), "other"),
        )
        .withColumn("group_length", F.when(kind.isin(*_COMMIT), int16(key, F.lit(3))))
        .withColumn("topic_at", F.col("group_length") + 7)
        .withColumn("topic_length", int16(key, F.col("topic_at") - 2))
        .withColumn("partition_at", F.col("topic_at") + F.col("topic_length"))
        .withColumn("partition", int32(key, F.col("partition_at")))
        .withColumn("group", text(key, F.lit(5), F.col("group_length")))
        .withColumn("topic", text(key, F.col("topic_at"), F.col("topic_length")))
    )


def _with_value(records: DataFrame) -> DataFrame:
    value = F.when(F.col("kind") == "commit", F.col("value"))
    version = F.col("version")
    metadata_at = F.when(version >= _WITH_EPOCH, 15).otherwise(11)
    compact_length, compact_size = unsigned_varint(F.col("metadata_bits"))
    flexible = version >= _FLEXIBLE
    after_times = F.col("time_at") + F.when(version == 1, 16).otherwise(8)
    return (
        records.withColumn("value", value)
        .withColumn("version", int16(F.col("value"), F.lit(1)))
        .withColumn("committed", int64(F.col("value"), F.lit(3)))
        .withColumn("metadata_bits", F.when(flexible, varint_bits(F.col("value"), F.lit(15))))
        .withColumn(
            "metadata_length",
            F.when(flexible, compact_length - 1).otherwise(int16(F.col("value"), metadata_at)),
        )
        .withColumn("metadata_at", metadata_at + F.when(flexible, compact_size).otherwise(2))
        .withColumn("time_at", F.col("metadata_at") + F.col("metadata_length"))
        .withColumn("commit_ms", int64(F.col("value"), F.col("time_at")))
        .withColumn("end", after_times)
        .withColumn("tag_bits", F.when(flexible, varint_bits(F.col("value"), F.col("end"))))
        .withColumn("end", F.when(flexible, _end_of_tags()).otherwise(F.col("end")))
    )


def _end_of_tags() -> Column:
    """The position behind the tagged fields; null if they are not well-formed."""
    data, at = F.col("value"), F.col("end")
    count, size = unsigned_varint(F.col("tag_bits"))

    def past(place: Column, _: Column) -> Column:
        """Behind the one field that begins at ``place``."""
        return let(varint_bits(data, place), lambda bits: past_tag(place, *unsigned_varint(bits)))

    def past_tag(place: Column, tag: Column, tag_size: Column) -> Column:
        return let(
            varint_bits(data, place + tag_size),
            lambda bits: past_length(place + tag_size, tag, *unsigned_varint(bits)),
        )

    def past_length(place: Column, tag: Column, length: Column, length_size: Column) -> Column:
        return F.when(
            (tag != _TOPIC_ID) | (length == _UUID),
            let(place + length_size + length, lambda end: F.when(end - 1 <= F.length(data), end)),
        )

    most = F.least(count, F.length(data))  # what claims to be more is cut off anyway
    none = F.shiftright(F.col("tag_bits"), 16) == 0  # the one byte that nearly all have
    return (
        F.when(none, at + 1)
        .when(count == 0, at + size)
        .otherwise(F.aggregate(F.sequence(F.lit(1), most), at + size, past))
    )


def _with_problem(records: DataFrame) -> DataFrame:
    return records.withColumn(
        "problem",
        F.when(F.col("key").isNull(), "no-key")
        .when(F.length("key") < 2, "key-cut")
        .when(F.col("kind").isNull(), "unknown-type")
        .when(
            _is_commit(),
            F.coalesce(_problem_of_key(), F.when(F.col("kind") == "commit", _problem_of_value())),
        ),
    )


def _problem_of_key() -> Column:
    key, group_length, topic_length = F.col("key"), F.col("group_length"), F.col("topic_length")
    return (
        F.when((group_length < 0) | (topic_length < 0), "key-length")
        .when(F.col("partition").isNull(), "key-cut")
        .when(F.length(key) > F.col("partition_at") + 3, "key-trailing")
        .when((group_length == 0) | (topic_length == 0), "key-name")
        .when(~(F.is_valid_utf8("group") & F.is_valid_utf8("topic")), "key-text")
        .when(F.col("partition") < 0, "key-partition")
    )


def _problem_of_value() -> Column:
    value, length = F.col("value"), F.col("metadata_length")
    return (
        F.when(F.col("version").isNull(), "value-cut")
        .when(~F.col("version").between(0, _LAST_VERSION), "unknown-version")
        .when(~F.coalesce(length.between(0, _LONGEST_TEXT), F.col("metadata_bits").isNull()), "value-length")
        .when(F.col("commit_ms").isNull(), "value-cut")
        .when((length > 0) & ~is_text(value, F.col("metadata_at"), length), "value-text")
        .when(F.col("committed") < -1, "value-offset")
        .when(~F.col("commit_ms").between(0, _LATEST_MS), "value-time")
        .when(F.col("end").isNull(), "value-tags")
        .when(F.col("end") - 1 > F.length(value), "value-cut")
        .when(F.col("end") - 1 < F.length(value), "value-trailing")
    )
