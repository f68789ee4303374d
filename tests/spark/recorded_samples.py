"""Samples made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_assignors.spark.schemas import SAMPLES

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=timezone.utc)


def row(hours: float = 0, committed: int = 1, *, group: str = "g", partition: int = 0) -> tuple[Any, ...]:
    """A sample so many hours after noon of 2026-11-22."""
    time = NOON + timedelta(hours=hours)
    return (time, group, "t", partition, 0, 100, committed, "sampler", time.date())


def samples(spark: SparkSession, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(list(rows), SAMPLES)
