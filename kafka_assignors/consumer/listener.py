"""A rebalance listener that acts only on partitions whose owner changes (KIP-54, last section).

With a sticky strategy most partitions return in the rebalance that took them away.  KIP-54's listener commits
before partitions are revoked, and opens and closes state only if the owner changes.  This class implements
the pattern for eager and cooperative consumers:

    class Counts(OwnershipListener):
        def gained(self, partitions): ...   # open state
        def lost(self, partitions): ...     # close and drop it

    listener = Counts(consumer)
    consumer.subscribe(["orders"], listener=listener)
    for record in consumer:
        process(record)
        listener.processed(record)

Hooks may be plain or ``async def`` methods.  They run on the consumer's I/O thread, within the rebalance:
they must not call methods that block on that thread (``commit``, ``committed``, ``position``).
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Awaitable, Collection

from kafka import AsyncConsumerRebalanceListener, KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.assignor.coordinator_access.consumer import (
    commit,
    generation_of,
    is_closing,
    runs_cooperative,
)

log = logging.getLogger("kafka_assignors")

Partitions = frozenset[TopicPartition]


class OwnershipListener(AsyncConsumerRebalanceListener):
    """Base class: override ``gained`` and ``lost``, and call ``processed``.

    Args:
        consumer: the consumer this listener is for.
        commit: whether to commit processed offsets before partitions are revoked.  A failed commit is logged;
            records since the last commit are then read again.
    """

    def __init__(self, consumer: KafkaConsumer, *, commit: bool = True) -> None:
        self._consumer = consumer
        self._commits_on_revoke = commit
        self._owned: Partitions = frozenset()
        self._processed: dict[TopicPartition, OffsetAndMetadata] = {}
        self._lock = threading.Lock()  # of `_owned` and `_processed`
        self._generation = -1

    @property
    def owned(self) -> Partitions:
        """The partitions gained and not lost since."""
        return self._owned

    def processed(self, record: ConsumerRecord) -> None:
        """Mark a record, and all before it in its partition, as processed.

        Ignored if the partition is already lost: its new owner commits.
        """
        partition = TopicPartition(record.topic, record.partition)
        with self._lock:
            if partition in self._owned:
                self._processed[partition] = OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)

    def offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets of processed records.  Between rebalances, pass them to ``consumer.commit``."""
        # After ``unsubscribe`` others may own partitions of which kafka-python reports no loss.
        unreported = self._owned - self._consumer.assignment()
        with self._lock:
            return {tp: offset for tp, offset in self._processed.items() if tp not in unreported}

    def gained(self, partitions: Partitions) -> Awaitable[None] | None:
        """Override: open the state of new partitions, and seek."""

    def lost(self, partitions: Partitions) -> Awaitable[None] | None:
        """Override: flush and drop the state of lost partitions, after the commit, if any.

        Also called on close, unless the consumer has unsubscribed.
        """

    # --- called by kafka-python; async, because the I/O thread must await a commit ------------------------

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Commit, and drop lost partitions.

        A cooperative consumer passes only the partitions it loses; an eager one passes its whole
        assignment, each time.
        """
        passed = frozenset(revoked)
        await self._commit_processed(passed)
        if runs_cooperative(self._consumer) or is_closing(self._consumer):
            await self._forget(passed)
        else:  # eager: ``passed`` lacks the owned partitions that ``unsubscribe`` removed from the assignment
            await self._forget(self._owned - passed)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Find gained partitions, and lost ones that ``on_partitions_revoked`` did not find."""
        current = frozenset(assigned)
        before, self._generation = self._generation, generation_of(self._consumer)
        # A cooperative consumer passes only new partitions.  One in `_owned` was unsubscribed and came back.
        if runs_cooperative(self._consumer):
            lost = current | (self._owned - self._consumer.assignment())
        elif self._generation == before + 1:
            lost = self._owned - current
        else:  # the member missed a generation: other members may have owned its partitions meanwhile
            lost = self._owned
        try:
            await self._forget(lost)
        finally:
            gained = current - self._owned
            self._owned |= gained
            if gained:
                await _await_hook(self.gained(gained))

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Drop partitions of a lost membership without a commit; others may own them already."""
        await self._forget(frozenset(lost))

    async def _forget(self, partitions: Partitions) -> None:
        lost = partitions & self._owned
        with self._lock:
            self._owned -= lost
        try:
            if lost:
                await _await_hook(self.lost(lost))
        finally:
            with self._lock:
                for partition in lost:
                    self._processed.pop(partition, None)

    async def _commit_processed(self, partitions: Collection[TopicPartition]) -> None:
        offsets = {tp: self._processed[tp] for tp in partitions if tp in self._processed}
        if not (self._commits_on_revoke and offsets):
            return
        try:
            await commit(self._consumer, offsets)
        except KafkaError as error:
            log.warning(
                "commit of %d revoked partitions failed, so their next owners read records again: %s",
                len(offsets),
                error,
            )


async def _await_hook(hook: Awaitable[None] | None) -> None:
    if inspect.isawaitable(hook):
        await hook
