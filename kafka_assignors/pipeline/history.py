"""A recorded history, read with Spark and handed on as values: one ``Recorded`` a group.

The rows never become Python objects: Spark reads, checks and selects, and each group's columns come to the
driver as Arrow, 72 bytes a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError, PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.backtest.recorded import LoadColumns, Recorded, assemble, check_size
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.tables.landing import read_samples
from kafka_assignors.pipeline.tables.schemas import LOAD
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_HORIZON_S = 3600.0

__all__ = ["checked_load", "group_sizes", "load_columns", "read_history", "within"]


def read_history(
    spark: SparkSession,
    folder: str,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    recorded_members: int | None = None,
    step_s: float = 60.0,
) -> list[Recorded]:
    """Read what a pipeline recorded into ``folder``: its load, or where no model ran its samples.

    Args:
        spark: a session.
        folder: of the pipeline, with ``load/`` in it; anything that Spark can read from.
        groups: which; all there are, when not given.
        since: leave out what was before; with a time zone.
        until: leave out what was from then on.
        recorded_members: see `service_rate.service_rate`.
        step_s: how long a step shall be that is made of samples; in a load they are as they are.

    Returns:
        A history for each group, by name.

    Raises:
        OptionError: there are samples only, and ``step_s`` does not divide a quarter of an hour.
        HistoryError: there is nothing like that in the folder, or it cannot be read.
    """
    with _reading(folder):
        load = _load_of(spark, folder, step_s).transform(lambda rows: within(rows, since, until))
        wanted = load["group"].isin(*groups) if groups else load["group"] != ""  # "": of a topic alone
        # Each group is fetched by itself, which must not make the model learn all of them each time.
        rows = load.where(wanted).persist()
        try:
            sizes = group_sizes(rows)
            if missing := sorted(set(groups) - sizes.keys()):
                raise HistoryError(f"{folder}: nothing of a group {missing[0]!r} in the time asked for")
            if not sizes:
                raise HistoryError(f"{folder}: nothing was recorded in the time asked for")
            return [
                assemble(group, load_columns(rows, group), recorded_members=recorded_members)
                for group in sizes
            ]
        finally:
            rows.unpersist()


def group_sizes(load: DataFrame) -> dict[str, int]:
    """How many steps times partitions the history of each group has, by name; before it is fetched.

    Raises:
        HistoryError: a group's are more than can be had at once.
    """
    from pyspark.sql import functions as F

    step = F.min("step_s")
    steps = (F.unix_micros(F.max("time")) - F.unix_micros(F.min("time"))) / 1e6 / step + 1
    partitions = F.count_distinct("topic", "partition")
    found = load.groupBy("group").agg(steps.cast("bigint").alias("steps"), partitions.alias("partitions"))
    sizes = {}
    for row in found.orderBy("group").collect():
        check_size(row.group, row.steps or 0, row.partitions)
        sizes[row.group] = (row.steps or 0) * row.partitions
    return sizes


def _load_of(spark: SparkSession, folder: str, step_s: float) -> DataFrame:
    storage = Storage(spark, folder)
    if any(name.startswith("date=") for name in storage.folders("load")):
        return checked_load(spark, folder)
    if storage.folders("samples"):
        horizon_s = step_s * max(1, round(_HORIZON_S / step_s))
        settings = LoadSettings(step_s=step_s, horizon_s=horizon_s)
        return model_load(read_samples(spark, folder), settings)
    raise HistoryError(f"{folder}: no load/ and no samples/ in it: is this the folder of a pipeline?")


def checked_load(spark: SparkSession, folder: str) -> DataFrame:
    """Open the load table of a pipeline's folder and check that it is one.

    Raises:
        HistoryError: there is none, a column is missing, or one is of another type.
    """
    from pyspark.sql.types import StructType

    path = f"{folder.rstrip('/')}/load"
    with _reading(folder):
        rows = spark.read.parquet(path)
        # Spark passes over empty ones without a word.
        for empty in Storage(spark, folder).empty_files("load/date=*/*.parquet"):
            raise HistoryError(
                f"{folder}/{empty} is no whole Parquet file: remove it, or run the pipeline again"
            )
        wanted: Any = StructType.fromDDL(LOAD)
        there = {field.name: field.dataType for field in rows.schema}
        for field in wanted:
            if field.name not in there:
                raise HistoryError(
                    f"{path}: no column {field.name!r}: not written by a pipeline of this version"
                )
            if there[field.name] != field.dataType:
                raise HistoryError(
                    f"{path}: column {field.name!r} is {there[field.name].simpleString()}, "
                    f"expected {field.dataType.simpleString()}"
                )
        return rows.select(*wanted.names)


def within(rows: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Keep the steps that lie wholly in a time; whole days are skipped without being read."""
    from pyspark.sql import functions as F

    began = F.col("time") - F.make_dt_interval(secs=F.col("step_s"))
    if since is not None:
        rows = rows.where((F.col("date") >= F.lit(_utc(since).date())) & (began >= F.lit(_utc(since))))
    if until is not None:
        rows = rows.where(
            (F.col("date") <= F.lit(_utc(until).date())) & (F.col("time") <= F.lit(_utc(until)))
        )
    return rows


def load_columns(load: DataFrame, group: str) -> LoadColumns:
    """Fetch the rows of a group."""
    from pyspark.sql import functions as F

    numbers = ("step_s", "arrived", "served", "lag", "forecast", "horizon_s")
    table = (
        load.where(load["group"] == group)
        .select(
            F.unix_micros("time").alias("time"),
            "topic",
            F.col("partition").cast("bigint").alias("partition"),
            *(F.col(name).cast("double").alias(name) for name in numbers),
        )
        .toArrow()
    )
    return LoadColumns(
        time=table["time"].to_numpy(),
        topic=_names(table["topic"]),
        partition=table["partition"].to_numpy(),
        **{name: _numbers(table[name]) for name in numbers},
    )


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Null becomes NaN."""
    values: npt.NDArray[np.float64] = column.to_numpy().astype(np.float64)
    return values


def _names(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """One Python string a topic, not one a row."""
    encoded = column.combine_chunks().dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist(), dtype=object)
    found: npt.NDArray[np.object_] = names[encoded.indices.to_numpy()]
    return found


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc)


@contextmanager
def _reading(folder: str) -> Iterator[None]:
    """Say in one line what Spark says in a page."""
    try:
        with one_line(folder):
            yield
    except PipelineError as error:
        raise HistoryError(str(error)) from error
