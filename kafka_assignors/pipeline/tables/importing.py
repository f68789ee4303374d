"""Imports samples of other programs, such as a demo or a monitoring system.

A line is a JSON object with the columns of ``SAMPLES`` except ``source`` and ``date``: ``time`` (such as
``2026-11-22T23:30:00.25+01:00``, or with ``Z`` for UTC; at most six decimals; not before 1970), ``group``,
``topic``, ``partition``, and, if known, ``begin_offset``, ``end_offset``, ``committed_offset``.
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
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.tables.landing import write_samples
from kafka_assignors.pipeline.tables.reading import read_samples, writers
from kafka_assignors.pipeline.tables.schemas import SAMPLE_COLUMNS, utc_date

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE = "import"

_KEY = ("time", "group", "topic", "partition")
_GIVEN = tuple(name for name in SAMPLE_COLUMNS if name not in ("source", "date"))
_LEAST = {"partition": 0, "begin_offset": 0, "end_offset": 0, "committed_offset": -1}
_TIME = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][.SSSSS][.SSSS][.SSS][.SS][.S]XXX"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of the imported lines.

    Attributes:
        read: lines read.
        written: new samples.
        known: valid lines that were not written, because a sample of the same time, group, topic and
            partition was imported before, or is in another line of this import.
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
    with as_pipeline_error("importing samples"):
        if isinstance(rows, (str, Path)):
            lines = spark.read.text(str(rows))
        else:
            lines = spark.createDataFrame(
                [(json.dumps(row, default=_as_json),) for row in rows], "value string"
            )
        parsed = lines.transform(parse_lines).persist()
        try:
            return _write_new(spark, parsed, root)
        finally:
            parsed.unpersist()


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else str(value)  # a number of numpy, or any other object


def parse_lines(lines: DataFrame) -> DataFrame:
    """Parse samples from lines of JSON in ``value``; ``problem`` is null for valid ones."""
    schema = ", ".join(f"{name} {'string' if name == 'time' else SAMPLE_COLUMNS[name]}" for name in _GIVEN)
    keys = F.json_object_keys("value")
    unknown = F.array_except(keys, F.array(*(F.lit(name) for name in (*_GIVEN, "source", "date"))))
    text_of = {name: F.get_json_object("value", f"$.{name}") for name in _GIVEN}
    problem = F.coalesce(
        F.when(keys.isNull(), "no JSON object"),
        F.when(F.size(unknown) > 0, "unknown field"),
        # A value of the wrong type: the field is not null, but its parsed value is.
        *(F.when(text_of[name].isNotNull() & F.col(name).isNull(), f"wrong {name}") for name in _GIVEN),
        *(F.when(F.col(name).isNull(), f"no {name}") for name in _KEY),
        F.when(F.col("at").isNull(), "wrong time"),
        F.when(F.col("topic") == "", "no topic"),
        *(F.when(F.col(name) < least, f"wrong {name}") for name, least in _LEAST.items()),
    )
    return (
        lines.where(F.trim("value") != "")
        .select("value", F.from_json("value", schema).alias("given"))
        .select("value", "given.*")
        .withColumn("at", F.try_to_timestamp("time", F.lit(_TIME)))
        # Python cannot pass or take all dates that Spark has, such as 0001-01-01, Go's time 0.
        .withColumn("at", F.when(F.year("at").between(1970, 9998), F.col("at")))
        .withColumns({"problem": problem, "source": F.lit(SOURCE), "date": utc_date("at")})
        .withColumn("time", F.col("at"))
        .drop("value", "at")
    )


def _write_new(spark: SparkSession, parsed: DataFrame, root: str) -> ImportReport:
    totals = F.count("*").alias("lines"), F.min("date").alias("first"), F.max("date").alias("last")
    by_problem = {row.problem: row for row in parsed.groupBy("problem").agg(*totals).collect()}
    counts = {problem: row.lines for problem, row in by_problem.items()}
    good = counts.pop(None, 0)
    if counts and not good:
        worst = max(counts, key=lambda problem: (counts[problem], problem))
        lines = f"{sum(counts.values()):,} lines"
        raise PipelineError(f"none of {lines} is a sample; most frequent problem: {worst}")
    new = parsed.where(F.col("problem").isNull()).drop("problem").dropDuplicates(list(_KEY))
    if good and SOURCE in writers(spark, root):
        ends = by_problem[None].first, by_problem[None].last + timedelta(days=1)
        since, until = (datetime.combine(day, time(), timezone.utc) for day in ends)
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
    return ImportReport(good + sum(counts.values()), written, good - written, counts)
