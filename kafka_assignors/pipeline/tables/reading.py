"""Reads samples, and finds damaged files.

Reading raises an error that names the file, if its columns or types are not those of ``SAMPLES``.  One job
reads the footers of all files together.  If it fails, the damaged files are found by halving.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import as_pipeline_error, pipeline_error
from kafka_assignors.pipeline.tables.schemas import NEVER_NULL, SAMPLE_COLUMNS
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""The name of a writer."""

MERGED = "merged-"
"""Prefix of the name of a merged file.  For samples, the token of the model that has read them follows."""

_DATE = re.compile(r".*/date=(\d{4}-\d\d-\d\d)/")  # matches the last such folder: the recording may be in one
_NULLABLE = ", ".join(f"{name} {kind}" for name, kind in SAMPLE_COLUMNS.items())
"""Schema for reading; Spark would trust a NOT NULL even if the file has nulls."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that cannot be used, and the reason."""

    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


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
            once more.  None: damage is an error, raised at once if the footer shows it, else when the rows
            are read.

    Raises:
        PipelineError: there is no folder of a writer, a file (named) cannot be used, or Spark would read the
            path of the folder as a pattern.
    """
    from pyspark.sql import functions as F

    with as_pipeline_error(f"reading samples of {root}"):
        known = writers(spark, root)  # also refuses a folder that Spark would read as a pattern
        names = names or known
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
    """Return the names of the writers, each the name of a folder of samples, which may be empty."""
    return tuple(name for name in Storage(spark, root).folders("samples") if WRITER_NAME.fullmatch(name))


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
        spark.range(1).count()  # raises if Spark itself has ended: the files may be sound
        if on_damage is None:
            count = f"{len(damaged):,} of {len(files):,} files"
            raise PipelineError(f"cannot use {count}; the first: {damaged[0]}")
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
            kind, wanted = column.dataType.simpleString(), SAMPLE_COLUMNS.get(column.name)
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
        return F.coalesce(F.col(name), F.raise_error(text).cast(SAMPLE_COLUMNS[name])).alias(name)

    return samples.select(*(required(name) if name in NEVER_NULL else name for name in SAMPLE_COLUMNS))


def utc(time: datetime) -> datetime:
    """Convert to UTC; a time without a zone is local time, as everywhere in Python."""
    return time.astimezone(timezone.utc)
