"""The load model as a job: ``samples/`` in, ``load/`` out, once or until it is stopped.

**Exactly once.**  Spark's checkpoint has the samples of a batch and the state before it.  An interrupted
batch is repeated with the same samples from the same state, so it gives the same rows.  They land in files
named by the batch (``sink``), so a repeated batch replaces its files.  Spark's own file sink would
not do: other programs would need its list of files, and after the loss of the checkpoint it would silently
skip batches whose numbers it has already.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.model.model import FORGET_S, follow_load
from kafka_assignors.pipeline.model.sink import CHECKPOINT, LoadSink
from kafka_assignors.pipeline.tables.batch_files import check_files
from kafka_assignors.pipeline.tables.landing import trigger
from kafka_assignors.pipeline.tables.reading import stream_samples, writers
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOG = logging.getLogger(__name__)
_EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
_POLL_S = 1.0  # interval of checks for the end of the stream
_PATIENCE_S = 30.0  # a stop waits this long for the end of a batch

OnBatch = Callable[["DataFrame", "LoadReport"], None]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Counts of a run of the load model.

    Attributes:
        batches: landed batches.
        samples: samples read.
        late: samples dropped because they came too late.
        ahead: samples dropped because they are too far ahead of this machine's clock.
        duplicates: samples dropped as duplicates.
        refused: samples dropped by Spark because they are behind the newest one by more than ``forget_s``.
        steps: rows written.
        qualities: quality -> number of steps.
        unread: writers that the model does not read, because they appeared after its checkpoint was made.
        gone: files of samples that were deleted between planning and reading of a batch.
    """

    batches: int = 0
    samples: int = 0
    late: int = 0
    ahead: int = 0
    duplicates: int = 0
    refused: int = 0
    steps: int = 0
    qualities: dict[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    gone: int = 0

    def __add__(self, other: LoadReport) -> LoadReport:
        """Add the report of later work."""
        names = {each.name for each in fields(self)} - {"qualities", "unread"}
        return LoadReport(
            qualities=Counter(self.qualities) + Counter(other.qualities),
            unread=tuple(dict.fromkeys(self.unread + other.unread)),
            **{name: getattr(self, name) + getattr(other, name) for name in names},
        )

    @property
    def gaps(self) -> int:
        """Number of gaps in the samples, each of two steps or more."""
        return self.qualities.get("gap", 0)

    @property
    def resets(self) -> int:
        """Number of steps in which a log was replaced or lost records, or a group's commit was reset."""
        return self.qualities.get("reset", 0)


def start_load_model(
    spark: SparkSession,
    root: str,
    settings: LoadSettings,
    *,
    available_now: bool = False,
    every_s: float = 10.0,
    forget_s: float = FORGET_S,
    files_per_batch: int | None = None,
    on_batch: OnBatch | None = None,
) -> LoadRun:
    """Start the model as a stream over ``samples/`` of a pipeline's folder into ``load/``.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        root: folder of the pipeline.
        settings: settings of the model; they cannot change for an existing checkpoint.
        available_now: process the existing samples, and end.
        every_s: seconds from the start of one batch to the start of the next.
        forget_s: the state of a partition without samples is dropped after this time, seconds.
        files_per_batch: maximum files of each writer in a batch; None: no limit.  With a limit and several
            writers, the files of one writer may be of later times than those of the others in the same batch.
            In a backlog, samples of the others are then dropped as late.  Without a limit, a Python worker
            holds the backlog of one bucket of partitions (``model``), at about 200 bytes a sample: 12 MB a
            partition for a week of samples every 10 s.
        on_batch: called after each landed batch, with its rows of ``LOAD`` and the report so far.  An
            exception in it ends the run, and the next run repeats the batch.

    Raises:
        PipelineError: there are no samples; or the checkpoint or the landed rows are of another model.
    """
    with as_pipeline_error(f"the load model of {root}"):
        sink = LoadSink(Storage(spark, root), settings, writers(spark, root))
        token, names, unread = sink.bind()
        run = LoadRun(sink, settings, on_batch, unread)
        samples = stream_samples(spark, root, names, token, files_per_batch=files_per_batch)
        stream = (
            follow_load(samples, settings, forget_s=forget_s)
            .writeStream.queryName(f"{root}/load")
            .outputMode("append")
            .foreachBatch(run.land)
            .option("checkpointLocation", f"{root}/{CHECKPOINT}")
            .trigger(**trigger(every_s, available_now=available_now))
        )
        # Start without the empty batches by which Spark would advance the watermark after each batch.
        before = spark.conf.get(_EMPTY_BATCHES, "true")
        spark.conf.set(_EMPTY_BATCHES, "false")
        try:
            run.start(stream)
        finally:
            spark.conf.set(_EMPTY_BATCHES, before or "true")
    return run


def run_load_model(
    spark: SparkSession, root: str, settings: LoadSettings, *, stop: threading.Event | None = None, **how: Any
) -> LoadReport:
    """Run the model until it ends, fails or ``stop`` is set; return the report of the run.

    Other arguments and errors are those of `start_load_model`.  A failure is a `PipelineError`.
    """
    run = start_load_model(spark, root, settings, **how)
    with as_pipeline_error(f"the load model of {root}"):
        try:
            while not run.query.awaitTermination(_POLL_S):
                if stop is not None and stop.is_set():
                    break
        finally:
            report = run.stop()
    return report


class LoadRun:
    """A running stream of the load model: ``query``.  End it with `stop`."""

    query: StreamingQuery

    def __init__(
        self, sink: LoadSink, settings: LoadSettings, on_batch: OnBatch | None, unread: tuple[str, ...] = ()
    ) -> None:
        self._sink = sink
        self._settings = settings
        self._on_batch = on_batch
        self._report = LoadReport(unread=unread)
        self._lock = threading.Lock()  # Spark calls ``land`` on another thread
        self._refused_until = -1

    def start(self, stream: DataStreamWriter) -> None:
        """Start the stream; its first batch waits in ``land`` until ``query`` is set."""
        with self._lock:
            self.query = stream.start()

    def land(self, steps: DataFrame, batch: int) -> None:
        """Land the steps of a batch, for ``foreachBatch``."""
        from kafka_assignors.pipeline.model.steps import as_load

        with self._lock:
            pass  # ``start`` holds the lock until ``query`` is set
        self._note_refused()  # samples of the previous batch; Spark reports a batch after its end
        gone = check_files(self._sink.storage, CHECKPOINT, batch)
        steps.persist()
        try:
            rows = as_load(steps, self._settings)
            counted = replace(_count(steps), gone=gone)
            self._sink.land(rows, batch)
            with self._lock:
                self._warn_once(counted)
                self._report += counted
            if self._on_batch is not None:
                self._on_batch(rows, self._report)
        finally:
            steps.unpersist()

    def _warn_once(self, counts: LoadReport) -> None:
        """Log the first late samples, samples ahead and deleted files; the report counts them all."""
        for before, count, dropped in (
            (self._report.late, counts.late, "samples came too late, and were dropped"),
            (self._report.ahead, counts.ahead, "samples are ahead of this machine's clock, and were dropped"),
            (self._report.gone, counts.gone, "files of samples were deleted before they were read"),
        ):
            if count and not before:
                _LOG.warning("load model: %d %s; more are only counted in the report", count, dropped)

    def report(self) -> LoadReport:
        """Return the report since this start."""
        last = self.query.lastProgress  # costs less than ``recentProgress``, which has a hundred
        if last and last["batchId"] > self._refused_until and "addBatch" in last["durationMs"]:
            self._note_refused()
        return self._report

    def stop(self) -> LoadReport:
        """End the stream after its batch, or after 30 s; the next start repeats an interrupted batch."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.query.stop()
        self._note_refused()
        return self._report

    def _note_refused(self) -> None:
        """Add to the report the samples that Spark dropped in batches that ended since the last call."""
        with self._lock:
            for progress in self.query.recentProgress:
                # An idle trigger has no batch, but reports the number of the next one.
                if progress["batchId"] <= self._refused_until or "addBatch" not in progress["durationMs"]:
                    continue
                self._refused_until = progress["batchId"]
                refused = sum(each["numRowsDroppedByWatermark"] for each in progress["stateOperators"])
                self._report += LoadReport(refused=refused)


def _count(steps: DataFrame) -> LoadReport:
    """Count the samples and steps of one batch."""
    from pyspark.sql import functions as F

    names = ("samples", "late", "ahead", "duplicates")
    sums = (F.sum(name).alias(name) for name in names)
    rows = steps.groupBy("quality").agg(F.count("at").alias("steps"), *sums).na.fill(0).collect()
    totals = {name: sum(row[name] for row in rows) for name in (*names, "steps")}
    qualities = {row.quality: row.steps for row in rows if row.quality}
    return LoadReport(batches=1, qualities=qualities, **totals)
