"""The copies of the changelog reader's thread.  An error of one copy does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafka import KafkaConsumer

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.stateful.changelog.progress import RestoreProgress
from kafka_assignors.stateful.changelog.tailed_copy import TailedCopy
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")


class TailedCopies:
    """The copies by task; the consumer is assigned their changelogs.  Used by one thread.

    Attributes:
        lags: task -> records to apply, also of closed copies; any thread may read it.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        progress: RestoreProgress,
        on_failed: Callable[[Task, StateError], None],
    ) -> None:
        self._consumer: Any = consumer
        self._progress = progress
        self._on_failed = on_failed
        self._by_task: dict[Task, TailedCopy] = {}
        self.lags: Mapping[Task, int] = {}

    def __iter__(self) -> Iterator[TailedCopy]:
        return iter(self._by_task.values())

    def __len__(self) -> int:
        return len(self._by_task)

    def __contains__(self, tailed: TailedCopy) -> bool:
        return self._by_task.get(tailed.copy.task) is tailed

    def get(self, task: Task) -> TailedCopy | None:
        """Return the copy of a task; None: this thread does not own it."""
        return self._by_task.get(task)

    def add(self, tailed: TailedCopy) -> None:
        """Read the changelog of a copy, from its position."""
        self._by_task[tailed.copy.task] = tailed
        self._assign()
        self.seek(tailed, tailed.copy.position)

    def take_out(self, task: Task) -> Copy | None:
        """Remove a copy and return it; None: this thread does not own it."""
        if (tailed := self._by_task.pop(task, None)) is None:
            return None
        self._progress.end(task)
        self._assign()
        return tailed.copy

    def seek(self, tailed: TailedCopy, offset: int) -> None:
        """Read on from an offset, unless the copy was given up."""
        if tailed in self:
            tailed.passed = 0
            self._consumer.seek(tailed.partition, offset)

    def guard(self, tailed: TailedCopy, do: Callable[[], None]) -> None:
        """Run a step of one copy.  A `StateError` wipes this copy or gives it up; the others go on."""
        try:
            do()
        except StateDamagedError as error:
            log.warning("task %s: state is damaged, restoring from the beginning: %s", tailed.copy, error)
            try:
                self._forget(tailed)
                tailed.copy.wipe_damaged(error)
                self.seek(tailed, 0)
            except StateError as worse:
                self._give_up(tailed, worse)
        except StateError as error:
            self._give_up(tailed, error)

    def restart(self, tailed: TailedCopy, why: str) -> None:
        """Wipe a copy, and restore it from the beginning."""
        log.error(
            "task %s: state is restored from the beginning: changelog %s-%d %s",
            tailed.copy,
            tailed.partition.topic,
            tailed.partition.partition,
            why,
        )
        self._forget(tailed)
        self.guard(tailed, tailed.copy.reset)
        self.seek(tailed, 0)

    def _assign(self) -> None:
        self._consumer.assign(sorted(tailed.partition for tailed in self))

    def _forget(self, tailed: TailedCopy) -> None:
        self._forget_lag(tailed)
        self._progress.restart(tailed.copy.task)
        tailed.end = None  # asked for again, because the changelog may be another topic now

    def _give_up(self, tailed: TailedCopy, error: StateError) -> None:
        self._forget_lag(tailed)
        self.take_out(tailed.copy.task)
        tailed.copy.drop()
        self._on_failed(tailed.copy.task, error)

    def _forget_lag(self, tailed: TailedCopy) -> None:
        """Drop the lag at once, because the member may report it before the next measurement."""
        tailed.lag = None
        self.lags = {task: lag for task, lag in self.lags.items() if task != tailed.copy.task}
