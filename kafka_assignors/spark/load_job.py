"""The load model as a job: what was recorded in, ``load/`` out, as long as it is wanted.

**Exactly once.**  Spark's checkpoint holds which samples a batch has and the state before it.  A batch that
was interrupted is done again with just those, from just that state, so it gives the same rows; and they land
in files that are named by the batch (``load_sink``), so that doing it again replaces them.

Spark's own sink for files is as exact.  But what it wrote can only be read through its list of finished
files: other programs see what crashes left, too; small files cannot be merged; and where its checkpoint is
lost it goes on without a word, and leaves out what its list says was written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_assignors.spark.faults import one_line
from kafka_assignors.spark.landing import stream_samples, writers
from kafka_assignors.spark.load_model import FORGET_S, follow_load
from kafka_assignors.spark.load_sink import CHECKPOINT, LoadSink
from kafka_assignors.spark.load_steps import as_load
from kafka_assignors.spark.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kafka_assignors.forecast import LoadSettings

__all__ = ["LoadReport", "run_load_model"]

_LOOK_S = 1  # how often a running stream is looked at
_PATIENCE = 30  # looks, for a batch to end before it is interrupted


@dataclass(slots=True)
class LoadReport:
    """What a run of the model did.

    Args:
        batches: that were landed.
        samples: that were read.
        late: that came too late to be counted; they are left out.
        duplicates: that were there already.
        refused: older than what is remembered (``forget_s``), as Spark counts them.
        steps: rows that were written.
        qualities: how many of each quality.
        unread: writers whose samples this model does not read, because they are new to its checkpoint.
    """

    batches: int = 0
    samples: int = 0
    late: int = 0
    duplicates: int = 0
    refused: int = 0
    steps: int = 0
    qualities: dict[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def add(self, other: LoadReport) -> None:
        """Count in what another batch did."""
        for name in ("batches", "samples", "late", "duplicates", "refused", "steps"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for quality, steps in other.qualities.items():
            self.qualities[quality] = self.qualities.get(quality, 0) + steps

    @property
    def gaps(self) -> int:
        """Steps of which nothing is known."""
        return self.qualities.get("gap", 0)

    @property
    def resets(self) -> int:
        """Steps in which a log began anew, or a group was set back."""
        return self.qualities.get("reset", 0)


def run_load_model(
    spark: SparkSession,
    root: str,
    settings: LoadSettings,
    *,
    available_now: bool,
    every_s: float = 10.0,
    forget_s: float = FORGET_S,
    files_per_batch: int = 1000,
    stop: threading.Event | None = None,
    on_batch: Callable[[DataFrame, LoadReport], None] | None = None,
) -> LoadReport:
    """Run the model over ``samples/`` of a pipeline's folder into ``load/``.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        root: the pipeline's folder.
        settings: of the model; the same each time, or the state does not fit.
        available_now: end with what is there now.  Else it goes on until ``stop`` is set.
        every_s: how long from the start of one batch to that of the next.
        forget_s: how long a partition is remembered of which nothing is heard.
        files_per_batch: most files of a writer in one batch; what bounds its memory.
        stop: ends the run after the batch at hand.
        on_batch: called after each batch that landed, with its rows of ``LOAD`` and the report so far; what
            it raises ends the run, and the batch comes again next time.

    Returns:
        What was done.

    Raises:
        PipelineError: no samples, another model's checkpoint or rows, or the stream failed.
    """
    sink = LoadSink(Storage(spark, root), settings, writers(spark, root))
    read, unread = sink.bind()
    report = LoadReport(unread=unread)

    def land(steps: DataFrame, batch: int) -> None:
        steps.persist()
        try:
            rows = as_load(steps, settings)
            counted = _count(steps)
            sink.land(rows, batch)
            sink.note(batch, {"late": counted.late, "duplicates": counted.duplicates})
            report.add(counted)
            if on_batch is not None:
                on_batch(rows, report)
        finally:
            steps.unpersist()

    samples = stream_samples(spark, root, read, files_per_batch=files_per_batch)
    trigger: dict[str, Any] = (
        {"availableNow": True} if available_now else {"processingTime": f"{every_s:g} seconds"}
    )
    stream = (
        follow_load(samples, settings, forget_s=forget_s)
        .writeStream.queryName("load")
        .outputMode("append")
        .foreachBatch(land)
        .option("checkpointLocation", f"{root}/{CHECKPOINT}")
        .trigger(**trigger)
    )
    with one_line(f"the load model of {root}"):
        with _without_empty_batches(spark):
            query = stream.start()
        report.refused = _follow(query, stop)
    return report


def _count(steps: DataFrame) -> LoadReport:
    """What one batch did."""
    from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

    names = ("samples", "late", "duplicates")
    by_quality = (
        steps.groupBy("quality")
        .agg(F.count("at").alias("steps"), *(F.coalesce(F.sum(n), F.lit(0)).alias(n) for n in names))
        .collect()
    )
    totals = {name: sum(row[name] for row in by_quality) for name in (*names, "steps")}
    return LoadReport(
        batches=1, qualities={row.quality: row.steps for row in by_quality if row.quality}, **totals
    )


@contextmanager
def _without_empty_batches(spark: SparkSession) -> Iterator[None]:
    """Keep Spark from running a batch without samples after each one with some, for the watermark's sake."""
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    before = spark.conf.get(name, "true") or "true"
    spark.conf.set(name, "false")
    try:
        yield
    finally:
        spark.conf.set(name, before)


def _follow(query: StreamingQuery, stop: threading.Event | None) -> int:
    """Wait for the end; returns how many samples Spark refused."""
    refused: dict[int, int] = {}
    patience = _PATIENCE
    try:
        while not query.awaitTermination(_LOOK_S):
            _note_refused(query, refused)
            if stop is not None and stop.is_set():
                patience -= 1
                # Best between two batches; one that is interrupted is done again next time.
                if patience <= 0 or not query.status["isTriggerActive"]:
                    break
        _note_refused(query, refused)
    finally:
        query.stop()
    return sum(refused.values())


def _note_refused(query: StreamingQuery, refused: dict[int, int]) -> None:
    for progress in query.recentProgress:
        refused[progress["batchId"]] = sum(
            operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"]
        )
