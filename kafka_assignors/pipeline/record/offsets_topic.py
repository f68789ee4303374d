"""Decodes ``__consumer_offsets`` on Spark: ``offsets_decoder`` over the Arrow batches it hands to Python."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kafka_assignors.pipeline.record.offsets_decoder import (
    COLUMNS,
    FOR_GROUPS,
    KINDS,
    PROBLEMS,
    Groups,
    decode_batches,
)
from kafka_assignors.pipeline.time import utc_date

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["KINDS", "PROBLEMS", "SOURCE", "commits", "decode"]

SOURCE = "offsets-topic"


def decode(records: DataFrame, groups: Groups | None = None) -> DataFrame:
    """What each record of ``__consumer_offsets`` says.

    Args:
        records: with ``key``, ``value``, ``partition``, ``offset`` and ``timestamp``, as Spark's Kafka source
            has them.  Control records and aborted transactions must not be among them: read committed.
        groups: those asked for.

    Returns:
        A row a record: ``kind`` (of ``KINDS``; null where not even that is known), ``problem`` (of
        ``PROBLEMS``; null: it is as it should be), and of commits and tombstones without a problem ``time``,
        ``group``, ``topic``, ``partition``, ``committed_offset`` (-1: no commit any more); where the record
        is: ``record_partition``, ``record_offset``, ``record_time``.  With ``groups`` also ``landed``,
        whether it is a commit or tombstone of theirs without a problem, and ``counted``: in some rows a text
        for ``offsets_counts.added_up``, together of all rows.
    """
    columns = COLUMNS if groups is None else f"{COLUMNS}, {FOR_GROUPS}"
    return records.select("key", "value", "partition", "offset", "timestamp").mapInArrow(
        partial(decode_batches, groups=groups), columns
    )


def commits(decoded: DataFrame) -> DataFrame:
    """The commits and tombstones as ``SAMPLES``; which offsets the log then had, they do not know."""
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
