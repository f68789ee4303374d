"""Writes and reads samples.

Rules:
- Each writer has its own folder ``samples/WRITER``, partitioned by ``date``.  A stream has its list of
  finished files (``_spark_metadata``) there, and its checkpoint in ``checkpoints/WRITER``.
- Files left half-written by a crash are not in the list, and are not read.
- A checkpoint belongs to one recording, described in its ``about.json``, and `land_stream` checks that.
  Otherwise Spark would use the offsets of another cluster, or drop new samples because its list already has
  batches of these numbers.
- Reading raises an error that names the file, if its columns or types are not those of ``SAMPLES``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timezone
from functools import reduce
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.checkpoints import check_age, check_settings, read_object
from kafka_assignors.pipeline.tables.damage import Damage, sound_files
from kafka_assignors.pipeline.tables.schemas import SAMPLES, columns_of
from kafka_assignors.pipeline.tables.storage import Storage

_WRITER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DATE = re.compile(r".*/date=(\d{4}-\d\d-\d\d)/")  # the last one: the recording may be in such a folder
_LAYOUT = 1
_ELSEWHERE = "take another folder"
_DAY_MS = 86_400_000

COLUMNS: Mapping[str, str] = columns_of(SAMPLES)
"""Name and type of each column of ``SAMPLES``."""

_NEVER_NULL = tuple(name for name in re.findall(r"(\w+) \w+ NOT NULL", SAMPLES) if name != "date")
_NULLABLE = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
"""Schema for reading; Spark would trust a NOT NULL even if the file has nulls."""

MERGED = "merged-"
"""Prefix of the name of a merged file.  The token of the model that has read its samples follows."""


def land_stream(
    samples: DataFrame,
    root: str,
    writer: str,
    *,
    about: Mapping[str, str] = {},
    available_now: bool = False,
    every_s: float = 0.0,
) -> StreamingQuery:
    """Start a stream that appends samples to the folder of one writer, each exactly once.

    Only one stream at a time may write to the folder.

    Args:
        samples: a streaming DataFrame with the columns of ``SAMPLES``.
        root: folder of the pipeline.
        writer: name of the writer.
        about: description of the recording, such as topic and cluster; another one's checkpoint is refused.
        available_now: land the existing samples, and end.
        every_s: seconds from the start of one batch to the start of the next; 0: no pause.

    Raises:
        PipelineError: the checkpoint is of another recording, or is not that of the landed samples.
    """
    with one_line(f"recording to {root}"):
        _bind_checkpoint(Storage(samples.sparkSession, root), _checked_name(writer), about)
        return (
            samples.select(*COLUMNS)
            .repartition(1)  # one file per batch and date; otherwise each Spark task would write its own
            .writeStream.queryName(f"{root}/samples/{writer}")
            .format("parquet")
            .partitionBy("date")
            .option("path", f"{root}/samples/{writer}")
            .option("checkpointLocation", f"{root}/checkpoints/{writer}")
            .trigger(**trigger(every_s, available_now=available_now))
            .start()
        )


def trigger(every_s: float, *, available_now: bool) -> dict[str, Any]:
    """Return options of a stream's trigger: end after the existing data, or a batch every ``every_s``."""
    return {"availableNow": True} if available_now else {"processingTime": f"{every_s:g} seconds"}


def write_samples(samples: DataFrame, root: str, writer: str) -> None:
    """Append samples to the folder of a writer that is not a stream.

    Raises:
        PipelineError: a stream writes to the folder.
    """
    with one_line(f"writing to {root}"):
        if Storage(samples.sparkSession, root).has(f"samples/{_checked_name(writer)}/_spark_metadata"):
            raise PipelineError(f"samples/{writer} in {root} belongs to a stream: name another writer")
        rows = samples.select(*COLUMNS).repartition(1)
        rows.write.mode("append").partitionBy("date").parquet(f"{root}/samples/{writer}")


def read_samples(
    spark: SparkSession,
    root: str,
    since: datetime | None = None,
    until: datetime | None = None,
    *,
    names: Sequence[str] = (),
    on_damage: Callable[[Damage], None] | None = None,
) -> DataFrame:
    """Read samples.

    Args:
        spark: the session.
        root: folder of the pipeline.
        since: start of the period.
        until: end of the period, exclusive.
        names: names of the writers; all by default.
        on_damage: called for each damaged file, which is then skipped.  To find damage, each file is read
            once more.  None: damage is an error, raised now if the footer shows it, or when the rows are
            read.

    Raises:
        PipelineError: there are no samples, or a file (named) cannot be used.
    """
    with one_line(f"reading samples of {root}"):
        names = names or writers(spark, root)
        if not names:
            raise PipelineError(f"no samples in {root}: record some first")
        parts = [_read_writer(spark, f"{root}/samples/{name}", since, until, on_damage) for name in names]
    samples = reduce(DataFrame.unionByName, parts)
    if since is not None:  # folders of other dates are not opened
        samples = samples.where((F.col("date") >= utc(since).date()) & (F.col("time") >= utc(since)))
    if until is not None:
        samples = samples.where((F.col("date") <= utc(until).date()) & (F.col("time") < utc(until)))
    return samples


def stream_samples(
    spark: SparkSession, root: str, names: tuple[str, ...], token: str, *, files_per_batch: int | None = None
) -> DataFrame:
    """Read the samples of some writers as a stream, whose checkpoint belongs to these writers.

    Merged files with the model's ``token`` are skipped, because the model has read their samples.
    """
    # Spark silently skips files older than the newest one by more than this.
    reader = spark.readStream.schema(_NULLABLE).option("maxFileAge", "36500d")
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    unread = ~F.col("_metadata.file_name").startswith(f"{MERGED}{token}-")
    # Nulls are checked before the union, because their error names the file and a union has no file names.
    parts = [_without_nulls(reader.parquet(f"{root}/samples/{name}").where(unread)) for name in names]
    return reduce(DataFrame.unionByName, parts)


def read_files(spark: SparkSession, folder: str, files: Sequence[str]) -> DataFrame:
    """Read some files of a writer.

    Raises:
        PipelineError: a file (named) is damaged.
    """
    rows = spark.read.schema(_NULLABLE).option("basePath", folder).parquet(*files)
    sound_files(spark, folder, files, rows.schema)
    return _without_nulls(rows)


def writers(spark: SparkSession, root: str) -> tuple[str, ...]:
    """Return the names of the writers with samples."""
    return tuple(name for name in Storage(spark, root).folders("samples") if _WRITER.fullmatch(name))


# --- checkpoints ---


def _bind_checkpoint(storage: Storage, writer: str, about: Mapping[str, str]) -> None:
    """Check that checkpoint and file list are this recording's, or do not exist; write ``about.json``."""
    checkpoint, samples = f"checkpoints/{writer}", f"samples/{writer}"
    where = f"{checkpoint} in {storage.root}"
    wanted = {"layout": _LAYOUT, "columns": dict(COLUMNS), **about}
    known = read_object(storage, f"{checkpoint}/about.json", {"columns": dict}, _ELSEWHERE)
    if known is not None:
        if not _can_grow(known["columns"]):
            raise PipelineError(f"{where} is of samples with other columns: {_ELSEWHERE}")
        check_settings(storage, checkpoint, {**known, "columns": COLUMNS}, wanted, _ELSEWHERE)
    elif storage.has(f"{checkpoint}/offsets"):
        raise PipelineError(f"{where} belongs to another program: {_ELSEWHERE}")
    # Spark skips the batches in the list.  After a kill at the first start, the list may be an empty folder.
    listed = storage.newest_batch(f"{samples}/_spark_metadata")
    check_age(storage, checkpoint, samples, listed, f"move {samples} and what is left of {checkpoint} away")
    if not storage.has(f"{samples}/_spark_metadata"):
        # Spark keeps only the last hundred commits, so the first may be missing.
        if storage.files(f"{checkpoint}/commits/*"):
            raise PipelineError(
                f"{where} has lost its samples, so going on would miss them: "
                f"restore {samples}, or move {checkpoint} away"
            )
        if storage.folders(samples):
            raise PipelineError(
                f"{samples} in {storage.root} has files that are not of a stream: {_ELSEWHERE}"
            )
    if known != wanted:
        storage.write(f"{checkpoint}/about.json", json.dumps(wanted, indent=1))


def _can_grow(columns: Mapping[str, str]) -> bool:
    """Return whether a checkpoint's columns are a subset of ``COLUMNS`` that misses only nullable columns."""
    return columns.items() <= COLUMNS.items() and set(_NEVER_NULL) <= columns.keys()


def _checked_name(writer: str) -> str:
    if not _WRITER.fullmatch(writer):
        raise PipelineError(
            f"writer {writer!r}: a name must begin with a letter or digit, and have only these, - and _"
        )
    return writer


# --- reading ---


def _read_writer(
    spark: SparkSession,
    folder: str,
    since: datetime | None,
    until: datetime | None,
    on_damage: Callable[[Damage], None] | None,
) -> DataFrame:
    whole = spark.read.schema(_NULLABLE).parquet(folder)
    first = date.min if since is None else utc(since).date()
    last = date.max if until is None else utc(until).date()
    # Spark returns names encoded as in URIs, but expects them decoded.
    files = [unquote(file) for file in whole.inputFiles() if _is_within(file, first, last)]
    sound = sound_files(spark, folder, files, whole.schema, on_damage=on_damage, check=_without_nulls)
    if len(sound) == len(files):
        return _without_nulls(whole)
    if not sound:
        return spark.createDataFrame([], _NULLABLE)
    return _without_nulls(spark.read.schema(_NULLABLE).option("basePath", folder).parquet(*sound))


def _is_within(file: str, first: date, last: date) -> bool:
    """Return whether a file may have samples of these dates; a file without a date may."""
    match = _DATE.match(file)
    return match is None or first <= date.fromisoformat(match[1]) <= last


def _without_nulls(samples: DataFrame) -> DataFrame:
    """Make a null in a required column an error that names the file."""

    def required(name: str) -> Any:
        text = F.concat(F.lit(f"there is no {name!r} in a row of "), F.col("_metadata.file_path"))
        return F.coalesce(F.col(name), F.raise_error(text).cast(COLUMNS[name])).alias(name)

    return samples.select(*(required(name) if name in _NEVER_NULL else name for name in COLUMNS))


def utc(time: datetime) -> datetime:
    """Convert to UTC; a time without a zone is local time, as everywhere in Python."""
    return time.astimezone(timezone.utc)


def utc_date(time: str) -> Column:
    """Return the UTC date of a timestamp column; Spark's ``to_date`` would take the session's zone."""
    return F.date_from_unix_date(F.floor(F.unix_millis(F.col(time)) / F.lit(_DAY_MS)).cast("int"))
