"""The files of a back-test: ``results.parquet``, ``series.parquet``, ``results.json``, ``report.html``.

The first two are folders of Parquet files, which Spark's workers write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.job import SERIES, schema
from kafka_assignors.pipeline.backtest.page import render
from kafka_assignors.pipeline.backtest.results import Results
from kafka_assignors.pipeline.backtest.summary import FIGURES
from kafka_assignors.pipeline.faults import one_line
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

SERIES_NAME = "series.parquet"


@contextmanager
def results_folder(spark: SparkSession, root: str) -> Iterator[Storage]:
    """Create the folder of the results before the back-test starts; an error in the block removes the series.

    Raises:
        KafkaAssignorsError: the folder cannot be created, is not empty, or the workers write to another one.
    """
    folder = Storage(spark, root)
    with one_line(f"writing to {root}"):
        folder.make("")
        if not folder.is_empty():
            raise KafkaAssignorsError(f"{root} is not empty: give --out a new folder")
        spark.range(1).write.parquet(folder.at(".probe"))
        is_shared = spark.read.schema("id long").parquet(folder.to_read(".probe")).count() == 1
        folder.remove(".probe")
    if not is_shared:
        raise KafkaAssignorsError(
            f"{root}: the workers of this Spark have another folder of this name: give --out a folder that "
            "they share with the driver, such as s3a://bucket/backtest"
        )
    try:
        yield folder
    except BaseException:
        with suppress(Exception):  # the first error counts
            folder.remove(SERIES_NAME)
        raise


def read_series(spark: SparkSession, folder: Storage, scenarios: Sequence[int]) -> dict[int, Series]:
    """Return the series that the workers wrote, of some scenarios, by number.

    Raises:
        KafkaAssignorsError: they cannot be read.
    """
    from pyspark.sql import functions as F

    with one_line(f"reading {folder.root}/{SERIES_NAME}"):
        rows = spark.read.parquet(folder.to_read(SERIES_NAME)).where(F.col("scenario").isin(*scenarios))
        table = rows.orderBy("scenario", "at_s").toArrow()
    columns = {name.removesuffix("_s"): table[name].to_numpy() for name in SERIES}
    numbers = columns.pop("scenario")
    return {
        number: Series(**{name: column[numbers == number] for name, column in columns.items()})
        for number in scenarios
    }


def save(spark: SparkSession, folder: Storage, results: Results) -> None:
    """Write results.parquet, then results.json and report.html, each atomically.

    Raises:
        KafkaAssignorsError: a file cannot be written.
    """
    import pyarrow as pa

    rows = [{**row, "parameters": json.dumps(row["parameters"])} for row in results["scenarios"]]
    with one_line(f"writing {folder.root}/results.parquet"):
        table = spark.createDataFrame(pa.Table.from_pylist(rows, schema(RESULTS)))
        table.coalesce(1).write.parquet(folder.at("results.parquet"), compression="zstd")
    files = {"results.json": json.dumps(results, allow_nan=False), "report.html": render(results)}
    for name, text in files.items():
        with one_line(f"writing {folder.root}/{name}"):
            folder.write(name, text)
