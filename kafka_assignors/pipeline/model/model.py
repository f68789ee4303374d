"""The load model over landed samples, as a batch or as a stream.

Rules:
- A stream and a batch (with ``flush=False``) give the same rows for the same samples, unless samples are
  later than ``delay_s`` or from the future.
- The newest sample of a partition decides which of its samples are late (``forecast.bucket``).  Samples too
  far ahead of the time of their batch, by the clock of Spark's driver, are dropped.  The rows of ``STEPS``
  contain the numbers of late samples and of samples ahead.
- Spark's watermark is ``forget_s`` behind the newest sample of all partitions; a sample from the future
  counts as now.  If the newest sample of a partition is behind the watermark, the partition is flushed and
  its state dropped.  Spark drops and counts samples that arrive behind the watermark.
- A hash of group, topic and partition selects one of `BUCKETS` buckets.  Spark keeps a state for each bucket,
  and one call folds all its partitions (``forecast.bucket``).  So Spark pays its cost per key for 64 buckets,
  not for each partition.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafka_assignors.forecast import LoadSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKETS = 64
"""Number of buckets; it is fixed, because a checkpoint depends on it."""

FORGET_S = 30 * 86_400.0
"""The state of a partition without samples is dropped after this time, seconds of the samples' clock."""


def model_load(samples: DataFrame, settings: LoadSettings, *, flush: bool = True) -> DataFrame:
    """Run the model over a whole history; a task holds the states of its partitions in memory.

    No sample counts as ahead, because no current time is used.  Samples of a clock that was ahead are taken
    in the order of their times, like all others.

    Args:
        samples: rows of ``SAMPLES``.
        settings: settings of the model.
        flush: at the end, take the samples that still wait for earlier ones; a stream does not.

    Returns:
        Rows of ``LOAD``.
    """
    from kafka_assignors.pipeline.model.steps import KEY, ORDER, STEPS, as_load, fold_all, with_numbers

    ordered = with_numbers(samples).repartition(*KEY).sortWithinPartitions(*ORDER)
    return as_load(ordered.mapInArrow(partial(fold_all, settings=settings, flush=flush), STEPS), settings)


def follow_load(samples: DataFrame, settings: LoadSettings, *, forget_s: float = FORGET_S) -> DataFrame:
    """Run the model over a stream of samples.

    Returns:
        A streaming DataFrame with rows of ``steps.STEPS``, for ``as_load``.
    """
    from pyspark.sql import functions as F

    from kafka_assignors.pipeline.model.processor import LoadProcessor
    from kafka_assignors.pipeline.model.steps import KEY, STEPS, with_numbers

    # A clock that is ahead must not make the samples of all other partitions old.
    seen = F.least(F.timestamp_micros("at"), F.current_timestamp())
    return (
        with_numbers(samples)
        .withColumn("seen", seen)
        .withWatermark("seen", f"{forget_s * 1000:.0f} milliseconds")
        .withColumn("bucket", F.pmod(F.xxhash64(*KEY), F.lit(BUCKETS)))
        .groupBy("bucket")
        .transformWithStateInPandas(LoadProcessor(settings), STEPS, "append", "EventTime")
    )
