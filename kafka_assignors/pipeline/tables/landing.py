"""Writes and reads samples.

Rules:
- Each writer has its own folder ``samples/WRITER``, partitioned by ``date``.  A stream has its list of
  finished files (``_spark_metadata``) there, and its checkpoint in ``checkpoints/WRITER``.
- Files left half-written by a crash are not in the list, and are not read.
- A checkpoint belongs to one recording, described in its ``about.json``, and `land_stream` checks that.
  Otherwise Spark would use the offsets of another cluster, or drop new samples because its list already has
  batches of these numbers.
- Reading raises an error that names the file, if its columns or types are not those of ``SAMPLES``.  One job
  reads the footers of all files together.  If it fails, the damaged files are found by halving.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import as_pipeline_error, pipeline_error
from kafka_assignors.pipeline.tables.checkpoints import check_age, check_settings, read_object
from kafka_assignors.pipeline.tables.schemas import SAMPLES, columns_of
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

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
"""Prefix of the name of a merged file.  For samples, the token of the model that has read them follows."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that cannot be used, and the reason."""

    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


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

    Only one stream at a time may write to the folder.  ``about`` describes the recording, such as its topic
    and cluster.  A batch begins every ``every_s`` seconds; 0: without a pause.

    Raises:
        PipelineError: the checkpoint is of another recording, or older than the samples.
    """
    with as_pipeline_error(f"recording to {root}"):
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
    """Append samples to the folder of a writer; the folder of a stream is an error."""
    with as_pipeline_error(f"writing to {root}"):
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
    from pyspark.sql import functions as F

    with as_pipeline_error(f"reading samples of {root}"):
        names = names or writers(spark, root)
        if not names:
            raise PipelineError(f"no samples in {root}: record some first")
        parts = [_read_writer(spark, f"{root}/samples/{name}", since, until, on_damage) for name in names]
    samples = reduce(lambda left, right: left.unionByName(right), parts)
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
    from pyspark.sql import functions as F

    # Spark silently skips files older than the newest one by more than this.
    reader = spark.readStream.schema(_NULLABLE).option("maxFileAge", "36500d")
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    unread = ~F.col("_metadata.file_name").startswith(f"{MERGED}{token}-")
    # Nulls are checked before the union, because their error names the file and a union has no file names.
    parts = [_without_nulls(reader.parquet(f"{root}/samples/{name}").where(unread)) for name in names]
    return reduce(lambda left, right: left.unionByName(right), parts)


def read_files(spark: SparkSession, folder: str, files: Sequence[str]) -> DataFrame:
    """Read files of a writer.

    Raises:
        PipelineError: a file is damaged; it is named.  A missing file is an error of Spark.
    """
    rows = _read(spark, folder, files)
    _sound(spark, folder, files)
    return rows


def writers(spark: SparkSession, root: str) -> tuple[str, ...]:
    """Return the names of the writers with samples."""
    return tuple(name for name in Storage(spark, root).folders("samples") if _WRITER.fullmatch(name))


def _bind_checkpoint(storage: Storage, writer: str, about: Mapping[str, str]) -> None:
    """Check that checkpoint and file list are this recording's, or do not exist; write ``about.json``."""
    checkpoint, samples = f"checkpoints/{writer}", f"samples/{writer}"
    where = f"{checkpoint} in {storage.root}"
    wanted = {"layout": _LAYOUT, "columns": dict(COLUMNS), **about}
    known = read_object(storage, f"{checkpoint}/about.json", {"columns": dict}, _ELSEWHERE)
    if known is not None:
        columns = known["columns"]  # of an earlier version, which may lack nullable columns
        if not (columns.items() <= COLUMNS.items() and columns.keys() >= set(_NEVER_NULL)):
            raise PipelineError(f"{where} is of samples with other columns: {_ELSEWHERE}")
        check_settings(storage, checkpoint, {**known, "columns": COLUMNS}, wanted, _ELSEWHERE)
    elif storage.has(f"{checkpoint}/offsets"):
        raise PipelineError(f"{where} belongs to another program: {_ELSEWHERE}")
    # Spark skips the batches in the list.  After a kill at the first start, the list may be an empty folder.
    listed = storage.newest_batch(f"{samples}/_spark_metadata")
    check_age(storage, checkpoint, samples, listed, f"move {samples} and {checkpoint} away")
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


def _checked_name(writer: str) -> str:
    if not _WRITER.fullmatch(writer):
        raise PipelineError(
            f"writer {writer!r}: a name must begin with a letter or digit, and have only these, - and _"
        )
    return writer


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
    sound = _sound(spark, folder, files, on_damage)
    if len(sound) == len(files):
        return _without_nulls(whole)
    return _read(spark, folder, sound) if sound else spark.createDataFrame([], _NULLABLE)


def _is_within(file: str, first: date, last: date) -> bool:
    """Return whether a file may have samples of these dates; a file without a date may."""
    match = _DATE.match(file)
    return match is None or first <= date.fromisoformat(match[1]) <= last


def _sound(
    spark: SparkSession, folder: str, files: Sequence[str], on_damage: Callable[[Damage], None] | None = None
) -> list[str]:
    """Return the undamaged files; without ``on_damage``, damage is an error that names a file."""
    damaged = list(_damaged(spark, folder, files, whole=on_damage is not None))
    if damaged:
        spark.range(1).count()  # an error if Spark itself has ended, and the files are sound
        if on_damage is None:
            raise PipelineError(f"cannot use {len(damaged):,} of {len(files):,} files, first {damaged[0]}")
        for damage in damaged:
            on_damage(damage)
    lost = {damage.file for damage in damaged}
    return [file for file in files if file not in lost]


def _damaged(spark: SparkSession, folder: str, files: Sequence[str], *, whole: bool) -> Iterator[Damage]:
    """Find damaged files by their footers, or by reading each file as a whole."""
    if not files or (what := _trouble(spark, folder, files, whole=whole)) is None:
        return
    if len(files) == 1:
        yield Damage(files[0], what)
    else:
        half = len(files) // 2
        yield from _damaged(spark, folder, files[:half], whole=whole)
        yield from _damaged(spark, folder, files[half:], whole=whole)


def _trouble(spark: SparkSession, folder: str, files: Sequence[str], *, whole: bool) -> str | None:
    """Describe why some of these files cannot be used; None: all can."""
    try:
        footers = spark.read.option("basePath", folder).option("mergeSchema", "true").parquet(*files)
        for column in footers.schema:
            kind, wanted = column.dataType.simpleString(), COLUMNS.get(column.name)
            if wanted is None:
                return f"has a column {column.name!r} that samples do not have"
            if kind != wanted:
                return f"column {column.name!r} is {kind}, not {wanted}"
        if whole:
            _read(spark, folder, files).write.format("noop").mode("overwrite").save()
    except Exception as error:  # Spark raises many kinds of errors for damaged files
        return str(pipeline_error(error, "damaged")).removeprefix("damaged: ")
    return None


def _read(spark: SparkSession, folder: str, files: Sequence[str]) -> DataFrame:
    return _without_nulls(spark.read.schema(_NULLABLE).option("basePath", folder).parquet(*files))


def _without_nulls(samples: DataFrame) -> DataFrame:
    """Make a null in a required column, or its absence, an error that names the file."""
    from pyspark.sql import functions as F

    def required(name: str) -> Any:
        text = F.concat(F.lit(f"there is no {name!r} in a row of "), F.col("_metadata.file_path"))
        return F.coalesce(F.col(name), F.raise_error(text).cast(COLUMNS[name])).alias(name)

    return samples.select(*(required(name) if name in _NEVER_NULL else name for name in COLUMNS))


def utc(time: datetime) -> datetime:
    """Convert to UTC; a time without a zone is local time, as everywhere in Python."""
    return time.astimezone(timezone.utc)


def utc_date(time: str) -> Column:
    """Return the UTC date of a timestamp column; Spark's ``to_date`` would take the session's zone."""
    from pyspark.sql import functions as F

    return F.date_from_unix_date(F.floor(F.unix_millis(F.col(time)) / F.lit(_DAY_MS)).cast("int"))
