"""Processing records: each whole or not at all, and no more than fit into memory until they are committed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateDamagedError
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.runtime.commits import Commits
from kafka_assignors.stateful.runtime.tasks import ActiveTask, Work

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
        commit_interval_s: how often what was done is committed, in the middle of a batch, too.
        stop: ends the processing of a batch before the next record.
        clock: seconds.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        work: Work,
        commits: Commits,
        *,
        max_uncommitted_bytes: int,
        commit_interval_s: float,
        stop: Ending,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer: Any = consumer
        self._work = work
        self._commits = commits
        self._most = max_uncommitted_bytes
        self._interval_s = commit_interval_s
        self._stop = stop
        self._clock = clock
        self._next_commit = 0.0
        self._damaged: dict[ActiveTask, StateDamagedError] = {}
        self._held = False
        self._back: dict[TopicPartition, int] = {}  # in this turn: where to go on from

    def take(self, batches: Iterable[Batch]) -> None:
        """Process what came in one poll; of tasks that are not ours any more, nothing.

        Raises:
            Exception: whatever the callback raised.  What was done before that record, by all tasks, is
                committed, if that can be.
            StateError, ChangelogError, KafkaError: see ``Commits.commit``.
        """
        self._back.clear()
        for active, at, batch in batches:
            if active is not None and (taken := self._processed(active, batch)) < len(batch):
                self._put_back(at, batch[taken].offset)

    def commit(self, wait_s: float = 0.0) -> bool:
        """Make safe what was done; see ``Commits.commit``."""
        did = [active for active in self._work.actives.values() if active.done]
        came_of_it = self._commits.commit(self._work.actives.values(), wait_s)
        for active, error in came_of_it.damaged.items():
            self.set_aside(active, error)
        if came_of_it.done:
            self._held = False
            for active in did:
                if active.copy is not None and active not in came_of_it.damaged:
                    active.copy.in_doubt = False
        return came_of_it.done

    def commit_if_due(self, wait_s: float = 0.0) -> bool:
        """The same, if the interval is over; what cannot be committed now is tried again after the next one.

        Returns:
            Whether there is nothing that was due and is not safe.
        """
        if self._clock() < self._next_commit:
            return True
        try:
            return self.commit(wait_s)
        finally:  # an attempt may take longer than the interval, and there has to be time for something else
            self._next_commit = self._clock() + self._interval_s

    def set_aside(self, active: ActiveTask, error: StateDamagedError) -> None:
        """A task's store turned out to be damaged.

        Nothing of it is processed until its state is here again; what it did and is not safe is undone, and
        its records come again.
        """
        self._damaged[active] = error
        self.stop_flow([active])
        active.ready = False
        for at, offset in active.undo().items():
            self._put_back(at, offset)

    def damaged(self) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Tasks that were set aside since this was asked last: their state is to be restored."""
        found = list(self._damaged.items())
        self._damaged.clear()
        return found

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
            self._consumer.pause(*(active.partitions & self._consumer.assignment()))

    def go_on(self) -> None:
        """Tasks were given back, and their changes with them: there may be room again."""
        self._held = False

    def _processed(self, active: ActiveTask, batch: list[ConsumerRecord]) -> int:
        """Process records, and return how many it were: not all, if it has to wait."""
        if not self._takes(active):
            return 0
        others = self._uncommitted_bytes() - active.uncommitted_bytes
        for taken, record in enumerate(batch):
            if self._stop.is_set():
                return taken
            too_much = others + active.uncommitted_bytes > self._most
            if too_much or self._clock() >= self._next_commit:
                safe = self._make_room() if too_much else self.commit_if_due()
                # Attempts take time: where one failed, the consumer is polled before the next.
                if not safe or not self._takes(active):
                    return taken
                others = self._uncommitted_bytes() - active.uncommitted_bytes
            try:
                active.take(record)
            except StateDamagedError as error:
                self.set_aside(active, error)
                return taken
            except BaseException:
                self._commit_before_the_end()
                raise
        return len(batch)

    def _takes(self, active: ActiveTask) -> bool:
        return active.ready and not self._held

    def _make_room(self) -> bool:
        if self.commit(_LOOK_S):
            return True
        self._held = True
        log.warning(
            "%d bytes are not committed, and cannot be now: nothing more is taken until they are",
            self._uncommitted_bytes(),
        )
        self.stop_flow(self._work.actives.values())
        return False

    def _commit_before_the_end(self) -> None:
        try:
            if not self.commit(_LOOK_S):
                log.warning(
                    "what was done since the last commit cannot be committed now: it will be done again"
                )
        except Exception:  # what the callback raised is to be heard of, whatever comes of this
            log.exception("what was done since the last commit cannot be committed")

    def _put_back(self, at: TopicPartition, offset: int) -> None:
        """Go on from there; if a record before that was put back in this turn, from that one."""
        self._back[at] = min(offset, self._back.get(at, offset))
        # While tasks are given back the consumer has let go of them already: the next owner will read them.
        if at in self._consumer.assignment():
            self._consumer.seek(at, self._back[at])

    def _uncommitted_bytes(self) -> int:
        return sum(active.uncommitted_bytes for active in self._work.actives.values())
