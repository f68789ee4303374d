"""What happens to a member's tasks, told by the consumer's I/O thread, heeded by whoever may use them.

Stores, producer and commits belong to the thread that calls ``poll``.  A rebalance ends on the I/O thread,
while that one is inside ``poll`` and waits for it.  Who gives tasks back has to be done with them first: that
takes as long as the changelog takes, which would hold up heartbeats.  So it is done by a third thread, for
whose end the rebalance waits without holding up anything, while the first one is still in ``poll``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from kafka import AsyncConsumerRebalanceListener, KafkaConsumer
from kafka.structs import TopicPartition

from kafka_assignors.assignor.coordinator_access import ended, is_closing, member_id_of
from kafka_assignors.stateful.duties import Duties

__all__ = ["Assigned", "Events", "Lost", "Revoked", "TaskListener"]

Partitions = frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Assigned:
    """These are ours now; they are paused.

    Attributes:
        partitions: which.
        member_id: as whom we have them: no longer than the group knows us by that.
    """

    partitions: Partitions
    member_id: str


@dataclass(frozen=True, slots=True)
class Revoked:
    """These go to others as soon as this is heeded."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Lost:
    """The membership is gone: these may be others' already."""

    partitions: Partitions


Event = Assigned | Revoked | Lost | Duties


class Events:
    """From the I/O thread to the one that processes."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Event] = SimpleQueue()

    def put(self, event: Event) -> None:
        """Note what happened."""
        self._queue.put(event)

    def next(self) -> Event | None:
        """The next one, None if there is none."""
        try:
            return self._queue.get_nowait()
        except Empty:
            return None


class TaskListener(AsyncConsumerRebalanceListener):
    """Passes on what a rebalance does.

    Args:
        consumer: whose.
        events: to where.
        heed: heeds what is there; called on a thread of its own, while the one that polls waits in ``poll``.

    Attributes:
        error: what ``heed`` raised, for the thread that polls.
    """

    def __init__(self, consumer: KafkaConsumer, events: Events, heed: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self._consumer = consumer
        self._events = events
        self._heed = heed

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Nothing of them is processed before their state is here."""
        if assigned:
            self._consumer.pause(*assigned)
            self._events.put(Assigned(frozenset(assigned), member_id_of(self._consumer)))

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Wait until they are committed, and in no store that is open for processing."""
        if revoked and not is_closing(self._consumer):  # who closes has seen to it
            self._events.put(Revoked(frozenset(revoked)))
            await self._heeded()

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Too late to commit."""
        if lost and not is_closing(self._consumer):
            self._events.put(Lost(frozenset(lost)))
            await self._heeded()

    async def _heeded(self) -> None:
        worker = threading.Thread(target=self._guarded, name="kafka-assignors-gives-back", daemon=True)
        worker.start()
        await ended(self._consumer, worker)

    def _guarded(self) -> None:
        try:
            self._heed()
        except BaseException as error:  # it is raised again by the thread that polls
            self.error = error
