"""Reads recorded histories with Spark: one ``Recorded`` a group.

Spark reads, checks and selects the rows.  The driver gets the columns of each group as Arrow, 72 bytes a row,
so rows never become Python objects.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError, PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.settings import MOST_STEPS_AHEAD
from kafka_assignors.pipeline.backtest.parts import MOST, Frame, LoadColumns, check_size, part_of, step_length
from kafka_assignors.pipeline.backtest.recorded import MakeArray, Recorded, assemble, joined
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import has_load, read_load
from kafka_assignors.pipeline.tables.landing import read_samples, utc
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.validators import seconds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_HORIZON_S = 3600.0  # length of forecasts, rounded to whole steps; less if the steps are very short

_NUMBERS = ("step_s", "arrived", "served", "lag", "forecast", "horizon_s")
_USED = ("group", "time", "topic", "partition", *_NUMBERS)
"""Columns of the load table that a history is made of."""

CELLS = 1_000_000
"""Steps x partitions that the driver reads at a time, at least one partition.

A cell takes 300 bytes in Python and as many in Java.
"""

MOST_IN_FILES = 500_000_000
"""Maximum steps x partitions of a group with its arrays in files.  In a worker, the two arrays take 8 GB."""


def read_history(
    spark: SparkSession,
    folder: str,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
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
        since: start of the history, with a time zone; None: the first step.
        until: end of the history, exclusive, with a time zone; None: the last step.
        recorded_members: see ``backtest.service_rate``.
        step_s: length of a step, seconds, if there are only samples; a load has its own.
        scratch: a local folder for the arrays; it must outlive the histories.  The driver then has only
            `CELLS` in memory at a time.  None: the arrays are in memory.

    Returns:
        A history for each group, by name.

    Raises:
        OptionError: there are only samples, and ``step_s`` does not divide a quarter of an hour.
        HistoryError: the folder has no such history, or it cannot be read.
    """
    with _reading(folder):
        load = _load_of(spark, folder, step_s).transform(lambda rows: within(rows, since, until))
        wanted = load["group"].isin(*groups) if groups else load["group"] != ""  # "": a topic without a group
        # Persisted, because each group is fetched separately and the model must not run for each.
        rows = load.where(wanted).select(*_USED).persist()
        try:
            sizes = group_sizes(rows, MOST if scratch is None else MOST_IN_FILES)
            if missing := sorted(set(groups) - sizes.keys()):
                raise HistoryError(f"{folder}: no rows of group {missing[0]!r} in the requested time")
            if not sizes:
                raise HistoryError(f"{folder}: no rows in the requested time")
            return [
                assemble(group, load_columns(rows, group), recorded_members=recorded_members)
                if scratch is None
                else _in_files(rows, group, cells, recorded_members, scratch / str(number))
                for number, (group, cells) in enumerate(sizes.items())
            ]
        finally:
            rows.unpersist()


def _in_files(
    rows: DataFrame, group: str, cells: int, recorded_members: int | None, folder: Path
) -> Recorded:
    """Read the history of a group, a large one in parts; its arrays are in files of a new folder."""
    make_array = array_files(folder)
    if cells <= CELLS:
        columns = load_columns(rows, group)
        return assemble(group, columns, recorded_members=recorded_members, make_array=make_array)
    own = rows.where(rows["group"] == group)
    own = own.repartitionByRange(-(-cells // CELLS), "topic", "partition").persist()
    try:
        frame = frame_of_rows(own, group)
        check_size(group, frame.steps, frame.partitions, MOST_IN_FILES)
        parts = (
            part_of(frame, load_columns(own.where(condition), group), begin, end)
            for begin, end, condition in slices(frame)
        )
        return joined(frame, parts, recorded_members=recorded_members, make_array=make_array)
    finally:
        own.unpersist()


def frame_of_rows(rows: DataFrame, group: str) -> Frame:
    """Return the steps and partitions of the rows of a group, at least one.

    Raises:
        HistoryError: steps have different lengths or no length, or a partition number is negative.
    """
    from pyspark.sql import functions as F

    [span] = rows.agg(
        *(F.unix_micros(of("time")).alias(name) for of, name in ((F.min, "first"), (F.max, "last"))),
        *(of("step_s").alias(name) for of, name in ((F.min, "shortest"), (F.max, "longest"))),
        F.min("partition").alias("lowest"),
    ).collect()
    topics = rows.groupBy("topic").agg((F.max("partition") + 1).alias("partitions")).collect()
    horizons = rows.where("forecast is not null and horizon_s > 0").groupBy("horizon_s").count()
    often = horizons.orderBy(F.desc("count"), "horizon_s").head()
    step_us = step_length(group, span.shortest, span.longest, span.lowest)
    return Frame(
        group=group,
        first=span.first,
        steps=(span.last - span.first) // step_us + 1,
        step_s=span.shortest,
        topics={row.topic: row.partitions for row in sorted(topics)},
        horizon_s=None if often is None else often.horizon_s,
    )


def slices(frame: Frame) -> Iterator[tuple[int, int, Column]]:
    """Yield parts of up to `CELLS` cells or of one partition: first partition, end, condition of the rows."""
    from pyspark.sql import functions as F

    width = max(CELLS // frame.steps, 1)
    starts = np.cumsum([0, *frame.topics.values()])
    topics = list(frame.topics)

    def at(number: int) -> tuple[str, int]:
        topic = int(np.searchsorted(starts, number, side="right")) - 1
        return topics[topic], number - int(starts[topic])

    for begin in range(0, frame.partitions, width):
        end = min(begin + width, frame.partitions)
        (low, first), (high, last) = at(begin), at(end - 1)
        bounds = (_sort_key(F.lit(topic), F.lit(n)) for topic, n in ((low, first), (high, last)))
        condition = _sort_key(F.col("topic"), F.col("partition")).between(*bounds)
        condition &= F.col("topic").between(low, high)
        if low == high:  # Spark skips persisted rows only by conditions on plain columns
            condition &= F.col("partition").between(first, last)
        yield begin, end, condition


def _sort_key(topic: Column, partition: Column) -> Column:
    """Return a value by which rows are in the planners' order of partitions."""
    from pyspark.sql import functions as F

    return F.struct(topic.alias("topic"), partition.cast("bigint").alias("partition"))


def array_files(folder: Path) -> MakeArray:
    """Return a function that makes arrays in files of a new folder, memory-mapped."""
    folder.mkdir()

    def make_array(name: str, shape: tuple[int, int], kind: type) -> npt.NDArray[Any]:
        path = folder / f"{name}.npy"
        array: npt.NDArray[Any] = np.lib.format.open_memmap(path, "w+", kind, shape)
        # The file is sparse.  A write to it that finds the disk full would kill the process (SIGBUS).
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                try:
                    os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
                except OSError as error:  # some file systems cannot reserve space
                    if error.errno in (errno.ENOSPC, errno.EDQUOT):
                        raise
        return array

    return make_array


def read_columns(
    spark: SparkSession, folder: str, group: str, *, until: datetime | None = None, last_us: int
) -> LoadColumns:
    """Read the last rows of one group, of ``last_us`` microseconds.

    Other arguments and errors are those of `read_history`.
    """
    from pyspark.sql import functions as F

    with _reading(folder):
        load = _load_of(spark, folder).transform(lambda rows: within(rows, None, until))
        rows = load.where(load["group"] == group).persist()
        try:
            [(newest,)] = rows.agg(F.unix_micros(F.max("time"))).collect()
            if newest is None:
                raise HistoryError(f"{folder}: no rows of group {group!r} in the requested time")
            recent = rows.where(F.unix_micros("time") > newest - last_us)
            group_sizes(recent)
            return load_columns(recent, group)
        finally:
            rows.unpersist()


def group_sizes(load: DataFrame, most: int = MOST) -> dict[str, int]:
    """Return steps x partitions of the history of each group, by name; no history is fetched.

    Raises:
        HistoryError: a history is larger than ``most``.
    """
    from pyspark.sql import functions as F

    of_topics = load.groupBy("group", "topic").agg(
        F.min("time").alias("first"),
        F.max("time").alias("last"),
        F.min("step_s").alias("step_s"),
        (F.max("partition").cast("bigint") + 1).alias("partitions"),  # as in a `Frame`
    )
    length_s = (F.unix_micros(F.max("last")) - F.unix_micros(F.min("first"))) / 1e6
    steps = F.try_divide(length_s, F.min("step_s")) + 1  # null: steps of 0 s, which `step_length` refuses
    counts = of_topics.groupBy("group").agg(
        steps.cast("bigint").alias("steps"), F.sum("partitions").alias("partitions")
    )
    sizes = {}
    for row in counts.orderBy("group").collect():
        check_size(row.group, row.steps or 0, row.partitions, most)
        sizes[row.group] = (row.steps or 0) * row.partitions
    return sizes


def _load_of(spark: SparkSession, folder: str, step_s: float = 60.0) -> DataFrame:
    storage = Storage(spark, folder)
    with _reading(folder):
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


def within(rows: DataFrame, since: datetime | None, until: datetime | None) -> DataFrame:
    """Keep the steps wholly within a period; days outside of it are not read."""
    from pyspark.sql import functions as F

    began = F.col("time") - F.make_dt_interval(secs=F.col("step_s"))
    if since is not None:
        rows = rows.where((F.col("date") >= F.lit(utc(since).date())) & (began >= F.lit(utc(since))))
    if until is not None:
        rows = rows.where((F.col("date") <= F.lit(utc(until).date())) & (F.col("time") <= F.lit(utc(until))))
    return rows


def load_columns(load: DataFrame, group: str) -> LoadColumns:
    """Fetch the rows of a group."""
    from pyspark.sql import functions as F

    table = (
        load.where(load["group"] == group)
        .select(
            F.unix_micros("time").alias("time"),
            "topic",
            F.col("partition").cast("bigint").alias("partition"),
            *(F.col(name).cast("double").alias(name) for name in _NUMBERS),
        )
        .toArrow()
    )
    return LoadColumns(
        time=table["time"].to_numpy(),
        topic=_names(table["topic"]),
        partition=table["partition"].to_numpy(),
        **{name: _numbers(table[name]) for name in _NUMBERS},
    )


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return a column as floats; null becomes NaN."""
    values: npt.NDArray[np.float64] = column.to_numpy().astype(np.float64)
    return values


def _names(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """Return the topic of each row, with one Python string a topic."""
    encoded = column.combine_chunks().dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist(), dtype=object)
    topics: npt.NDArray[np.object_] = names[encoded.indices.to_numpy()]
    return topics


@contextmanager
def _reading(folder: str) -> Iterator[None]:
    """Turn errors of Spark in the block into a `HistoryError` of one line."""
    try:
        with one_line(folder):
            yield
    except PipelineError as error:
        raise HistoryError(str(error)) from error
