"""Merges files of the load, and writes rows to one file."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING

from kafka_assignors.errors import KafkaAssignorsError, PipelineError
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.model.sink import CHECKPOINT, batch_of, replaced_files
from kafka_assignors.pipeline.tables.reading import MERGED
from kafka_assignors.pipeline.tables.schemas import LOAD
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

MOST_LEFT = 24
"""A past day of the load may have up to this many files, so late rows do not each cause a merge."""

STAGING = "_merging-"
"""Prefix of the name of a folder for a file that is being written."""

_ORDER = ("group", "topic", "partition", "time")  # compresses best, because neighbouring rows are similar


@contextmanager
def noted(failures: list[KafkaAssignorsError], root: str) -> Iterator[None]:
    """Add an error of the block to ``failures``, so other days and writers are still maintained."""
    try:
        with as_pipeline_error(f"maintenance of {root}"):
            yield
    except KafkaAssignorsError as error:
        failures.append(error)


def merge_load(
    spark: SparkSession, storage: Storage, today: date, failures: list[KafkaAssignorsError]
) -> bool:
    """Delete files that a merged file replaces, then merge the files of one day that is over.

    Return whether a day was merged.
    """
    for name in replaced_files(storage.files("load/date=*/*.parquet")):
        storage.remove(name)
    landed = storage.newest_batch(f"{CHECKPOINT}/commits")
    for day in storage.folders("load"):
        if day.startswith("date=") and day < f"date={today}":
            files = storage.files(f"load/{day}/*.parquet")
            known = {name: batch for name in files if -1 < (batch := batch_of(name)) <= landed}
            if len(known) > MOST_LEFT:
                with noted(failures, storage.root):
                    for empty in storage.empty_files(f"load/{day}/*.parquet"):  # Spark silently ignores them
                        raise PipelineError(
                            f"{storage.root}/{empty} is not a complete Parquet file: remove or restore it"
                        )
                    rows = _strictly(spark).schema(LOAD).parquet(*map(storage.at, known)).drop("date")
                    name = f"{MERGED}{max(known.values()):09d}.parquet"
                    write_one(spark, rows, storage, f"load/{day}/{name}")
                    return True
    return False


def write_one(spark: SparkSession, rows: DataFrame, storage: Storage, target: str) -> None:
    """Write rows to one file, which is complete (and on a local disk, flushed) before it has its name."""
    staging = f"{target.partition('/date=')[0]}/{STAGING}{uuid.uuid4().hex}"
    ordered = rows.coalesce(1).sortWithinPartitions(*_ORDER)
    options = {"compression": "zstd", "maxRecordsPerFile": "0"}
    ordered.write.options(**options).parquet(storage.at(staging))
    parts = storage.files(f"{staging}/*.parquet")
    if len(parts) != 1 or _strictly(spark).parquet(storage.at(parts[0])).count() != rows.count():
        raise PipelineError(f"{storage.root}/{staging} is not complete: another program has changed it")
    storage.sync(parts[0])
    storage.move(parts[0], target)
    storage.remove(staging)


def _strictly(spark: SparkSession) -> DataFrameReader:
    """Return a reader for which a damaged or missing file is an error, whatever the session's settings."""
    return spark.read.options(ignoreCorruptFiles="false", ignoreMissingFiles="false")
