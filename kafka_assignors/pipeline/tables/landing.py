"""Where samples land, and how they are read again.

Rules:
- A writer has a folder of its own, ``samples/WRITER``, partitioned by ``date``; a stream's list of finished
  files (``_spark_metadata``) lies in it, its checkpoint in ``checkpoints/WRITER``.
- What a crash left half-written is in no such list, and is not read.
- A checkpoint is for one thing only, which ``about.json`` beside it tells.  Spark itself would take another
  cluster's offsets for its own, or drop all it reads because the list of files says that it has those.
- What is read has the columns of ``SAMPLES`` and their types, or there is an error that names the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from functools import reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.damage import Damage, find_damage, schema_trouble
from kafka_assignors.pipeline.tables.schemas import SAMPLES
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

__all__ = ["COLUMNS", "land_stream", "read_samples", "stream_samples", "write_samples", "writers"]

_FIELD = re.compile(r"^\s*(\w+) (\w+)( NOT NULL)?", re.MULTILINE)
_WRITER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DATE = re.compile(r"/date=(\d{4}-\d\d-\d\d)/")
_LAYOUT = 1

COLUMNS: Mapping[str, str] = {name: kind for name, kind, _ in _FIELD.findall(SAMPLES)}
"""Name and type of each column of ``SAMPLES``."""

_NEVER_NULL = tuple(name for name, _, required in _FIELD.findall(SAMPLES) if required and name != "date")
_NULLABLE = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
"""For reading: Spark believes a NOT NULL, whatever is in the file."""


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
        root: the pipeline's folder.
        writer: whose folder; one stream at a time may write to it.
        about: what is recorded, in words: topic, cluster.  A checkpoint that is about something else is
            refused.
        available_now: end with what is there now.
        every_s: how long from the start of one batch to that of the next; 0: at once.

    Raises:
        PipelineError: columns that are not those of samples; a checkpoint that does not fit.
    """
    _check_columns(samples)
    with one_line(f"recording to {root}"):
        _claim(Storage(samples.sparkSession, root), writer, {**(about or {})})
        trigger: dict[str, Any] = (
            {"availableNow": True} if available_now else {"processingTime": f"{every_s:g} seconds"}
        )
        return (
            samples.select(*COLUMNS)
            .writeStream.queryName(writer)
            .format("parquet")
            .partitionBy("date")
            .option("path", f"{root}/samples/{writer}")
            .option("checkpointLocation", f"{root}/checkpoints/{writer}")
            .trigger(**trigger)
            .start()
        )


def write_samples(samples: DataFrame, root: str, writer: str) -> None:
    """Append samples to the folder of a writer that is no stream.

    Raises:
        PipelineError: columns that are not those of samples; a folder that a stream writes to.
    """
    _check_columns(samples)
    with one_line(f"writing to {root}"):
        if Storage(samples.sparkSession, root).has(f"samples/{_named(writer)}/_spark_metadata"):
            raise PipelineError(f"samples/{writer} in {root} is a stream's: name another writer")
        samples.select(*COLUMNS).write.mode("append").partitionBy("date").parquet(f"{root}/samples/{writer}")


def read_samples(
    spark: SparkSession,
    root: str,
    since: datetime | None = None,
    until: datetime | None = None,
    *,
    on_damage: Callable[[Damage], None] | None = None,
) -> DataFrame:
    """Samples of all writers.

    Args:
        spark: the session.
        root: the pipeline's folder.
        since: of this time and later.
        until: of before this time.
        on_damage: told of each file that cannot be used, which is then left out; all files are read once to
            find them.  None: such a file is an error, found by its footer now, or when its rows are read.

    Raises:
        PipelineError: nothing was recorded there, or a file (named) cannot be used.
    """
    with one_line(f"reading samples of {root}"):
        names = writers(spark, root)
        if not names:
            raise PipelineError(f"no samples in {root}: record some first")
        first, last = (None if time is None else _utc(time).date() for time in (since, until))
        of_all = [_read_writer(spark, f"{root}/samples/{name}", first, last, on_damage) for name in names]
    return _between(reduce(lambda one, other: one.unionByName(other), of_all), since, until)


def stream_samples(
    spark: SparkSession, root: str, names: tuple[str, ...], *, files_per_batch: int | None = None
) -> DataFrame:
    """Samples of these writers as a stream: what is there, and what comes.

    The writers are part of what a checkpoint of the stream is about, so they are named; see ``writers``.

    Args:
        spark: the session.
        root: the pipeline's folder.
        names: of the writers.
        files_per_batch: most files of each writer in a batch; None: all there are.
    """
    # A file that is older than the newest one by more than this would not be read, without a word.
    options = {"maxFileAge": "3650d"}
    if files_per_batch is not None:
        options["maxFilesPerTrigger"] = str(files_per_batch)
    reader = spark.readStream.schema(_NULLABLE).options(**options)
    # A union no longer knows its files, so each writer is checked by itself.
    of_all = [_with_nothing_missing(reader.parquet(f"{root}/samples/{name}")) for name in names]
    return reduce(lambda one, other: one.unionByName(other), of_all)


def writers(spark: SparkSession, root: str) -> tuple[str, ...]:
    """Who recorded something there."""
    return tuple(name for name in Storage(spark, root).folders("samples") if _WRITER.fullmatch(name))


# --- checkpoints ---


def _claim(storage: Storage, writer: str, about: Mapping[str, str]) -> None:
    """Make sure that checkpoint and list of files are of this very recording, or that there are none."""
    checkpoint, samples = f"checkpoints/{_named(writer)}", f"samples/{writer}"
    wanted = {"layout": _LAYOUT, "columns": dict(COLUMNS), **about}
    known = storage.read(f"{checkpoint}/about.json")
    started = storage.has(f"{checkpoint}/offsets")
    finished = storage.has(f"{samples}/_spark_metadata")
    # Spark makes the list's folder before the checkpoint's.  Killed in between, there is nothing to lose yet.
    listed = finished and bool(storage.files(f"{samples}/_spark_metadata/[0-9]*"))
    if known is not None:
        _compare(_parsed(known, f"{checkpoint}/about.json"), wanted, f"{checkpoint} in {storage.root}")
    elif started:
        raise PipelineError(f"{checkpoint} in {storage.root} is another program's: take another folder")
    if listed and not started:
        raise PipelineError(
            f"{samples} in {storage.root} has lost its checkpoint, so going on would drop what comes: bring "
            f"{checkpoint} back, or move {samples} away"
        )
    # Spark keeps the last hundred only, so it need not be the first.
    if storage.files(f"{checkpoint}/commits/*") and not finished:
        raise PipelineError(
            f"{checkpoint} in {storage.root} has lost its samples, so going on would miss them: bring "
            f"{samples} back, or move {checkpoint} away"
        )
    if not finished and storage.folders(samples):
        raise PipelineError(f"{samples} in {storage.root} has files of no stream: take another folder")
    if known is None:
        storage.write(f"{checkpoint}/about.json", json.dumps(wanted, indent=1))


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise PipelineError(f"{name} is damaged: take another folder") from error
    return found if isinstance(found, dict) else {}


def _compare(known: Mapping[str, Any], wanted: Mapping[str, Any], where: str) -> None:
    for name in sorted({*known, *wanted}):
        if known.get(name) != wanted.get(name):
            if name == "columns":
                raise PipelineError(f"{where} is of samples with other columns: take another folder")
            raise PipelineError(
                f"{where} is about {name} {known.get(name)}, not {wanted.get(name)}: take another folder"
            )


def _named(writer: str) -> str:
    if not _WRITER.fullmatch(writer):
        raise PipelineError(f"writer {writer!r}: a name is letters, digits, - and _")
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
    # Spark tells names as URIs have them, and takes them as they are.
    files = [unquote(file) for file in whole.inputFiles() if _of(file, first, last)]
    damaged = find_damage(spark, folder, files, whole.schema, thorough=on_damage is not None)
    if damaged and on_damage is None:
        more = f" (and {len(damaged) - 1:,} more)" if len(damaged) > 1 else ""
        raise PipelineError(f"cannot use {damaged[0]}{more}")
    if on_damage is None or not damaged:
        return _with_nothing_missing(whole)
    for one in damaged:
        on_damage(one)
    lost = {one.file for one in damaged}
    if not (left := [file for file in files if file not in lost]):
        return spark.createDataFrame([], _NULLABLE)
    return _with_nothing_missing(spark.read.schema(_NULLABLE).option("basePath", folder).parquet(*left))


def _of(file: str, first: date | None, last: date | None) -> bool:
    """Whether a file is of these dates; one that does not say is."""
    if (found := _DATE.search(file)) is None:
        return True
    day = date.fromisoformat(found[1])
    return (first is None or first <= day) and (last is None or day <= last)


def _with_nothing_missing(samples: DataFrame) -> DataFrame:
    """Samples in which what must be there is there: else reading is an error that names the file."""
    from pyspark.sql import functions as F

    def required(name: str) -> Any:
        text = F.concat(F.lit(f"there is no {name!r} in a row of "), F.col("_metadata.file_path"))
        return F.coalesce(F.col(name), F.raise_error(text).cast(COLUMNS[name])).alias(name)

    return samples.select(*(required(name) if name in _NEVER_NULL else name for name in COLUMNS))


def _between(samples: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Samples of a period; folders of other dates are not opened."""
    from pyspark.sql import functions as F

    if since is not None:
        samples = samples.where((F.col("date") >= _utc(since).date()) & (F.col("time") >= _utc(since)))
    if until is not None:
        samples = samples.where((F.col("date") <= _utc(until).date()) & (F.col("time") < _utc(until)))
    return samples


def _check_columns(samples: DataFrame) -> None:
    found: StructType = samples.schema
    wanted = samples.sparkSession.createDataFrame([], _NULLABLE).schema
    absent = sorted(COLUMNS.keys() - set(found.names))
    if trouble := f"has no column {absent[0]!r}" if absent else schema_trouble(found, wanted):
        raise PipelineError(f"what is to be written as samples {trouble}")


def _utc(time: datetime) -> datetime:
    """In UTC; a time without a zone is this machine's, as everywhere in Python."""
    return time.astimezone(timezone.utc)
