"""Takes over samples that something else recorded: a demo's run, a monitoring system's export.

A line is a JSON object with the columns of ``SAMPLES`` but for ``source`` and ``date``: ``time`` (ISO 8601
with its offset to UTC, or ``Z``), ``group``, ``topic``, ``partition``, and, where known, ``begin_offset``,
``end_offset``, ``committed_offset``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.landing import COLUMNS, read_samples, write_samples, writers
from kafka_assignors.pipeline.time import utc_date

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["SOURCE", "ImportReport", "import_samples", "parse_lines"]

SOURCE = "import"

_KEY = ("time", "group", "topic", "partition")
_GIVEN = tuple(name for name in COLUMNS if name not in ("source", "date"))
_LEAST = {"partition": 0, "begin_offset": 0, "end_offset": 0, "committed_offset": -1}
_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][.SSSSS][.SSSS][.SSS][.SS][.S]XXX"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of the lines.

    Attributes:
        read: how many there were.
        written: new samples.
        known: lines whose sample (time, group, topic, partition) was there before, or came twice.
        problems: what is wrong with the others, and how many have it.
    """

    read: int
    written: int
    known: int
    problems: Mapping[str, int]


def import_samples(
    spark: SparkSession, rows: str | Path | Iterable[Mapping[str, Any]], root: str
) -> ImportReport:
    """Add samples to those of writer ``import``.

    The same again changes nothing, and after a crash the same again completes it: what is there already, by
    time, group, topic and partition, is left out.  One import at a time.

    Args:
        spark: the session.
        rows: a file of JSON lines (or a folder, or a pattern, as Spark takes them), or objects.
        root: the pipeline's folder.

    Raises:
        PipelineError: it cannot be read or written.  A line that is wrong is no error: it is counted.
    """
    with one_line("importing samples"):
        if isinstance(rows, (str, Path)):
            lines = spark.read.text(str(rows))
        else:
            lines = spark.createDataFrame([(json.dumps(row, default=str),) for row in rows], "value string")
        parsed = lines.transform(parse_lines).persist()
        try:
            return _write_new(spark, parsed, root)
        finally:
            parsed.unpersist()


def parse_lines(lines: DataFrame) -> DataFrame:
    """Samples out of lines of JSON in ``value``, and ``problem``, null where there is none."""
    text = ", ".join(f"{name} {'string' if name == 'time' else COLUMNS[name]}" for name in _GIVEN)
    given = F.from_json("value", text)
    keys = F.json_object_keys("value")
    unknown = F.array_except(keys, F.array(*(F.lit(name) for name in (*_GIVEN, "source", "date"))))
    time = F.try_to_timestamp(F.col("given.time"), F.lit(_TIME))
    return (
        lines.where(F.trim("value") != "")
        .withColumn("given", given)
        .withColumn("at", time)
        .select(
            F.col("at").alias("time"),
            *(F.col(f"given.{name}").alias(name) for name in _GIVEN if name != "time"),
            F.lit(SOURCE).alias("source"),
            utc_date("at").alias("date"),
            F.coalesce(
                F.when(keys.isNull(), "no JSON object"),
                F.when(F.size(unknown) > 0, "unknown field"),
                *(_wrong(name, keys) for name in _GIVEN),
                *(F.when(F.col(f"given.{name}").isNull(), f"no {name}") for name in _KEY),
                F.when(F.col("at").isNull(), "wrong time"),
                F.when(F.col("given.topic") == "", "no topic"),
                *(F.when(F.col(f"given.{name}") < least, f"wrong {name}") for name, least in _LEAST.items()),
            ).alias("problem"),
        )
    )


def _wrong(name: str, keys: Column) -> Column:
    """What is there, is not null, and yet reads as null is of the wrong type."""
    there = F.array_contains(keys, name) & F.get_json_object("value", f"$.{name}").isNotNull()
    return F.when(there & F.col(f"given.{name}").isNull(), f"wrong {name}")


def _write_new(spark: SparkSession, parsed: DataFrame, root: str) -> ImportReport:
    counts = {row["problem"]: row["count"] for row in parsed.groupBy("problem").count().collect()}
    good = counts.pop(None, 0)
    fine = parsed.where(F.col("problem").isNull()).drop("problem").dropDuplicates(list(_KEY))
    if SOURCE in writers(spark, root):
        before = read_samples(spark, root).where(F.col("source") == SOURCE).select(*_KEY)
        fine = fine.join(before, on=list(_KEY), how="left_anti")
    fine = fine.persist()
    try:
        written = fine.count()
        if written:
            write_samples(fine.repartition("date"), root, SOURCE)
    finally:
        fine.unpersist()
    if not good and counts:
        worst = max(counts, key=lambda problem: (counts[problem], problem))
        raise PipelineError(f"none of {sum(counts.values()):,} lines is a sample: {worst}")
    return ImportReport(good + sum(counts.values()), written, good - written, counts)
