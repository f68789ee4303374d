"""The files of a back-test: ``results.parquet``, ``series.parquet``, ``results.json``, ``report.html``.

Spark's workers write the first two.  ``series.parquet`` is a folder, with some files for each group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.job import SERIES, schema
from kafka_assignors.pipeline.backtest.page import render
from kafka_assignors.pipeline.backtest.results import Results
from kafka_assignors.pipeline.backtest.summary import FIGURES
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.simulation import Series

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS: dict[str, str] = {
    "scenario": "int32",
    "group": "string",
    "load": "string",
    "scale": "double",
    "candidate": "string",
    "strategy": "string",
    "parameters": "string",
    "members": "int32",
    "churn": "string",
    "replicate": "int32",
    "service_rate": "double",
    **dict.fromkeys(FIGURES, "double"),
    **dict.fromkeys(("arrived", "moved", "rebalances"), "int64"),
    "error": "string",
}
"""Columns of results.parquet, one row per scenario (docs/reference/backtest.md); ``parameters`` is JSON."""

RESULTS_NAME, SERIES_NAME = "results.parquet", "series.parquet"
_UNFINISHED = ".unfinished"


@contextmanager
def results_folder(spark: SparkSession, root: str) -> Iterator[Storage]:
    """Create the folder of the results before the back-test starts.

    If the block fails before results.parquet is written, the series are removed.

    Raises:
        KafkaAssignorsError: the folder cannot be created, is not empty, or is not shared with the workers.
    """
    folder = Storage(spark, root, escapes=True)
    with as_pipeline_error(f"writing to {root}"):
        folder.make("")
        if not folder.is_empty():
            raise KafkaAssignorsError(f"{root} is not empty: give --out a new folder")
    try:
        _check_shared(spark, folder)
    finally:
        with suppress(Exception):  # the first error counts
            folder.remove(_UNFINISHED)
    try:
        yield folder
    except BaseException:
        with suppress(Exception):  # the first error counts
            folder.remove(_UNFINISHED)
            if not folder.has(RESULTS_NAME):
                folder.remove(SERIES_NAME)
        raise


def _check_shared(spark: SparkSession, folder: Storage) -> None:
    """Check that the driver sees the files of the workers, with four tasks for each core."""
    tasks = 4 * spark.sparkContext.defaultParallelism
    with as_pipeline_error(f"{folder.root}: the workers cannot write to it"):
        spark.range(0, tasks, 1, tasks).write.parquet(folder.at(_UNFINISHED))
    with as_pipeline_error(f"{folder.root}: the driver cannot read what workers write there"):
        seen = spark.read.schema("id long").parquet(folder.to_read(_UNFINISHED)).count()
    if seen != tasks:
        raise KafkaAssignorsError(
            f"{folder.root} is not shared: the driver does not see all files that workers write there; give "
            "--out a folder that they share, such as s3a://bucket/backtest"
        )


def read_series(spark: SparkSession, folder: Storage, scenarios: Sequence[int]) -> dict[int, Series]:
    """Return the series of these scenarios, which the workers wrote, by the scenario's number.

    Raises:
        KafkaAssignorsError: the series cannot be read, or a scenario has none.
    """
    import numpy as np
    from pyspark.sql import functions as F

    with as_pipeline_error(f"reading {folder.root}/{SERIES_NAME}"):
        rows = spark.read.parquet(folder.to_read(SERIES_NAME)).where(F.col("scenario").isin(*scenarios))
        table = rows.orderBy("scenario", "at_s").toArrow()
    columns = {name.removesuffix("_s"): table[name].to_numpy() for name in SERIES}
    numbers = columns.pop("scenario")
    starts, ends = (np.searchsorted(numbers, scenarios, side) for side in ("left", "right"))
    if (starts == ends).any():
        raise KafkaAssignorsError(f"{folder.root}/{SERIES_NAME} has lost files: give --out a new folder")
    return {
        number: Series(**{name: column[start:end] for name, column in columns.items()})
        for number, start, end in zip(scenarios, starts.tolist(), ends.tolist(), strict=True)
    }


def save_results(spark: SparkSession, folder: Storage, results: Results) -> None:
    """Write results.parquet, then results.json and report.html, each atomically.

    Raises:
        KafkaAssignorsError: a file cannot be written.
    """
    import pyarrow as pa

    files = {"results.json": json.dumps(results, allow_nan=False), "report.html": render(results)}
    rows = [{**row, "parameters": json.dumps(row["parameters"])} for row in results["scenarios"]]
    with as_pipeline_error(f"writing {folder.root}/{RESULTS_NAME}"):
        table = spark.createDataFrame(pa.Table.from_pylist(rows, schema(RESULTS)))
        table.coalesce(1).write.parquet(folder.at(_UNFINISHED), "overwrite", compression="zstd")
        # Not `Storage.files`, whose patterns fail if the name of the folder has a colon.
        written = folder.sizes(quote(folder.at(_UNFINISHED), safe="/:"))
        [part] = (name for name in written if name.startswith("part-"))
        folder.move(f"{_UNFINISHED}/{part}", RESULTS_NAME)
        for left in (_UNFINISHED, f".{RESULTS_NAME}.crc"):  # a checksum moves with its file on a local disk
            folder.remove(left)
    for name, text in files.items():
        with as_pipeline_error(f"writing {folder.root}/{name}"):
            folder.write(name, text)
