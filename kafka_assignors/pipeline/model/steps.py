"""Folds tables of samples to tables of steps, with ``kafka_assignors.forecast``.

A batch and a stream fold partitions with the same code, so they give the same rows.  Python gets samples as
columns of integers.  Spark converts times back to timestamps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_assignors.forecast import UNKNOWN, LoadSettings, SampleCounts
from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.rows import MISSING, QUALITIES, LoadRows
from kafka_assignors.forecast.bucket.steps import Samples
from kafka_assignors.pipeline.tables.schemas import LOAD, columns_of, utc_date

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = ("group", "topic", "partition")
ORDER = ("at", "begin_offset", "end_offset", "committed_offset")
"""Columns of a sample after `KEY`; samples of a partition are sorted by them."""

STEPS = """
    group string, topic string, partition int,
    at bigint COMMENT 'end of the step, microseconds; null: no step, only the counts',
    arrived bigint, served bigint, lag bigint,
    time_lag bigint COMMENT 'microseconds',
    quality string,
    level double, trend double, season double, arrivals double, error double,
    samples bigint COMMENT 'given in the call', late bigint, duplicates bigint,
    ahead bigint
"""
"""Rows of the fold, one for each step.  The first row of each call has only the counts of samples."""

_TYPES = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}
_SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in columns_of(STEPS).items()])


def with_numbers(samples: DataFrame) -> DataFrame:
    """Convert samples for the fold: integers, with ``UNKNOWN`` for null."""
    from pyspark.sql import functions as F

    return samples.select(
        *KEY,
        F.unix_micros("time").alias("at"),
        *(F.coalesce(name, F.lit(UNKNOWN).cast("bigint")).alias(name) for name in ORDER[1:]),
    )


def as_load(steps: DataFrame, settings: LoadSettings) -> DataFrame:
    """Convert steps to rows of ``LOAD``."""
    from pyspark.sql import functions as F

    step_s = F.lit(float(settings.step_s))
    columns = {
        "time": F.timestamp_micros("at"),
        "step_s": step_s,
        "arrival_rate": F.col("arrived") / step_s,
        "service_rate": F.col("served") / step_s,
        "time_lag_s": F.col("time_lag") / F.lit(1e6),
        "horizon_s": F.lit(float(settings.horizon_s)),
        "forecast": F.col("arrivals"),
        "forecast_error": F.col("error"),
    }
    rows = steps.where("at is not null").withColumns(columns).withColumn("date", utc_date("time"))
    return rows.select(*columns_of(LOAD))


def fold_all(
    batches: Iterator[pa.RecordBatch], settings: LoadSettings, *, flush: bool
) -> Iterator[pa.RecordBatch]:
    """Fold samples of whole partitions, ordered by `ORDER`, to rows of ``STEPS``, for ``mapInArrow``."""
    bucket = Bucket(settings)
    for chunk in _chunks(batches, bucket):
        rows, counts = bucket.take(samples_into(bucket, pa.Table.from_batches(chunk)))
        yield from table_of(bucket, rows, counts).to_batches()
    if flush:
        yield from table_of(bucket, bucket.flush(), SampleCounts(0, 0, 0)).to_batches()


def _chunks(batches: Iterator[pa.RecordBatch], bucket: Bucket) -> Iterator[list[pa.RecordBatch]]:
    """Join batches until they have eight samples per partition: each fold sorts all waiting samples."""
    chunk: list[pa.RecordBatch] = []
    for batch in batches:
        chunk.append(batch)
        if sum(map(len, chunk)) >= 8 * len(bucket.keys):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def samples_into(bucket: Bucket, table: pa.Table) -> Samples:
    """Convert rows of `with_numbers` to samples, and add new partitions to the bucket."""
    group, topic = (table.column(name).combine_chunks().dictionary_encode() for name in KEY[:2])
    group_of, topic_of = (column.indices.to_numpy().astype(np.int64) for column in (group, topic))
    pair = group_of * len(topic.dictionary) + topic_of
    # The number of a partition is below 2^31.
    codes, inverse = np.unique(pair << 31 | table.column("partition").to_numpy(), return_inverse=True)
    groups, topics = group.dictionary.to_pylist(), topic.dictionary.to_pylist()
    keys = [
        (groups[(code >> 31) // len(topics)], topics[(code >> 31) % len(topics)], code & (1 << 31) - 1)
        for code in codes.tolist()
    ]
    columns = (table.column(name).to_numpy() for name in ORDER)
    return Samples(bucket.rows_of(keys)[inverse], *columns)


def table_of(bucket: Bucket, rows: LoadRows, counts: SampleCounts) -> pa.Table:
    """Return rows of ``STEPS``: first the counts, then the steps."""
    keys: list[Sequence[Any]] = list(zip(*bucket.keys, strict=True)) or [[], [], []]
    kinds = (pa.string(), pa.string(), pa.int32())
    named = [pa.array(key, kind).take(pa.array(rows.row)) for key, kind in zip(keys, kinds, strict=True)]
    counted = [pa.array(values, mask=values == MISSING) for values in rows[1:6]]
    quality = pa.array(QUALITIES).take(pa.array(rows.quality))
    forecast = [pa.array(values, mask=np.isnan(values)) for values in rows[7:]]
    zeros = [pc.multiply(pa.array(rows.row), 0)] * len(counts)
    steps = pa.Table.from_arrays([*named, *counted, quality, *forecast, *zeros], schema=_SCHEMA)
    first = dict(zip(SampleCounts._fields, counts, strict=True))
    return pa.concat_tables([pa.Table.from_pylist([first], schema=_SCHEMA), steps])
