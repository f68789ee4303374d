"""A running stream that records; both recorders start one."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyspark.sql.streaming import StreamingQueryListener

from kafka_assignors.errors import LagError, PipelineError
from kafka_assignors.lag.fetch.group_offsets import reach
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport
from kafka_assignors.pipeline.record.sample_report import SamplesReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

_LOG = logging.getLogger(__name__)
_CLUSTER_S = 10.0  # maximum wait for the cluster at the start; a busy one answers late
_BATCH_END_S = 5.0  # a stop waits this long for the end of a batch
_LAST_REPORT_S = 30.0  # and this long for Spark's report of the end

ReportT = TypeVar("ReportT", OffsetsReport, SamplesReport)


class Recording(StreamingQueryListener, Generic[ReportT]):
    """A running stream and the sum of its batches' counts.

    Spark keeps the counts of the last hundred batches only.  But it reports each batch once to a listener, on
    another thread.  It does not report a batch that failed, only the repetition that succeeds.

    Args:
        spark: the session.
        doing: the activity, the start of error messages.
        start: starts the stream, which must observe its counts under the given name.
        report: an empty report.

    Attributes:
        query: the stream; end it with ``stop``.
    """

    def __init__(
        self,
        spark: SparkSession,
        doing: str,
        start: Callable[[str], StreamingQuery],
        report: ReportT,
    ) -> None:
        self._spark = spark
        self._doing = doing
        self._report: ReportT = report
        self._metric_name = f"batch-{uuid.uuid4().hex}"  # no other stream has a metric of this name
        self._terminated: set[str] = set()
        self._condition = threading.Condition()
        spark.streams.addListener(self)
        with ExitStack() as undo, as_pipeline_error(doing):
            undo.callback(spark.streams.removeListener, self)
            self.query = start(self._metric_name)
            undo.pop_all()

    def report(self) -> ReportT:
        """Return the report since this start; the last batch may be missing."""
        return self._report

    def finish(self) -> ReportT:
        """Wait for the end of a stream that ends by itself, and raise its error if it has one."""
        try:
            with as_pipeline_error(self._doing):
                self.query.awaitTermination()
        finally:
            report = self.stop()
        return report

    def stop(self) -> ReportT:
        """End the stream after its batch, or after 5 s.

        The next start repeats an interrupted batch, for which Spark may log an error.  Its rows may have
        landed already, and are then not in the report.
        """
        with as_pipeline_error(self._doing):  # Java may have ended
            deadline = time.monotonic() + _BATCH_END_S
            while (
                self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline
            ):
                time.sleep(0.02)
            self.query.stop()
            with self._condition:  # Spark reports the end after the last batch
                run_id = str(self.query.runId)
                if not self._condition.wait_for(lambda: run_id in self._terminated, _LAST_REPORT_S):
                    _LOG.warning(
                        "recording: Spark did not report the end of the stream; "
                        "the last batches may be missing from the counts"
                    )
            self._spark.streams.removeListener(self)
        return self._report

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """Add the counts of a batch; other streams do not have them."""
        seen = event.progress.observedMetrics.get(self._metric_name)
        if seen is not None:
            self._report = self._report.with_batch(seen)

    def onQueryTerminated(self, event: Any) -> None:
        """Let ``stop`` return if the ended stream is this one."""
        with self._condition:
            self._terminated.add(str(event.runId))
            self._condition.notify_all()


def cluster_id(settings: Mapping[str, Any]) -> str:
    """Return the id of the cluster.  A checkpoint stores it, because an address may lead to another cluster.

    Raises:
        OptionError: a setting is invalid.
        PipelineError: the cluster does not answer, or denies access.
    """
    try:
        return reach(settings, _CLUSTER_S * 1000)
    except LagError as error:
        raise PipelineError(str(error)) from error
