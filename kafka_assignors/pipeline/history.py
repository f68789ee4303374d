"""Reads recorded histories with Spark: one ``Recorded`` a group.

Spark reads, checks and selects the rows, and sorts them into parts by partition.  The driver gets the columns
of one part at a time as Arrow, 56 bytes a row, so rows never become Python objects.
"""

from __future__ import annotations

import errno
import math
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError, PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.settings import MOST_STEPS_AHEAD
from kafka_assignors.pipeline.backtest.history_shape import HistoryShape, LoadColumns, Span, shape_of
from kafka_assignors.pipeline.backtest.recorded import MakeArray, Recorded, RecordedBuilder
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import has_load, read_load
from kafka_assignors.pipeline.tables.reading import read_samples, utc
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.validators import seconds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_HORIZON_S = 3600.0  # length of forecasts, rounded to whole steps; less if the steps are very short
_NUMBERS = ("arrived", "served", "lag", "forecast", "horizon_s")

CELLS = 250_000
"""About this many steps x partitions, of 300 bytes each, are read at a time, or one whole partition."""

MOST = 200_000_000
"""Maximum steps x partitions of a group in memory: one array of this size takes 1.6 GB."""

MOST_IN_FILES = 500_000_000
"""Maximum steps x partitions of a group with arrays in files.  In a worker, two such arrays take 8 GB."""


def read_history(
    spark: SparkSession,
    folder: str,
    *,
    groups: Sequence[str] = (),
    since: datetime | timedelta | None = None,
    until: datetime | None = None,
    recorded_members: int | None = None,
    step_s: float = 60.0,
    scratch: Path | None = None,
) -> list[Recorded]:
    """Read the load that a pipeline recorded into ``folder``, or its samples if no model ran.

    Args:
        spark: a session.
        folder: folder of the pipeline, a path or a URI that Spark can read.
        groups: names of groups; all groups by default.
        since: start of the history, with a time zone, or its length, counted back from the end of the last
            step; None: the first step.
        until: end of the history, exclusive, with a time zone; None: the last step.
        recorded_members: see ``backtest.service_rate``.
        step_s: length of a step, seconds, if there are only samples; a load has its own.
        scratch: a local folder for a file with the arrays; it must outlive the histories.  The driver then
            has about `CELLS` in memory at a time.  None: the arrays are in memory.

    Returns:
        A history for each group, by name.

    Raises:
        OptionError: there are only samples, and ``step_s`` does not divide a quarter of an hour.
        HistoryError: the folder has no such history, or it cannot be read.
    """
    import pyarrow as pa
    from pyspark.sql import functions as F

    with _reading(folder):
        load = _load_of(spark, folder, step_s)
        load = _within(load, None if isinstance(since, timedelta) else since, until)
        wanted = load["group"].isin(*groups) if groups else load["group"] != ""  # "": a topic without a group
        rows = load.where(wanted).select(
            *("group", "topic", "partition", "step_s", F.unix_micros("time").alias("time")),
            *(F.col(name).cast("double").alias(name) for name in _NUMBERS),
        )
        if not has_load(spark, folder):
            rows.persist()  # the model must not run for each pass over the rows
        try:
            recent = _last(rows, since) if isinstance(since, timedelta) else rows
            shapes = _shapes(recent, MOST if scratch is None else MOST_IN_FILES)
            if missing := sorted(set(groups) - {shape.group for shape in shapes}):
                raise HistoryError(f"{folder}: no rows of group {missing[0]!r} in the requested time")
            if not shapes:
                raise HistoryError(f"{folder}: no rows in the requested time")
            sizes = [shape.partitions for shape in shapes]
            bases = list(accumulate(sizes, initial=0))  # index of the first partition of each group
            starts = [
                {"group": shape.group, "topic": topic, "start": base + start}
                for base, shape in zip(bases, shapes, strict=False)
                for topic, start in shape.starts.items()
            ]
            table = F.broadcast(spark.createDataFrame(pa.Table.from_pylist(starts)))
            indexed = recent.join(table, ["group", "topic"])
            indexed = indexed.withColumn("index", F.col("start") + F.col("partition"))
            size = sum(shape.size for shape in shapes)
            make_array = np.empty if scratch is None else array_file(scratch / "arrays", size)
            builders = [RecordedBuilder(shape, make_array) for shape in shapes]
            _build(builders, shapes, bases, indexed)
            return [builder.recorded(recorded_members) for builder in builders]
        finally:
            rows.unpersist()


def _last(rows: DataFrame, span: timedelta) -> DataFrame:
    """Keep the rows of the last ``span``."""
    from pyspark.sql import functions as F

    [(newest,)] = rows.agg(F.max("time")).collect()
    return rows if newest is None else rows.where(rows["time"] > newest - span // timedelta(microseconds=1))


def _shapes(rows: DataFrame, most: int) -> list[HistoryShape]:
    """Return the steps and partitions of each group, by name, in one pass over the rows.  No row is fetched.

    Raises:
        HistoryError: a history has more than ``most`` steps x partitions, steps have different lengths or no
            length, or a partition number is negative.
    """
    from pyspark.sql import functions as F

    has_forecast = F.col("forecast").isNotNull() & (F.col("horizon_s") > 0)
    horizon = F.when(has_forecast, F.col("horizon_s")).alias("horizon_s")
    bounds = {"times": "time", "lengths_s": "step_s", "partitions": "partition"}
    spans = rows.groupBy("group", "topic", horizon).agg(
        *(F.array(F.min(column), F.max(column)).alias(name) for name, column in bounds.items()),
        F.count("*").alias("rows"),
    )
    by_group: dict[str, list[Span]] = {}
    for row in spans.orderBy("group").collect():
        values = row.asDict()
        by_group.setdefault(values.pop("group"), []).append(Span(**values))
    shapes = [shape_of(group, of_group) for group, of_group in by_group.items()]
    for shape in shapes:
        if shape.steps * shape.partitions > most:
            raise HistoryError(
                f"group {shape.group!r}: {shape.steps:,} steps of {shape.partitions:,} partitions are too "
                f"many at once: choose a part with --since and --until"
            )
    return shapes


def _build(
    builders: Sequence[RecordedBuilder], shapes: Sequence[HistoryShape], bases: Sequence[int], rows: DataFrame
) -> None:
    """Fetch the rows of all groups, about `CELLS` at a time, and give each group its own."""
    rows = rows.select(*(column.name for column in fields(LoadColumns)))
    parts = -(-sum(shape.steps * shape.partitions for shape in shapes) // CELLS)
    begin = 0
    for table in _tables(rows.repartitionByRange(parts, "index")) if parts > 1 else [rows.toArrow()]:
        # Null becomes NaN.
        columns = {name: table[name].to_numpy() for name in table.column_names}
        order = np.argsort(columns["index"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        index = columns["index"]
        while begin <= index[-1]:
            number = bisect_right(bases, begin) - 1
            base, width = bases[number], max(CELLS // shapes[number].steps, 1)
            end = min(begin + width, bases[number + 1], int(index[-1]) + 1)
            first, after = np.searchsorted(index, (begin, end))
            part = {name: column[first:after] for name, column in columns.items()}
            part["index"] = part["index"] - base
            builders[number].add(LoadColumns(**part), begin - base, end - base)
            begin = end


def _tables(rows: DataFrame) -> Iterator[pa.Table]:
    """Yield one table for each of Spark's partitions that has rows.

    In Spark 4.2, ``toLocalIterator`` of a DataFrame keeps all rows in Java until its end.  An RDD's does not.
    """
    import pyarrow as pa
    from pyspark import TaskContext

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = TaskContext.get().partitionId()
        for batch in batches:
            with pa.BufferOutputStream() as buffer, pa.ipc.new_stream(buffer, batch.schema) as stream:
                stream.write_batch(batch)
            packed_rows = buffer.getvalue().to_pybytes()
            yield pa.RecordBatch.from_pydict({"part": [part], "rows": [packed_rows]}, schema)

    schema = pa.schema([("part", pa.int32()), ("rows", pa.binary())])
    batches = rows.mapInArrow(packed, "part int, rows binary").rdd.toLocalIterator()
    for _, of_part in groupby(batches, key=itemgetter("part")):
        yield pa.concat_tables(pa.ipc.open_stream(batch.rows).read_all() for batch in of_part)


def array_file(path: Path, size: int) -> MakeArray:
    """Return a function that makes arrays, together of up to ``size`` bytes, in a new file, memory-mapped.

    One file holds the arrays of all groups, because each mapped file stays open, and the system limits
    open files.
    """
    whole = np.memmap(path, np.uint8, "w+", shape=(size,))
    # Reserve the space: a write to a sparse file that finds the disk full would kill the process (SIGBUS).
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:  # some file systems cannot reserve space
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
    used = 0

    def make_array(shape: tuple[int, int], kind: type) -> npt.NDArray[Any]:
        nonlocal used
        begin, used = used, used + math.prod(shape) * np.dtype(kind).itemsize
        return whole[begin:used].view(kind).reshape(shape)

    return make_array


def _load_of(spark: SparkSession, folder: str, step_s: float) -> DataFrame:
    storage = Storage(spark, folder)
    if has_load(spark, folder):
        # Spark silently ignores empty files.
        for empty in storage.empty_files("load/date=*/*.parquet"):
            raise HistoryError(
                f"{folder}/{empty} is not a complete Parquet file: remove it, or run the pipeline again"
            )
        return read_load(spark, folder)
    if storage.folders("samples"):
        step_s = seconds("step_s", step_s, 0.001, 900)
        horizon_s = step_s * min(max(1, round(_HORIZON_S / step_s)), MOST_STEPS_AHEAD)
        settings = LoadSettings(step_s=step_s, horizon_s=horizon_s)
        return model_load(read_samples(spark, folder), settings)
    raise HistoryError(f"{folder}: it has no load/ and no samples/: is this the folder of a pipeline?")


def _within(rows: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Keep the steps wholly within a period; days outside of it are not read."""
    from pyspark.sql import functions as F

    began = F.col("time") - F.make_dt_interval(secs=F.col("step_s"))
    if since is not None:
        rows = rows.where((F.col("date") >= F.lit(utc(since).date())) & (began >= F.lit(utc(since))))
    if until is not None:
        rows = rows.where((F.col("date") <= F.lit(utc(until).date())) & (F.col("time") <= F.lit(utc(until))))
    return rows


@contextmanager
def _reading(folder: str) -> Iterator[None]:
    """Turn errors of Spark in the block into a `HistoryError` of one line."""
    try:
        with as_pipeline_error(folder):
            yield
    except PipelineError as error:
        raise HistoryError(str(error)) from error
