"""Processing records: each whole or not at all, and no more than fit into memory until they are committed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Any

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateDamagedError
from kafka_assignors.stateful.commits import Commits
from kafka_assignors.stateful.tasks import ActiveTask, Work

__all__ = ["Processing"]

log = logging.getLogger("kafka_assignors")

_LOOK_S = 0.1  # for the answer to a heartbeat

Batch = tuple[ActiveTask | None, TopicPartition, list[ConsumerRecord]]


class Processing:
    """Hands records to the application's callback, and commits what came of it.  One thread at a time.

    Args:
        consumer: the member.
        work: its active tasks.
        commits: makes safe what they did.
        max_uncommitted_bytes: of changes in memory.  If there are more, and they cannot be committed, nothing
            is taken until they can.
        stop: ends the processing of a batch before the next record.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        work: Work,
        commits: Commits,
        *,
        max_uncommitted_bytes: int,
        stop: threading.Event,
    ) -> None:
        self._consumer: Any = consumer
        self._work = work
        self._commits = commits
        self._most = max_uncommitted_bytes
        self._stop = stop
        self._held = False
        self._back: dict[TopicPartition, int] = {}  # in this turn: where to go on from

    def take(self, batches: Iterable[Batch]) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Process what came in one poll; of tasks that are not ours any more, nothing.

        Returns:
            The tasks whose store turned out to be damaged.  What they did since the last commit is
            undone, and its records come again.

        Raises:
            Exception: whatever the callback raised; what that task did since the last commit is undone.
            StateError, ChangelogError: see ``Commits.commit``.
        """
        self._back.clear()
        damaged = [
            (active, error)
            for active, at, batch in batches
            if active is not None and (error := self._taken(active, at, batch)) is not None
        ]
        return list({active: (active, error) for active, error in damaged}.values())

    def commit(self, wait_s: float = 0.0) -> bool:
        """Make safe what was done; see ``Commits.commit``."""
        done = self._commits.commit(self._work.actives.values(), wait_s)
        if done:
            self._held = False
        return done

    def let_flow(self) -> None:
        """Have records of all tasks come whose state is here."""
        if self._held:
            return
        for active in self._work.actives.values():
            if active.ready and not active.flowing:
                active.flowing = True
                self._consumer.resume(*active.partitions)

    def stop_flow(self, actives: Iterable[ActiveTask]) -> None:
        """Have none of theirs come."""
        for active in actives:
            active.flowing = False
            self._consumer.pause(*active.partitions)

    def go_on(self) -> None:
        """Tasks were given back, and their changes with them: there may be room again."""
        self._held = False

    def _taken(
        self, active: ActiveTask, at: TopicPartition, batch: list[ConsumerRecord]
    ) -> StateDamagedError | None:
        try:
            taken = self._processed(active, batch)
        except StateDamagedError as error:
            self.stop_flow([active])
            active.ready = False
            for each, offset in active.undo().items():
                self._put_back(each, offset)
            return error
        except BaseException:
            active.undo()
            try:
                self.commit()
            except Exception:  # what the callback raised is to be heard of, whatever comes of this
                log.exception("what other tasks did cannot be committed")
            raise
        if taken < len(batch):
            self._put_back(at, batch[taken].offset)
        return None

    def _processed(self, active: ActiveTask, batch: list[ConsumerRecord]) -> int:
        """Process records, and return how many it were: not all, if it has to wait."""
        if not active.ready or self._held:
            return 0
        others = self._uncommitted_bytes() - active.uncommitted_bytes
        for taken, record in enumerate(batch):
            if self._stop.is_set():
                return taken
            if others + active.uncommitted_bytes > self._most:
                if not self.commit(_LOOK_S):
                    self._hold()
                    return taken
                others = self._uncommitted_bytes() - active.uncommitted_bytes
            active.take(record)
        return len(batch)

    def _put_back(self, at: TopicPartition, offset: int) -> None:
        """Go on from there; if a record before that was put back in this turn, from that one."""
        self._back[at] = min(offset, self._back.get(at, offset))
        self._consumer.seek(at, self._back[at])

    def _hold(self) -> None:
        self._held = True
        log.warning(
            "%d bytes are not committed, and cannot be now: nothing more is taken until they are",
            self._uncommitted_bytes(),
        )
        self.stop_flow(self._work.actives.values())

    def _uncommitted_bytes(self) -> int:
        return sum(active.uncommitted_bytes for active in self._work.actives.values())
