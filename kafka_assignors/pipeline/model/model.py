"""The load model over the samples that have landed: all at once, or as a stream.

Rules:
- A stream and a batch give the same rows for the same samples, unless some come later than ``delay_s``, or
  are from the future.
- What is late is for each partition to say, by its own clock (``forecast.fold``), and is counted with the
  rows.  So is what is ahead of the time of its batch, which is by the clock of Spark's driver.
- Spark's watermark is only for forgetting: it is ``forget_s`` behind the newest sample of all, and a
  partition that is behind it is flushed and let go.  A sample that is behind it is refused, and counted by
  Spark.
- The state of a partition is one value of about 4 kB (``forecast.codec``).  ``applyInPandasWithState`` hands
  it over in the same Arrow batch as the samples; ``transformWithStateInPandas`` asks the JVM for it, a round
  trip a call and partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_assignors.pipeline.model.steps import KEY, STATE, STEPS, as_load, fold_all, fold_more, with_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafka_assignors.forecast import LoadSettings

__all__ = ["FORGET_S", "follow_load", "model_load"]

FORGET_S = 30 * 86_400.0
"""How long a partition is remembered of which nothing is heard, seconds of the samples' time."""


def model_load(samples: DataFrame, settings: LoadSettings, *, flush: bool = True) -> DataFrame:
    """What the model makes of a whole history; each partition is one task's work, in its memory.

    There is no clock in it, so nothing is from the future: when a clock was ahead for a while and then put
    right, its samples and those of others are taken in the order of their times.

    Args:
        samples: rows of ``SAMPLES``.
        settings: of the model.
        flush: also take what still waits for samples that might come later, which a stream does not.

    Returns:
        Rows of ``LOAD``.
    """
    steps = with_numbers(samples).groupBy(*KEY).applyInArrow(fold_all(settings, flush=flush), STEPS)
    return as_load(steps, settings)


def follow_load(samples: DataFrame, settings: LoadSettings, *, forget_s: float = FORGET_S) -> DataFrame:
    """The same as a stream, with the counts of what became of the samples.

    Args:
        samples: a streaming DataFrame with rows of ``SAMPLES``.
        settings: of the model.
        forget_s: see the top.

    Returns:
        A streaming DataFrame with rows of ``load_steps.STEPS``, for ``as_load``.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.streaming.state import GroupStateTimeout

    # A clock that is ahead must not make all others' samples old.
    seen = F.least(F.timestamp_micros("at"), F.current_timestamp())
    return (
        with_numbers(samples)
        .withColumn("seen", seen)
        .withWatermark("seen", f"{forget_s * 1000:.0f} milliseconds")
        .groupBy(*KEY)
        .applyInPandasWithState(
            fold_more(settings), STEPS, STATE, "append", GroupStateTimeout.EventTimeTimeout
        )
    )
