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
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.damage import Damage, find_damage, schema_trouble
from kafka_assignors.pipeline.tables.schemas import SAMPLES
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.strict_json import read_json

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

_FIELD = re.compile(r"^\s*(\w+) (\w+)( NOT NULL)?", re.MULTILINE)
_WRITER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DATE = re.compile(r".*/date=(\d{4}-\d\d-\d\d)/")  # the last one: the recording may be in such a folder
_LAYOUT = 1
_DAY_MS = 86_400_000

COLUMNS: Mapping[str, str] = {name: kind for name, kind, _ in _FIELD.findall(SAMPLES)}
"""Name and type of each column of ``SAMPLES``."""

_NEVER_NULL = tuple(name for name, _, required in _FIELD.findall(SAMPLES) if required and name != "date")
_NULLABLE = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
"""Schema for reading; Spark would trust a NOT NULL even if the file has nulls."""

MERGED = "merged-"
"""Prefix of the name of a merged file.  The token of the model that has read its samples follows."""


def land_stream(
    samples: DataFrame,
    root: str,
    writer: str,
    *,
    about: Mapping[str, str] | None = None,
    available_now: bool = False,
    every_s: float = 0.0,
) -> StreamingQuery:
    """Start a stream that appends samples to the folder of one writer, each exactly once.

    Args:
        samples: a streaming DataFrame with the columns of ``SAMPLES``.
        root: folder of the pipeline.
        writer: name of the writer; only one stream at a time may write to its folder.
        about: description of the recording, such as topic and cluster.  A checkpoint with another description
            is refused.
        available_now: land the existing samples, and end.
        every_s: seconds from the start of one batch to the start of the next; 0: no pause.

    Raises:
        PipelineError: the columns are not those of samples, or the checkpoint does not match.
    """
    _check_columns(samples)
    with one_line(f"recording to {root}"):
        _bind_checkpoint(Storage(samples.sparkSession, root), writer, {**(about or {})})
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
        PipelineError: the columns are not those of samples, or a stream writes to the folder.
    """
    _check_columns(samples)
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
        first, last = (None if time is None else utc(time).date() for time in (since, until))
        parts = [_read_writer(spark, f"{root}/samples/{name}", first, last, on_damage) for name in names]
    return _between(reduce(lambda left, right: left.unionByName(right), parts), since, until)


def stream_samples(
    spark: SparkSession, root: str, names: tuple[str, ...], token: str, *, files_per_batch: int | None = None
) -> DataFrame:
    """Read the samples of some writers as a stream, whose checkpoint belongs to these writers.

    Args:
        spark: the session.
        root: folder of the pipeline.
        names: names of the writers.
        token: the model's token.  Merged files with this token are skipped, because the model has read their
            samples.
        files_per_batch: maximum files of each writer in a batch; None: no limit.
    """
    from pyspark.sql import functions as F

    # Spark silently skips files older than the newest one by more than this.
    options = {"maxFileAge": "36500d"}
    if files_per_batch is not None:
        options["maxFilesPerTrigger"] = str(files_per_batch)
    reader = spark.readStream.schema(_NULLABLE).options(**options)
    unread = ~F.col("_metadata.file_name").startswith(f"{MERGED}{token}-")
    # Nulls are checked before the union, because their error names the file and a union has no file names.
    parts = [_without_nulls(reader.parquet(f"{root}/samples/{name}").where(unread)) for name in names]
    return reduce(lambda left, right: left.unionByName(right), parts)


def read_files(spark: SparkSession, folder: str, files: Sequence[str]) -> DataFrame:
    """Read some files of a writer.

    Raises:
        PipelineError: a file (named) is damaged.
    """
    rows = spark.read.schema(_NULLABLE).option("basePath", folder).parquet(*files)
    if damaged := find_damage(spark, folder, files, rows.schema):
        raise PipelineError(f"cannot use {len(damaged):,} of {len(files):,} files, first {damaged[0]}")
    return _without_nulls(rows)


def writers(spark: SparkSession, root: str) -> tuple[str, ...]:
    """Return the names of the writers with samples."""
    return tuple(name for name in Storage(spark, root).folders("samples") if _WRITER.fullmatch(name))


# --- checkpoints ---


def _bind_checkpoint(storage: Storage, writer: str, about: Mapping[str, str]) -> None:
    """Check that checkpoint and file list are this recording's, or do not exist; write ``about.json``."""
    checkpoint, samples = f"checkpoints/{_checked_name(writer)}", f"samples/{writer}"
    wanted = {"layout": _LAYOUT, "columns": dict(COLUMNS), **about}
    known = storage.read(f"{checkpoint}/about.json")
    started = storage.has(f"{checkpoint}/offsets")
    finished = storage.has(f"{samples}/_spark_metadata")
    # Spark creates the folder of the list before that of the checkpoint.  After a kill in between, both are
    # empty.
    listed = storage.newest_batch(f"{samples}/_spark_metadata")
    about_known = None if known is None else _parsed(known, f"{checkpoint}/about.json")
    if about_known is not None:
        _compare(about_known, wanted, f"{checkpoint} in {storage.root}")
    elif started:
        raise PipelineError(f"{checkpoint} in {storage.root} belongs to another program: take another folder")
    if listed >= 0 and not started:
        raise PipelineError(
            f"{samples} in {storage.root} has lost its checkpoint, so going on would drop new samples: "
            f"restore {checkpoint}, or move {samples} away"
        )
    # Spark plans a batch in the checkpoint before it lists its files, and skips batches that are listed.
    if listed > (planned := storage.newest_batch(f"{checkpoint}/offsets")):
        raise PipelineError(
            f"{checkpoint} in {storage.root} is older (batch {planned}) than {samples} ({listed}), so going "
            f"on would drop new samples: restore its newest state, or move both away"
        )
    # Spark keeps only the last hundred commits, so the first may be missing.
    if storage.files(f"{checkpoint}/commits/*") and not finished:
        raise PipelineError(
            f"{checkpoint} in {storage.root} has lost its samples, so going on would miss them: "
            f"restore {samples}, or move {checkpoint} away"
        )
    if not finished and storage.folders(samples):
        raise PipelineError(
            f"{samples} in {storage.root} has files that are not of a stream: take another folder"
        )
    if about_known != wanted:
        storage.write(f"{checkpoint}/about.json", json.dumps(wanted, indent=1))


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        parsed = read_json(text)
    except ValueError as error:
        raise PipelineError(f"{name} is damaged: take another folder") from error
    return parsed if isinstance(parsed, dict) else {}


def _compare(known: Mapping[str, Any], wanted: Mapping[str, Any], where: str) -> None:
    for name in sorted({*known, *wanted}):
        if known.get(name) != wanted.get(name):
            if name == "columns":
                if _can_grow(known.get(name)):
                    continue
                raise PipelineError(f"{where} is of samples with other columns: take another folder")
            raise PipelineError(
                f"{where} was made with {name} {known.get(name)}, not {wanted.get(name)}: take another folder"
            )


def _can_grow(known: Any) -> bool:
    """Return whether a checkpoint's columns are a subset of ``COLUMNS`` that misses only nullable columns."""
    columns = known if isinstance(known, dict) else {}
    new = COLUMNS.keys() - columns.keys()
    return columns.items() <= COLUMNS.items() and new.isdisjoint(_NEVER_NULL)


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
    first: date | None,
    last: date | None,
    on_damage: Callable[[Damage], None] | None,
) -> DataFrame:
    whole = spark.read.schema(_NULLABLE).parquet(folder)
    # Spark returns names encoded as in URIs, but expects them decoded.
    files = [unquote(file) for file in whole.inputFiles() if _is_within(file, first, last)]
    check = None if on_damage is None else _without_nulls
    damaged = find_damage(spark, folder, files, whole.schema, check=check)
    if damaged and on_damage is None:
        raise PipelineError(f"cannot use {len(damaged):,} of {len(files):,} files, first {damaged[0]}")
    if on_damage is None or not damaged:
        return _without_nulls(whole)
    for damage in damaged:
        on_damage(damage)
    lost = {damage.file for damage in damaged}
    if not (sound := [file for file in files if file not in lost]):
        return spark.createDataFrame([], _NULLABLE)
    return _without_nulls(spark.read.schema(_NULLABLE).option("basePath", folder).parquet(*sound))


def _is_within(file: str, first: date | None, last: date | None) -> bool:
    """Return whether a file may have samples of these dates; a file without a date may."""
    if (match := _DATE.match(file)) is None:
        return True
    day = date.fromisoformat(match[1])
    return (first is None or first <= day) and (last is None or day <= last)


def _without_nulls(samples: DataFrame) -> DataFrame:
    """Make a null in a required column an error that names the file."""
    from pyspark.sql import functions as F

    def required(name: str) -> Any:
        text = F.concat(F.lit(f"there is no {name!r} in a row of "), F.col("_metadata.file_path"))
        return F.coalesce(F.col(name), F.raise_error(text).cast(COLUMNS[name])).alias(name)

    return samples.select(*(required(name) if name in _NEVER_NULL else name for name in COLUMNS))


def _between(samples: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Keep the samples of a period; folders of other dates are not opened."""
    from pyspark.sql import functions as F

    if since is not None:
        samples = samples.where((F.col("date") >= utc(since).date()) & (F.col("time") >= utc(since)))
    if until is not None:
        samples = samples.where((F.col("date") <= utc(until).date()) & (F.col("time") < utc(until)))
    return samples


def _check_columns(samples: DataFrame) -> None:
    schema: StructType = samples.schema
    wanted = samples.sparkSession.createDataFrame([], _NULLABLE).schema
    absent = sorted(COLUMNS.keys() - set(schema.names))
    if trouble := f"has no column {absent[0]!r}" if absent else schema_trouble(schema, wanted):
        raise PipelineError(f"cannot write samples: the table {trouble}")


def utc(time: datetime) -> datetime:
    """Convert to UTC; a time without a zone is local time, as everywhere in Python."""
    return time.astimezone(timezone.utc)


def utc_date(time: str) -> Column:
    """Return the UTC date of a timestamp column; Spark's ``to_date`` would take the session's zone."""
    from pyspark.sql import functions as F

    return F.date_from_unix_date(F.floor(F.unix_millis(F.col(time)) / F.lit(_DAY_MS)).cast("int"))
