"""The feed beside the model: written after each of its batches, and made up for where that failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.faults import pipeline_error

__all__ = ["Feeding", "Publisher"]

log = logging.getLogger(__name__)


class Publisher(Protocol):
    """Writes forecasts; ``feed.Feed`` is one."""

    def publish(self, load: Any) -> int:
        """The newest forecasts among rows of ``LOAD``; returns how many were new."""

    def publish_all(self, root: str) -> int:
        """The newest of all that has landed in a folder, if anything has."""


class Feeding:
    """Publishes what the model foresees; a feed that cannot be written costs the model nothing.

    Args:
        begin: makes a publisher.  After a fault it makes another one, with settings as they are then.
        root: the pipeline's folder.
        stop: what ends the pipeline: what fails then was cut short, and is no fault.

    Raises:
        OptionError: a setting that the feed cannot have.

    Attributes:
        fed: records that were written.
        unfed: batches after which that failed.
        down: why the last one failed; None: it did not.
    """

    def __init__(self, begin: Callable[[], Publisher], root: str, stop: threading.Event | None) -> None:
        self._begin = begin
        self._root = root
        self._stop = stop
        self._publisher: Publisher | None = begin()
        self._behind = True  # what the last run landed and did not publish any more
        self.fed = 0
        self.unfed = 0
        self.down: KafkaAssignorsError | None = None

    def batch(self, rows: Any) -> None:
        """After a batch of the model, with its rows; a fault is told once, until it is over."""
        try:
            if self._behind:
                self.make_up()
            else:
                self.fed += self._there().publish(rows)
        except KafkaAssignorsError as error:
            self._failed(error)
        except Exception as error:  # it must not end the model's batch, which has landed
            self._failed(pipeline_error(error, "the feed"))
        else:
            if self.down is not None:
                log.info("the feed is written again")
            self.down = None

    def make_up(self) -> None:
        """Publish the newest of all that has landed.

        Raises:
            KafkaAssignorsError: it cannot be written.
        """
        self.fed += self._there().publish_all(self._root)
        self._behind = False

    def _there(self) -> Publisher:
        if self._publisher is None:
            self._publisher = self._begin()
        return self._publisher

    def _failed(self, error: KafkaAssignorsError) -> None:
        if self._stop is not None and self._stop.is_set():
            return  # the next run begins with making up for it
        if self.down is None:
            log.warning("%s; trying again with the next batch", error)
        self.down = error
        self.unfed += 1
        self._behind = True
        self._publisher = None
