"""Decodes ``__consumer_offsets`` on Spark, with ``offsets_decoder`` over Arrow batches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kafka_assignors.pipeline.record.offsets_decoder import (
    COLUMNS,
    FOR_GROUPS,
    Groups,
    decode_batches,
)
from kafka_assignors.pipeline.time import utc_date

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE = "offsets-topic"


def decode(records: DataFrame, groups: Groups | None = None) -> DataFrame:
    """Decode each record of ``__consumer_offsets``.

    Args:
        records: rows of Spark's Kafka source, with ``key``, ``value``, ``partition``, ``offset`` and
            ``timestamp``.  Read with ``read_committed``, without control records and aborted transactions.
        groups: the wanted groups.

    Returns:
        A row for each record.  ``kind`` is of ``KINDS``, null: unknown.  ``problem`` is of ``PROBLEMS``,
        null: none.  Commits and tombstones without a problem have ``time``, ``group``, ``topic``,
        ``partition`` and ``committed_offset``, -1: the commit was removed.  All rows have the position of the
        record: ``record_partition``, ``record_offset`` and ``record_time``.

        With ``groups`` there are two more columns.  ``landed``: whether the record is a commit or tombstone
        of a wanted group without a problem.  ``counted``: some rows have a text for
        ``offsets_counts.added_up``; together, the texts count all rows.
    """
    columns = COLUMNS if groups is None else f"{COLUMNS}, {FOR_GROUPS}"
    return records.select("key", "value", "partition", "offset", "timestamp").mapInArrow(
        partial(decode_batches, groups=groups), columns
    )


def commits(decoded: DataFrame) -> DataFrame:
    """Return commits and tombstones as ``SAMPLES``, without begin and end offsets."""
    return decoded.where(F.col("group").isNotNull()).select(
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
