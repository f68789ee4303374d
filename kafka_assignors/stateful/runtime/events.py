"""Rebalance events, from the consumer's I/O thread to the threads that may use the tasks.

Stores, producer and commits belong to the thread that calls ``poll``.  A rebalance ends on the I/O thread,
while the polling thread waits for it inside ``poll``.  Revoked tasks must be committed first.  A commit waits
for the changelogs, so on the I/O thread it would hold up heartbeats.  Therefore a third thread handles the
events, and the rebalance waits for that thread without blocking the I/O thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from queue import SimpleQueue

from kafka import AsyncConsumerRebalanceListener, KafkaConsumer
from kafka.structs import TopicPartition

from kafka_assignors.assignor.coordinator_access.consumer import is_closing, member_id_of, wait_for_job
from kafka_assignors.background import Background
from kafka_assignors.stateful.duties import Duties

Partitions = frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Assigned:
    """Partitions that were assigned, and paused."""

    partitions: Partitions
    member_id: str  # this member's id; a member that loses its id loses the partitions


@dataclass(frozen=True, slots=True)
class Revoked:
    """Partitions that move to other members once this event is handled."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Lost:
    """Partitions of a lost membership; other members may own them already."""

    partitions: Partitions


Event = Assigned | Revoked | Lost | Duties
"""The I/O thread queues events; the thread that holds the member's lock takes them."""


class TaskListener(AsyncConsumerRebalanceListener):
    """Queues the events of a rebalance, and waits until ``handle`` has handled revocations and losses.

    Attributes:
        error: raised by ``handle``, for the polling thread to raise again.
    """

    def __init__(
        self, consumer: KafkaConsumer, events: SimpleQueue[Event], handle: Callable[[], None]
    ) -> None:
        self.error: BaseException | None = None
        self._consumer = consumer
        self._events = events
        self._handle = handle

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Pause the partitions until their state is restored."""
        if assigned:
            self._consumer.pause(*assigned)
            self._events.put(Assigned(frozenset(assigned), member_id_of(self._consumer)))

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Wait until the tasks are committed, and their stores are closed or kept as standbys."""
        if revoked and not is_closing(self._consumer):  # a closing member has committed already, if it could
            self._events.put(Revoked(frozenset(revoked)))
            await self._wait_until_handled()

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Wait until the tasks are dropped; it is too late to commit."""
        if lost and not is_closing(self._consumer):
            self._events.put(Lost(frozenset(lost)))
            await self._wait_until_handled()

    async def _wait_until_handled(self) -> None:
        background = Background("kafka-assignors-revocation")
        try:
            await wait_for_job(self._consumer, background.submit(self._guarded))
        finally:
            background.stop()

    def _guarded(self) -> None:
        try:
            self._handle()
        except BaseException as error:  # the polling thread raises it again
            self.error = error
