"""A recorded history, read with Spark and handed on as values: one ``Recorded`` a group.

The rows never become Python objects: Spark reads, checks and selects, and each group's columns come to the
driver as Arrow, 72 bytes a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.spark.landing import read_samples
from kafka_assignors.spark.load_model import model_load
from kafka_assignors.spark.recorded import LoadColumns, Recorded, assemble
from kafka_assignors.spark.schemas import LOAD
from kafka_assignors.spark.storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_NOT_WHOLE = ("is not a Parquet file", "Could not read footer", "FAILED_READ_FILE")
_PATH = re.compile(r"(?:[a-z0-9]+:)?/[^\s'\"]*\.parquet")

_HORIZON_S = 3600.0

__all__ = ["checked_load", "load_columns", "read_history", "within"]


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
        recorded_members: see `recorded.service_rate`.
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
        found = load_columns(load.where(wanted))
    if missing := sorted(set(groups) - set(found)):
        raise HistoryError(f"{folder}: nothing of a group {missing[0]!r} in the time asked for")
    if not found:
        raise HistoryError(f"{folder}: nothing was recorded in the time asked for")
    return [assemble(group, rows, recorded_members=recorded_members) for group, rows in sorted(found.items())]


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
        for empty in _empty_files(path):
            raise HistoryError(f"{folder}: {_half_written(empty)}")
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


def _empty_files(path: str) -> list[str]:
    """Which Parquet files of a folder on this machine are empty: Spark passes over them without a word."""
    return sorted(str(file) for file in Path(path).glob("date=*/*.parquet") if not file.stat().st_size)


def within(rows: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Keep the steps that lie wholly in a time; whole days are skipped without being read."""
    from pyspark.sql import functions as f

    began = f.col("time") - f.make_dt_interval(secs=f.col("step_s"))
    if since is not None:
        rows = rows.where((f.col("date") >= f.lit(_utc(since).date())) & (began >= f.lit(_utc(since))))
    if until is not None:
        rows = rows.where(
            (f.col("date") <= f.lit(_utc(until).date())) & (f.col("time") <= f.lit(_utc(until)))
        )
    return rows


def load_columns(load: DataFrame) -> dict[str, LoadColumns]:
    """Fetch the rows: group -> its columns."""
    from pyspark.sql import functions as f

    numbers = ("step_s", "arrived", "served", "lag", "forecast", "horizon_s")
    table = load.select(
        f.unix_micros("time").alias("time"),
        "group",
        "topic",
        f.col("partition").cast("bigint").alias("partition"),
        *(f.col(name).cast("double").alias(name) for name in numbers),
    ).toArrow()
    whose = _names(table["group"])
    everything = LoadColumns(
        time=table["time"].to_numpy(),
        topic=_names(table["topic"]),
        partition=table["partition"].to_numpy(),
        **{name: _numbers(table[name]) for name in numbers},
    )
    return {str(group): everything.where(whose == group) for group in set(whose)}


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
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise HistoryError(f"{folder}: {_in_a_line(error)}") from error


def _in_a_line(error: Exception) -> str:
    text = str(error)
    if any(sign in text for sign in _NOT_WHOLE):
        found = _PATH.search(text)
        return _half_written(found[0] if found else "a file")
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


def _half_written(path: str) -> str:
    return f"{path} is no whole Parquet file: remove it, or run the pipeline again"
