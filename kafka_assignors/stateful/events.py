"""What happens to a member's tasks, told by the consumer's I/O thread, heeded by the one that processes.

Stores, producer and commits belong to the thread that calls ``poll``.  A rebalance ends on the I/O thread,
often while that one is inside ``poll``: there it is only noted down.  Who gives tasks back has to be done
with them first, so the rebalance waits, without holding up heartbeats, until they are committed; ``poll``
comes back in the meantime, since its time is short.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from kafka import AsyncConsumerRebalanceListener, KafkaConsumer
from kafka.structs import TopicPartition

from kafka_assignors.adapter.consumer_side import is_closing, wait_for
from kafka_assignors.stateful.assignor import Duties

__all__ = ["Assigned", "Events", "Lost", "Revoked", "TaskListener"]

log = logging.getLogger("kafka_assignors")

Partitions = frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Assigned:
    """These are ours now; they are paused."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Revoked:
    """These go to others as soon as ``done`` is set."""

    partitions: Partitions
    done: threading.Event = field(default_factory=threading.Event)


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


class TaskListener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # it has no types
    """Passes on what a rebalance does.

    Args:
        consumer: whose.
        events: to where.
        patience_s: how long what is given back is waited for; what is not committed then is done again by
            the next owner.
    """

    def __init__(self, consumer: KafkaConsumer, events: Events, patience_s: float) -> None:
        self._consumer = consumer
        self._events = events
        self._patience_s = patience_s

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Nothing of them is processed before their state is here."""
        if not assigned:
            return
        self._consumer.pause(*assigned)
        self._events.put(Assigned(frozenset(assigned)))

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Wait until they are committed, and in no store that is open for processing."""
        if not revoked or is_closing(self._consumer):  # who closes has seen to it
            return
        event = Revoked(frozenset(revoked))
        self._events.put(event)
        if not await wait_for(self._consumer, event.done, self._patience_s):
            log.warning(
                "%d partitions were given back before they were committed: a record took longer than %.0f s",
                *(len(revoked), self._patience_s),
            )

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Too late to commit."""
        if lost:
            self._events.put(Lost(frozenset(lost)))
