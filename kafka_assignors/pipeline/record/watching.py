"""Streams whose batches are counted: what Spark observed in each is added up as it comes.

Spark itself remembers the last hundred batches only.  It tells of each of them once, to a listener, on a
thread of its own; of a batch that failed and is done again it tells when it is done.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

__all__ = ["Recording", "Tally", "watching"]

_LOG = logging.getLogger(__name__)
_BETWEEN_BATCHES_S = 5.0
_LAST_WORD_S = 30.0

Report_co = TypeVar("Report_co", covariant=True)


class Tally(Protocol[Report_co]):
    """Adds up what batches brought; `add` is called on one thread, ``report`` read on any."""

    @property
    def report(self) -> Report_co:
        """All of it until now, as a value."""

    def add(self, seen: Mapping[str, Any]) -> None:
        """One more batch, as ``observe`` counted it."""


@contextmanager
def watching(spark: SparkSession, tally: Tally[Any]) -> Iterator[Any]:
    """Make a listener for a stream that is started in the block; if that fails, it is taken away again.

    Its ``metrics`` is the name for the stream to ``observe`` by.
    """
    watch = _watch(tally)
    spark.streams.addListener(watch)
    try:
        yield watch
    except BaseException:
        spark.streams.removeListener(watch)
        raise


def _watch(tally: Tally[Any]) -> Any:
    from pyspark.sql.streaming import StreamingQueryListener

    class Watch(StreamingQueryListener):
        """Of other streams it takes no notice."""

        def __init__(self) -> None:
            self.metrics = f"batch-{uuid.uuid4().hex}"  # only ours has a metric of this name
            self.tally = tally
            self._over: set[str] = set()
            self._told = threading.Condition()

        def onQueryStarted(self, event: Any) -> None:
            pass

        def onQueryProgress(self, event: Any) -> None:
            seen = event.progress.observedMetrics.get(self.metrics)
            if seen is not None:
                tally.add(seen)

        def onQueryTerminated(self, event: Any) -> None:
            with self._told:
                self._over.add(str(event.runId))
                self._told.notify_all()

        def heard_all(self, run_id: object, timeout_s: float) -> bool:
            """Whether a stream has ended, and all it had to tell was told; waits so long for that."""
            with self._told:
                return self._told.wait_for(lambda: str(run_id) in self._over, timeout_s)

    return Watch()


class Recording(Generic[Report_co]):
    """A stream that records.

    Args:
        spark: its session.
        query: the stream.
        watch: its listener.

    Attributes:
        query: the stream; ``stop`` is the better way to end it.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery, watch: Any) -> None:
        self.query = query
        self._spark = spark
        self._watch = watch

    def report(self) -> Report_co:
        """What was recorded since the stream was started here; it may lack the last batch."""
        report: Report_co = self._watch.tally.report
        return report

    def stop(self) -> Report_co:
        """End the stream; between two batches, if that does not take long.

        Of a batch that is cut short nothing lands, but Spark logs a page about it.
        """
        deadline = time.monotonic() + _BETWEEN_BATCHES_S
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.02)
        self.query.stop()
        if not self._watch.heard_all(self.query.runId, _LAST_WORD_S):
            _LOG.warning("Spark has not told of all that a stream did: the last batches are not counted")
        self._spark.streams.removeListener(self._watch)
        return self.report()
