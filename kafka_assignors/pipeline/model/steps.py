"""The fold of ``kafka_assignors.forecast`` over a table: samples of a partition in, steps out.

A batch and a stream fold each partition with the same code, so they give the same rows.  Python gets the
samples of a partition as Arrow or pandas columns of integers.  Spark converts times back to timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kafka_assignors.forecast import (
    UNKNOWN,
    LoadRow,
    LoadSettings,
    Partition,
    Sample,
    SampleCounts,
    decode,
    encode,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

KEY = ("group", "topic", "partition")

STEPS = """
    group string, topic string, partition int,
    at bigint COMMENT 'end of the step, microseconds; null: no step, only the counts',
    arrived bigint, served bigint, lag bigint,
    time_lag bigint COMMENT 'microseconds',
    quality string,
    level double, trend double, season double, arrivals double, error double,
    samples bigint COMMENT 'given since the row before', late bigint, duplicates bigint,
    ahead bigint
"""
"""Rows of the fold: one a step; the first row of each call has the counts of samples."""

STATE = "partition binary"

_Values = tuple[Any, ...]


def with_numbers(samples: DataFrame) -> DataFrame:
    """Convert samples for the fold: integers, with ``UNKNOWN`` for null."""
    from pyspark.sql import functions as F

    return samples.select(
        *KEY,
        F.unix_micros("time").alias("at"),
        *(
            F.coalesce(name, F.lit(UNKNOWN).cast("bigint")).alias(name)
            for name in ("begin_offset", "end_offset", "committed_offset")
        ),
    )


def as_load(steps: DataFrame, settings: LoadSettings) -> DataFrame:
    """Convert steps to rows of ``LOAD``."""
    from pyspark.sql import functions as F

    from kafka_assignors.pipeline.time import utc_date

    step_s = F.lit(float(settings.step_s))
    timed = steps.where(F.col("at").isNotNull()).withColumn("time", F.timestamp_micros("at"))
    return timed.select(
        "time",
        step_s.alias("step_s"),
        *KEY,
        "arrived",
        "served",
        (F.col("arrived") / step_s).alias("arrival_rate"),
        (F.col("served") / step_s).alias("service_rate"),
        "lag",
        (F.col("time_lag") / F.lit(1e6)).alias("time_lag_s"),
        "level",
        "trend",
        "season",
        F.lit(float(settings.horizon_s)).alias("horizon_s"),
        F.col("arrivals").alias("forecast"),
        F.col("error").alias("forecast_error"),
        "quality",
        utc_date("time").alias("date"),
    )


def fold_all(settings: LoadSettings, *, flush: bool) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """Make the function for ``applyInArrow`` that folds all samples of a partition."""

    def fold(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        import pyarrow as pa

        partition = Partition(settings)
        rows, tally = partition.take(samples_of(table))
        if flush:
            rows += partition.flush()
        columns = _columns(tuple(part.as_py() for part in key), rows, tally)
        schema = _arrow_schema()
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)

    return fold


def fold_more(
    settings: LoadSettings,
) -> Callable[[_Values, Iterator[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    """Make the function for ``applyInPandasWithState`` that folds more samples of a partition, in any order.

    A partition behind the watermark is flushed and dropped.  Samples ahead of the batch's time are dropped; a
    repeated batch has the same time again.
    """

    def fold(key: _Values, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        import pandas as pd

        partition = decode(bytes(state.get[0]), settings) if state.exists else Partition(settings)
        if state.hasTimedOut:
            rows, tally = partition.flush(), SampleCounts(0, 0, 0)
            state.remove()
        else:
            given = [
                sample
                for frame in frames
                for sample in _samples(frame.iloc[:, column].tolist() for column in range(3, 7))
            ]
            rows, tally = partition.take(given, 1000 * state.getCurrentProcessingTimeMs())
            state.update((encode(partition),))
            state.setTimeoutTimestamp(max(partition.newest // 1000, state.getCurrentWatermarkMs()) + 1)
        columns = _columns(key, rows, tally)
        yield pd.DataFrame(dict(zip(_names(), columns, strict=True)), dtype=object)

    return fold


def samples_of(table: pa.Table) -> list[Sample]:
    """Return the samples of a partition, from columns of `with_numbers`."""
    return _samples(table.column(column).to_pylist() for column in range(3, 7))


def _samples(columns: Iterable[Sequence[int]]) -> list[Sample]:
    return [Sample(*values) for values in zip(*columns, strict=True)]


def _columns(key: _Values, rows: list[LoadRow], tally: SampleCounts) -> list[list[Any]]:
    """Return the columns of ``STEPS``; a call without a step has one row for its counts."""
    values = [_values(row) for row in rows] or [(None,) * 11]
    counts = [tally, *[(0,) * len(tally)] * (len(values) - 1)]
    return [
        list(column)
        for column in zip(*((*key, *v, *c) for v, c in zip(values, counts, strict=True)), strict=True)
    ]


def _values(row: LoadRow) -> _Values:
    step, outlook = row
    forecast = (None,) * 5 if outlook is None else tuple(outlook)
    return (step.at, step.arrived, step.served, step.lag, step.time_lag, step.quality, *forecast)


def _names() -> list[str]:
    return list(_arrow_schema().names)


def _arrow_schema() -> pa.Schema:
    import pyarrow as pa

    whole, real, text = pa.int64(), pa.float64(), pa.string()
    types = {"group": text, "topic": text, "partition": pa.int32()}
    types |= dict.fromkeys(("at", "arrived", "served", "lag", "time_lag"), whole)
    types |= {"quality": text}
    types |= dict.fromkeys(("level", "trend", "season", "arrivals", "error"), real)
    types |= dict.fromkeys(SampleCounts._fields, whole)
    return pa.schema(list(types.items()))
