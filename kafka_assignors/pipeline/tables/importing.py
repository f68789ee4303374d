"""Imports samples of other programs, such as a demo or a monitoring system.

A line is a JSON object with the columns of ``SAMPLES`` except ``source`` and ``date``: ``time`` (ISO 8601
with its offset to UTC, or ``Z``), ``group``, ``topic``, ``partition``, and, if known, ``begin_offset``,
``end_offset``, ``committed_offset``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.landing import COLUMNS, read_samples, utc_date, write_samples, writers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SOURCE = "import"

_KEY = ("time", "group", "topic", "partition")
_GIVEN = tuple(name for name in COLUMNS if name not in ("source", "date"))
_LEAST = {"partition": 0, "begin_offset": 0, "end_offset": 0, "committed_offset": -1}
_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][.SSSSS][.SSSS][.SSS][.SS][.S]XXX"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of the imported lines.

    Attributes:
        read: lines read.
        written: new samples.
        known: lines whose time, group, topic and partition are those of an imported sample or of
            another line.
        problems: problem -> number of invalid lines.
    """

    read: int
    written: int
    known: int
    problems: Mapping[str, int]


def import_samples(
    spark: SparkSession, rows: str | Path | Iterable[Mapping[str, Any]], root: str
) -> ImportReport:
    """Add samples to those of writer ``import``, day by day.

    A sample is skipped if one of the same time, group, topic and partition was imported before.  So repeating
    an import changes nothing, or completes one that crashed.  Only one import may run at a time.

    Args:
        spark: the session.
        rows: a file of JSON lines (or a folder, or a pattern, as Spark takes them), or objects.
        root: folder of the pipeline.

    Raises:
        PipelineError: the input cannot be read; the input has lines, and none is valid; or the folder cannot
            be written.
    """
    with one_line("importing samples"):
        if isinstance(rows, (str, Path)):
            lines = spark.read.text(str(rows))
        else:
            lines = spark.createDataFrame(
                [(json.dumps(row, default=_as_text),) for row in rows], "value string"
            )
        parsed = lines.transform(parse_lines).persist()
        try:
            return _write_new(spark, parsed, root)
        finally:
            parsed.unpersist()


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def parse_lines(lines: DataFrame) -> DataFrame:
    """Parse samples from lines of JSON in ``value``; ``problem`` is null for valid ones."""
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
    """Detect a value of the wrong type: the field is not null, but its parsed value is."""
    present = F.array_contains(keys, name) & F.get_json_object("value", f"$.{name}").isNotNull()
    return F.when(present & F.col(f"given.{name}").isNull(), f"wrong {name}")


def _write_new(spark: SparkSession, parsed: DataFrame, root: str) -> ImportReport:
    ends = F.count("*").alias("lines"), F.min("date").alias("first"), F.max("date").alias("last")
    by_problem = {row.problem: row for row in parsed.groupBy("problem").agg(*ends).collect()}
    counts = {problem: row.lines for problem, row in by_problem.items()}
    good = counts.pop(None, 0)
    new = parsed.where(F.col("problem").isNull()).drop("problem").dropDuplicates(list(_KEY))
    if good and SOURCE in writers(spark, root):
        since = datetime.combine(by_problem[None].first, time(), timezone.utc)
        until = datetime.combine(by_problem[None].last, time(), timezone.utc) + timedelta(days=1)
        before = read_samples(spark, root, since, until, names=(SOURCE,)).select(*_KEY)
        new = new.join(before, on=list(_KEY), how="left_anti")
    new = new.persist()
    try:
        by_day = new.groupBy("date").count().orderBy("date").collect()
        # The model reads files in the order of writing, and would drop an earlier day that is written later.
        for day, _ in by_day:
            write_samples(new.where(F.col("date") == day), root, SOURCE)
    finally:
        new.unpersist()
    written = sum(count for _, count in by_day)
    if not good and counts:
        worst = max(counts, key=lambda problem: (counts[problem], problem))
        raise PipelineError(f"none of {sum(counts.values()):,} lines is a sample: {worst}")
    return ImportReport(good + sum(counts.values()), written, good - written, counts)
