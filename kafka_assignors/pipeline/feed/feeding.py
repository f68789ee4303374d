"""Writes the feed beside the model, on a thread of its own, and catches up after a failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from kafka_assignors.background import Background
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.faults import pipeline_error

if TYPE_CHECKING:
    from kafka_assignors.pipeline.feed.feed import Feed, NewestForecasts

log = logging.getLogger(__name__)

_PATIENCE_S = 30.0  # a stop waits this long for the end of a write


class Feeding:
    """Writes the forecasts of each batch.  A feed that fails or is slow does not hold up the model.

    Only the newest record of each partition waits in memory to be written.

    Args:
        begin: makes a writer, now and after each failed write.
        newest: returns the records of the rows of a batch.
        landed: returns the newest records of the batches landed in the last days.
        stop: set when the pipeline ends; later failures are not reported.

    Raises:
        OptionError: a setting is invalid for the feed.

    Attributes:
        fed: number of records written.
        unfed: number of failed batches and failed writes.
        down: the last failure; None: there was none, or the feed has caught up since.
    """

    def __init__(
        self,
        begin: Callable[[], Feed],
        newest: Callable[[Any], NewestForecasts],
        landed: Callable[[], NewestForecasts],
        stop: threading.Event,
    ) -> None:
        self._begin = begin
        self._newest = newest
        self._landed = landed
        self._stop = stop
        self._writer: Feed | None = begin()
        self._behind = True  # the last run may have landed forecasts without writing them
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[int, str]] = {}
        self._thread = Background("kafka-assignors-feed")
        self._queued = False  # whether a write that takes the waiting records is submitted
        self._last_write: Future[None] | None = None
        self.fed = 0
        self.unfed = 0
        self.down: KafkaAssignorsError | None = None

    def batch(self, rows: Any, _: object = None) -> None:
        """Take the forecasts of a landed batch, and return without waiting for the cluster."""
        try:
            records = self._landed() if self._behind else self._newest(rows)
            self._behind = False
            with self._lock:
                self._keep_newest(records)
                if not self._queued:
                    self._last_write = self._thread.submit(self._write)
                    self._queued = True
        except Exception as error:  # a batch that has landed must not fail, also if no thread can start
            self._behind = True
            self._note_failure(error)

    def close(self) -> None:
        """Wait up to 30 s for the submitted write.  The next run first writes the rest."""
        if self._last_write is not None:
            wait([self._last_write], _PATIENCE_S)
        self._thread.stop()

    def _write(self) -> None:
        """Write the waiting records.  The log has one line for an outage, and one for its end."""
        with self._lock:
            records, self._waiting, self._queued = self._waiting, {}, False
        try:
            if self._writer is None:
                self._writer = self._begin()
            written = self._writer.write(records)
        except Exception as error:
            with self._lock:
                self._keep_newest(records)
            self._writer = None
            self._note_failure(error)
            return
        self.fed += written
        if self._behind:  # a later batch has failed
            return
        if self.down is not None:
            log.info("feed: writing works again, %d records written", written)
        self.down = None

    def _keep_newest(self, records: NewestForecasts) -> None:
        """Add records to the waiting ones; keep the newest of each partition."""
        for key, record in records.items():
            self._waiting[key] = max(record, self._waiting.get(key, record))

    def _note_failure(self, error: Exception) -> None:
        if self._stop.is_set():
            return  # the next run starts by catching up
        failure = pipeline_error(error, "the feed")
        if self.down is None:
            log.warning("%s; trying again with the next batch", failure)
        self.down = failure
        with self._lock:  # both threads count
            self.unfed += 1
