"""Writes the feed after each batch of the model, and catches up after a failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.faults import pipeline_error

log = logging.getLogger(__name__)


class Publisher(Protocol):
    """Writes forecasts, like ``feed.Feed``."""

    def publish(self, load: Any) -> int:
        """Publish the newest forecasts among rows of ``LOAD``; return the number written."""

    def publish_all(self, root: str) -> int:
        """Publish the newest of all landed forecasts of a folder; return the number written."""


class Feeding:
    """Publishes forecasts; a failing feed does not stop the model.

    Args:
        begin: makes a publisher.  Called again after a failure, because settings may have changed.
        root: folder of the pipeline.
        stop: ends the pipeline; failures after it was set are ignored.

    Raises:
        OptionError: a setting is invalid for the feed.

    Attributes:
        fed: records written.
        unfed: batches after which the feed could not be written.
        down: why the last write failed; None: it succeeded.
    """

    def __init__(self, begin: Callable[[], Publisher], root: str, stop: threading.Event | None) -> None:
        self._begin = begin
        self._root = root
        self._stop = stop
        self._publisher: Publisher | None = begin()
        self._behind = True  # the last run may have landed forecasts without publishing them
        self.fed = 0
        self.unfed = 0
        self.down: KafkaAssignorsError | None = None

    def batch(self, rows: Any) -> None:
        """Publish a landed batch of the model.  An outage is logged once, and its end."""
        try:
            if self._behind:
                self.catch_up()
            else:
                self.fed += self._current().publish(rows)
        except KafkaAssignorsError as error:
            self._failed(error)
        except Exception as error:  # the model's batch has landed, and must not fail
            self._failed(pipeline_error(error, "the feed"))
        else:
            if self.down is not None:
                log.info("feed: written again")
            self.down = None

    def catch_up(self) -> None:
        """Publish the newest of all landed forecasts.

        Raises:
            KafkaAssignorsError: the feed cannot be written.
        """
        self.fed += self._current().publish_all(self._root)
        self._behind = False

    def _current(self) -> Publisher:
        if self._publisher is None:
            self._publisher = self._begin()
        return self._publisher

    def _failed(self, error: KafkaAssignorsError) -> None:
        if self._stop is not None and self._stop.is_set():
            return  # the next run starts by catching up
        if self.down is None:
            log.warning("%s; trying again with the next batch", error)
        self.down = error
        self.unfed += 1
        self._behind = True
        self._publisher = None
