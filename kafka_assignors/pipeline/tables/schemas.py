"""The tables of the pipeline, as Spark's DDL.

Both are Parquet, partitioned by ``date`` (of ``time``, in UTC), under one folder of the pipeline::

    samples/WRITER/date=2026-11-22/*.parquet    recorded samples (``sampler``, ``offsets-topic``, ...)
    load/date=2026-11-22/*.parquet              rows of the load model

Each writer has its own folder, because a streaming query's list of finished files belongs to one folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

SAMPLES = """
    time timestamp NOT NULL COMMENT 'when the broker answered, or the commit was made',
    group string NOT NULL COMMENT 'group id; empty: the sample is of a topic alone',
    topic string NOT NULL,
    partition int NOT NULL,
    begin_offset bigint COMMENT 'first offset of the log',
    end_offset bigint COMMENT 'offset of the next record to be written',
    committed_offset bigint COMMENT 'offset of the next record to be read; -1: no commit, or it was removed',
    source string NOT NULL COMMENT 'sampler | offsets-topic | import',
    date date NOT NULL COMMENT 'of time, in UTC'
"""
"""One sample of one partition.  Offsets the writer does not know are null: a commit has no end offset."""

LOAD = """
    time timestamp NOT NULL COMMENT 'end of the step',
    step_s double NOT NULL COMMENT 'length of the step, seconds',
    group string NOT NULL,
    topic string NOT NULL,
    partition int NOT NULL,
    arrived bigint COMMENT 'records that arrived in the step; null: not known',
    served bigint COMMENT 'records the group committed in the step; null: not known',
    arrival_rate double COMMENT 'records/s in the step',
    service_rate double COMMENT 'records/s committed in the step',
    lag bigint COMMENT 'unread records at its end',
    time_lag_s double COMMENT 'age of the oldest unread record at its end, seconds; 0 without lag',
    level double COMMENT 'smoothed arrivals, records/s',
    trend double COMMENT 'change of the level, records/s per step',
    season double COMMENT 'addition to the level by the time of day and week, records/s',
    horizon_s double NOT NULL COMMENT 'length of the forecast, seconds',
    forecast double COMMENT 'records expected to arrive within horizon_s after time',
    forecast_error double COMMENT 'standard error of forecast, records',
    quality string NOT NULL COMMENT 'ok | interpolated | gap | reset | unknown',
    date date NOT NULL COMMENT 'of time, in UTC'
"""
"""One partition of one group in one step, with the forecast at its end."""


def columns_of(ddl: str) -> dict[str, str]:
    """Return name and type of each column of a table."""
    return dict(re.findall(r"(?:^|,)\s*(\w+) (timestamp|date|string|int|bigint|double)\b", ddl, re.MULTILINE))


SAMPLE_COLUMNS: Mapping[str, str] = columns_of(SAMPLES)
"""Name and type of each column of ``SAMPLES``."""

NEVER_NULL = tuple(name for name in re.findall(r"(\w+) \w+ NOT NULL", SAMPLES) if name != "date")
"""Columns of ``SAMPLES`` without nulls, except ``date``, which follows from the folder."""


def utc_date(time: str) -> Column:
    """Return the UTC date of a timestamp column; Spark's ``to_date`` would take the session's zone."""
    from pyspark.sql import functions as F

    return F.date_from_unix_date(F.floor(F.unix_millis(F.col(time)) / F.lit(86_400_000)).cast("int"))
