"""The load model as a job: what was recorded in, ``load/`` out, as long as it is wanted.

**Exactly once.**  Spark's checkpoint holds which samples a batch has and the state before it.  A batch that
was interrupted is done again with just those, from just that state, so it gives the same rows; and they land
in files that are named by the batch (``load_sink``), so that doing it again replaces them.

Spark's own sink for files is as exact.  But what it wrote can only be read through its list of finished
files: other programs see what crashes left, too; small files cannot be merged; and where its checkpoint is
lost it goes on without a word, and leaves out what its list says was written.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.model.model import FORGET_S, follow_load
from kafka_assignors.pipeline.model.sink import CHECKPOINT, LoadSink
from kafka_assignors.pipeline.model.steps import as_load
from kafka_assignors.pipeline.tables.batch_files import check_files
from kafka_assignors.pipeline.tables.landing import stream_samples, writers
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kafka_assignors.forecast import LoadSettings

__all__ = ["LoadReport", "LoadRun", "run_load_model", "start_load_model"]

_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0  # how often a running stream is looked at
_PATIENCE_S = 30.0  # for a batch to end before it is interrupted

OnBatch = Callable[["DataFrame", "LoadReport"], None]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a run of the model did.

    Attributes:
        batches: that were landed.
        samples: that were read.
        late: that came too late to be counted; they are left out.
        ahead: of this machine's clock, by too much; they are left out.
        duplicates: that were there already.
        refused: older than what is remembered (``forget_s``), as Spark counts them.
        steps: rows that were written.
        qualities: how many of each quality.
        unread: writers whose samples this model does not read, because they are new to its checkpoint.
        gone: files of samples that were there when a batch was planned, and not when it was read.
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
        """This one, and what was done after it."""
        return LoadReport(
            self.batches + other.batches,
            self.samples + other.samples,
            self.late + other.late,
            self.ahead + other.ahead,
            self.duplicates + other.duplicates,
            self.refused + other.refused,
            self.steps + other.steps,
            dict(Counter(self.qualities) + Counter(other.qualities)),
            self.unread + tuple(name for name in other.unread if name not in self.unread),
            self.gone + other.gone,
        )

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
    files_per_batch: int | None = None,
    stop: threading.Event | None = None,
    on_batch: OnBatch | None = None,
) -> LoadReport:
    """Run the model over ``samples/`` of a pipeline's folder into ``load/``, until its end.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        root: the pipeline's folder.
        settings: of the model; the same each time, or the state does not fit.
        available_now: end with what is there now.  Else it goes on until ``stop`` is set.
        every_s: how long from the start of one batch to that of the next.
        forget_s: how long a partition is remembered of which nothing is heard.
        files_per_batch: most files of each writer in one batch; None: one batch has all there are.  With a
            limit and several writers, one of them gets ahead of the others in a backlog, and what those have
            is late.  Without one, a backlog takes about 400 bytes of a Python worker for each sample of the
            one partition that it folds at a time: 25 MB for a week of samples every 10 s.
        stop: ends the run after the batch at hand.
        on_batch: called after each batch that landed, with its rows of ``LOAD`` and the report so far; what
            it raises ends the run, and the batch comes again next time.

    Returns:
        What was done.

    Raises:
        PipelineError: no samples, another model's checkpoint or rows, or the stream failed.
    """
    run = start_load_model(
        spark,
        root,
        settings,
        available_now=available_now,
        every_s=every_s,
        forget_s=forget_s,
        files_per_batch=files_per_batch,
        on_batch=on_batch,
    )
    try:
        with one_line(f"the load model of {root}"):
            while not run.query.awaitTermination(_LOOK_S):
                if stop is not None and stop.is_set():
                    break
    finally:
        report = run.stop()
    return report


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
    """Start the model as a stream; arguments and errors are those of `run_load_model`."""
    with one_line(f"the load model of {root}"):
        storage = Storage(spark, root)
        sink = LoadSink(storage, settings, writers(spark, root))
        read, unread = sink.bind()
        run = LoadRun(storage, sink, settings, LoadReport(unread=unread), on_batch)
        samples = stream_samples(spark, root, read, files_per_batch=files_per_batch)
        trigger: dict[str, Any] = (
            {"availableNow": True} if available_now else {"processingTime": f"{every_s:g} seconds"}
        )
        stream = (
            follow_load(samples, settings, forget_s=forget_s)
            .writeStream.queryName("load")
            .outputMode("append")
            .foreachBatch(run.land)
            .option("checkpointLocation", f"{root}/{CHECKPOINT}")
            .trigger(**trigger)
        )
        with _without_empty_batches(spark):
            run.begun(stream.start())
    return run


class LoadRun:
    """The model as a stream that runs.

    Args:
        storage: the pipeline's folder.
        sink: where its rows land.
        settings: of the model.
        report: to count on from.
        on_batch: see `run_load_model`.

    Attributes:
        query: the stream; `stop` is the better way to end it.
    """

    query: StreamingQuery

    def __init__(
        self,
        storage: Storage,
        sink: LoadSink,
        settings: LoadSettings,
        report: LoadReport,
        on_batch: OnBatch | None,
    ) -> None:
        self._storage = storage
        self._sink = sink
        self._settings = settings
        self._report = report
        self._on_batch = on_batch
        self._lock = threading.Lock()  # Spark calls ``land`` on a thread of its own
        self._started = threading.Event()
        self._refused_until = -1

    def begun(self, query: StreamingQuery) -> None:
        """It runs."""
        self.query = query
        self._started.set()

    def land(self, steps: DataFrame, batch: int) -> None:
        """For ``foreachBatch``."""
        self._started.wait()
        self._note_refused()  # of the batch before, of which Spark tells only after its end
        gone = check_files(self._storage, CHECKPOINT, batch)
        steps.persist()
        try:
            rows = as_load(steps, self._settings)
            counted = replace(_count(steps), gone=gone)
            self._sink.land(rows, batch)
            with self._lock:
                self._say_once(counted)
                self._report += counted
            if self._on_batch is not None:
                self._on_batch(rows, self._report)
        finally:
            steps.unpersist()

    def _say_once(self, now: LoadReport) -> None:
        """Tell of what is left out when that happens first; how much it was is in the report."""
        for before, count, what in (
            (self._report.late, now.late, "samples came too late, and are left out"),
            (self._report.ahead, now.ahead, "samples are ahead of this machine's clock, and are left out"),
            (self._report.gone, now.gone, "files of samples were gone before they were read"),
        ):
            if count and not before:
                _LOG.warning("load model: %d %s; of more the number is told at the end", count, what)

    def report(self) -> LoadReport:
        """What was done since it was started here."""
        self._note_refused()
        return self._report

    def stop(self) -> LoadReport:
        """End it; best between two batches: one that is interrupted is done again next time."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.query.stop()
        return self.report()

    def _note_refused(self) -> None:
        progress = self.query.lastProgress
        with self._lock:
            if progress is None or progress["batchId"] <= self._refused_until:
                return
            self._refused_until = progress["batchId"]
            refused = sum(one["numRowsDroppedByWatermark"] for one in progress["stateOperators"])
            self._report = replace(self._report, refused=self._report.refused + refused)


def _count(steps: DataFrame) -> LoadReport:
    """What one batch did."""
    from pyspark.sql import functions as F

    names = ("samples", "late", "ahead", "duplicates")
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
