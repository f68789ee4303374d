"""Where samples land, and how they are read again.

Rules:
- A writer has a folder of its own, ``samples/WRITER``, partitioned by ``date``; a stream's list of finished
  files (``_spark_metadata``) lies in it, its checkpoint in ``checkpoints/WRITER``.
- What a crash left half-written is in no such list, and is not read.
- What is read has the columns of ``SAMPLES`` and their types, or there is an error that names the file.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from functools import reduce
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.spark.schemas import SAMPLES
from kafka_assignors.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["land_stream", "read_samples", "stream_samples"]

_WRITER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def land_stream(
    samples: DataFrame, root: str, writer: str, *, available_now: bool = False, every_s: float = 0.0
) -> StreamingQuery:
    """Start a stream that appends samples to the folder of one writer, each exactly once.

    Args:
        samples: a streaming DataFrame with the columns of ``SAMPLES``.
        root: the pipeline's folder.
        writer: whose folder; one stream at a time may write to it.
        available_now: end with what is there now.
        every_s: how long from the start of one batch to that of the next; 0: at once.
    """
    trigger: dict[str, Any] = (
        {"availableNow": True} if available_now else {"processingTime": f"{every_s:g} seconds"}
    )
    return (
        samples.select(*_names())
        .writeStream.queryName(f"{_named(writer)}")
        .format("parquet")
        .partitionBy("date")
        .option("path", f"{root}/samples/{writer}")
        .option("checkpointLocation", f"{root}/checkpoints/{writer}")
        .trigger(**trigger)
        .start()
    )


def read_samples(
    spark: SparkSession, root: str, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """Samples of all writers.

    Args:
        spark: the session.
        root: the pipeline's folder.
        since: of this time and later.
        until: of before this time.

    Raises:
        PipelineError: nothing was recorded there.
    """
    storage = Storage(spark, root)
    writers = storage.folders("samples")
    if not writers:
        raise PipelineError(f"no samples in {root}: record some first")
    of_all = [spark.read.schema(SAMPLES).parquet(f"{root}/samples/{writer}") for writer in writers]
    return between(reduce(lambda one, other: one.unionByName(other), of_all), since, until)


def stream_samples(
    spark: SparkSession, root: str, writers: tuple[str, ...], *, files_per_batch: int | None = None
) -> DataFrame:
    """Samples of these writers as a stream: what is there, and what comes.

    The writers are part of what a checkpoint of the stream is about, so they are named.

    Args:
        spark: the session.
        root: the pipeline's folder.
        writers: whose samples.
        files_per_batch: most files of each writer in a batch; None: all there are.
    """
    # A file that is older than the newest one by more than this would not be read, without a word.
    options = {"maxFileAge": "3650d"}
    if files_per_batch is not None:
        options["maxFilesPerTrigger"] = str(files_per_batch)
    reader = spark.readStream.schema(SAMPLES).options(**options)
    of_all = [reader.parquet(f"{root}/samples/{writer}") for writer in writers]
    return reduce(lambda one, other: one.unionByName(other), of_all)


def between(samples: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Samples of a period; folders of other dates are not opened."""
    from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

    if since is not None:
        samples = samples.where((F.col("time") >= since) & (F.col("date") >= _utc(since).date()))
    if until is not None:
        samples = samples.where((F.col("time") < until) & (F.col("date") <= _utc(until).date()))
    return samples


def _utc(time: datetime) -> datetime:
    return time.astimezone(timezone.utc)


def _names() -> list[str]:
    return re.findall(r"^\s*(\w+) ", SAMPLES, re.MULTILINE)


def _named(writer: str) -> str:
    if not _WRITER.fullmatch(writer):
        raise PipelineError(f"writer {writer!r}: a name is letters, digits, - and _")
    return writer
