"""Sums the counts of a stream's batches with a listener, because Spark keeps only the last hundred.

Spark reports each batch once to a listener, on another thread; a repeated batch is reported when it succeeds.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kafka_assignors.pipeline.faults import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

_LOG = logging.getLogger(__name__)
_BATCH_END_S = 5.0  # a stop waits this long for the end of a batch
_LAST_REPORT_S = 30.0  # and this long for Spark's report of the end

Report_co = TypeVar("Report_co", covariant=True)


class BatchTally(Protocol[Report_co]):
    """Sums the counts of batches; `add` is called on one thread, ``report`` is read on any."""

    @property
    def report(self) -> Report_co:
        """The sum so far, as a value."""

    def add(self, seen: Mapping[str, Any]) -> None:
        """Add a batch, as counted by ``observe``."""


@contextmanager
def watching(spark: SparkSession, tally: BatchTally[Any]) -> Iterator[Any]:
    """Yield a listener for a stream that the block starts; if the block fails, the listener is removed.

    The stream must observe its counts under the listener's ``metric_name``.
    """
    watch = _watch(tally)
    spark.streams.addListener(watch)
    try:
        yield watch
    except BaseException:
        spark.streams.removeListener(watch)
        raise


def _watch(tally: BatchTally[Any]) -> Any:
    from pyspark.sql.streaming import StreamingQueryListener

    class Watch(StreamingQueryListener):
        """Adds the batches of one stream to the tally, and ignores other streams."""

        def __init__(self) -> None:
            self.metric_name = f"batch-{uuid.uuid4().hex}"  # no other stream has a metric of this name
            self.tally = tally
            self._terminated: set[str] = set()
            self._condition = threading.Condition()

        def onQueryStarted(self, event: Any) -> None:
            pass

        def onQueryProgress(self, event: Any) -> None:
            seen = event.progress.observedMetrics.get(self.metric_name)
            if seen is not None:
                tally.add(seen)

        def onQueryTerminated(self, event: Any) -> None:
            with self._condition:
                self._terminated.add(str(event.runId))
                self._condition.notify_all()

        def wait_terminated(self, run_id: object, timeout_s: float) -> bool:
            """Wait until Spark reports the end of a stream, after its last batch; False after the timeout."""
            with self._condition:
                return self._condition.wait_for(lambda: str(run_id) in self._terminated, timeout_s)

    return Watch()


class Recording(Generic[Report_co]):
    """A running stream that records.

    Attributes:
        query: the stream; end it with ``stop``.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery, watch: Any) -> None:
        self.query = query
        self._spark = spark
        self._watch = watch

    def report(self) -> Report_co:
        """Return the report since this start; the last batch may be missing."""
        report: Report_co = self._watch.tally.report
        return report

    def finish(self, doing: str) -> Report_co:
        """Wait for the end of a stream that ends by itself; ``doing`` begins the error messages."""
        try:
            with one_line(doing):
                self.query.awaitTermination()
        finally:
            report = self.stop()
        return report

    def stop(self) -> Report_co:
        """End the stream after its batch, or after 5 s.

        The next start repeats an interrupted batch, for which Spark logs a stack trace.
        """
        deadline = time.monotonic() + _BATCH_END_S
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.02)
        self.query.stop()
        if not self._watch.wait_terminated(self.query.runId, _LAST_REPORT_S):
            _LOG.warning(
                "recording: Spark did not report the end of the stream; "
                "the last batches may be missing from the counts"
            )
        self._spark.streams.removeListener(self._watch)
        return self.report()
