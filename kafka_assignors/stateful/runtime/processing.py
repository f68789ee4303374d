"""Processes records, each completely or not at all.  Limits the memory of uncommitted changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateDamagedError
from kafka_assignors.stateful.runtime.commits import Commits
from kafka_assignors.stateful.runtime.tasks import ActiveTask, MemberTasks
from kafka_assignors.stateful.shutdown import Shutdown

log = logging.getLogger("kafka_assignors")

HEARTBEAT_WAIT_S = 0.1  # limit of a commit's wait for the response to a heartbeat
_PAUSE = 4  # pause after a commit that leaves a repair unfinished, in multiples of the commit's duration

Batch = tuple[ActiveTask | None, TopicPartition, list[ConsumerRecord]]


class Processing:
    """Passes records to the application's callback, and commits.  Not thread-safe.

    Commits are ``commit_interval_s`` apart, also in the middle of a batch.  The intervals are longer while
    the cluster does not answer a `Repair`.  Beyond ``max_uncommitted_bytes`` of uncommitted changes, nothing
    is processed until a commit succeeds or tasks are revoked.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        tasks: MemberTasks,
        commits: Commits,
        *,
        max_uncommitted_bytes: int,
        commit_interval_s: float,
        shutdown: Shutdown,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer: Any = consumer
        self._tasks = tasks
        self._commits = commits
        self._max_uncommitted_bytes = max_uncommitted_bytes
        self._interval_s = commit_interval_s
        self._shutdown = shutdown
        self._clock = clock
        self._next_commit = 0.0
        self._committed_at = clock()  # so that ``commit_age_s`` also grows before the first commit
        self._damaged: dict[ActiveTask, StateDamagedError] = {}
        self._is_full = False  # whether uncommitted changes are over the limit, and a commit failed
        self._rewound: dict[TopicPartition, int] = {}  # partition rewound in this turn -> its offset
        self._other_bytes = 0  # uncommitted changes of all tasks except the one being processed

    def process(self, batches: Iterable[Batch]) -> None:
        """Process the records of one poll; skip partitions without an active task.

        Raises:
            Exception: from the callback, after a commit of the work before that record, if possible.
            StateError, ChangelogError, KafkaError: see ``Commits.commit``.
        """
        self._rewound.clear()
        self._other_bytes = self._uncommitted_bytes()  # once a poll, because a member may have many tasks
        for active, partition, batch in batches:
            if active is None:
                continue
            self._other_bytes -= active.uncommitted_bytes
            if (taken := self._process_batch(active, batch)) < len(batch):
                self._rewind(partition, batch[taken].offset)
            self._other_bytes += active.uncommitted_bytes

    def commit(self, wait_s: float = 0.0) -> bool:
        """Commit all work (see ``Commits.commit``), and suspend tasks whose store is damaged.

        Returns:
            Whether the work of all other tasks is committed.
        """
        result = self._commits.commit(self._tasks.actives.values(), wait_s)
        for active, error in result.damaged.items():
            self.suspend(active, error)
        if result.is_complete:
            self._is_full = False
            self._committed_at = self._clock()
            for active in self._tasks.actives.values():
                if active.has_processed and active.copy is not None:
                    active.copy.in_doubt = False
        return result.is_complete

    def commit_if_due(self, wait_s: float = 0.0) -> bool:
        """Commit if the interval is over.  A failed commit is tried again after the next interval.

        Returns:
            False if a commit was due and not complete.
        """
        began = self._clock()
        if began < self._next_commit:
            return True
        is_complete = False
        try:
            is_complete = self.commit(wait_s)
            return is_complete
        finally:  # a slow attempt may outlast the interval, and records need time between attempts
            now = self._clock()
            # A repair that the cluster does not answer takes long, and may not be over for hours.
            has_repair = is_complete and not self._tasks.is_proven
            self._next_commit = now + max(self._interval_s, _PAUSE * (now - began) if has_repair else 0.0)

    @property
    def commit_age_s(self) -> float:
        """Seconds since all work was last committed, or since the start."""
        return self._clock() - self._committed_at

    def suspend(self, active: ActiveTask, error: StateDamagedError) -> None:
        """Stop processing a task with a damaged store until it is restored, and rewind to its last commit."""
        self._damaged[active] = error
        self.pause_tasks([active])
        active.ready, active.unproven = False, None
        for partition, offset in active.undo().items():
            self._rewind(partition, offset)

    def damaged(self) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Return the tasks suspended since the last call, and their errors; the caller restores them."""
        damaged = list(self._damaged.items())
        self._damaged.clear()
        return damaged

    def resume_ready(self) -> None:
        """Resume fetching for all ready tasks, unless uncommitted changes are over the limit."""
        if self._is_full:
            return
        for active in self._tasks.actives.values():
            if active.ready and not active.flowing:
                active.flowing = True
                self._consumer.resume(*active.partitions)

    def pause_tasks(self, actives: Iterable[ActiveTask]) -> None:
        """Stop fetching for these tasks."""
        for active in actives:
            active.flowing = False
            self._consumer.pause(*(active.partitions & self._consumer.assignment()))

    def allow(self) -> None:
        """Allow processing again, after revoked tasks have freed memory."""
        self._is_full = False

    def _process_batch(self, active: ActiveTask, batch: list[ConsumerRecord]) -> int:
        """Process records; return their number, smaller than the batch if processing had to stop."""
        if not self._takes(active):
            return 0
        for taken, record in enumerate(batch):
            if self._shutdown.is_set():
                return taken
            is_over_limit = self._other_bytes + active.uncommitted_bytes > self._max_uncommitted_bytes
            if is_over_limit or self._clock() >= self._next_commit:
                is_committed = self._make_room() if is_over_limit else self.commit_if_due()
                self._other_bytes = self._uncommitted_bytes() - active.uncommitted_bytes
                # A failed attempt takes time, so leave the rest of the batch: the next poll comes sooner.
                if not is_committed or not self._takes(active):
                    return taken
            try:
                active.take(record)
            except BaseException as error:
                if isinstance(error, StateDamagedError) and active.copy is not None:
                    self.suspend(active, error)
                    return taken
                self._commit_before_error()
                raise
        return len(batch)

    def _takes(self, active: ActiveTask) -> bool:
        return active.ready and not self._is_full

    def _make_room(self) -> bool:
        if self.commit(HEARTBEAT_WAIT_S):
            return True
        self._is_full = True
        self._next_commit = min(self._next_commit, self._clock() + self._interval_s)
        log.warning(
            "%d bytes of changes cannot be committed now: processing waits for a commit",
            self._uncommitted_bytes(),
        )
        self.pause_tasks(self._tasks.actives.values())
        return False

    def _commit_before_error(self) -> None:
        try:
            if not self.commit(HEARTBEAT_WAIT_S):
                log.warning("closing after an error: the last commit failed, records are processed again")
        except Exception:  # the caller raises the callback's own exception
            log.exception("closing after an error: the last commit failed, records are processed again")

    def _rewind(self, partition: TopicPartition, offset: int) -> None:
        """Seek to an offset, or to an earlier one that this partition was rewound to in this turn."""
        self._rewound[partition] = min(offset, self._rewound.get(partition, offset))
        # The next owner of a revoked partition reads its records.
        if partition in self._consumer.assignment():
            self._consumer.seek(partition, self._rewound[partition])

    def _uncommitted_bytes(self) -> int:
        return sum(active.uncommitted_bytes for active in self._tasks.actives.values())
