"""A rebalance listener that acts only on what was really lost and really gained (KIP-54, the last section).

With a sticky strategy most partitions come back in the rebalance that took them away.  KIP-54's listener
commits before partitions are revoked, and cleans up and initialises only where the owner really changed.
This is that pattern, for eager and cooperative consumers alike:

    class Counts(OwnershipListener):
        def gained(self, partitions): ...   # open state
        def lost(self, partitions): ...     # close and drop it

    listener = Counts(consumer)
    consumer.subscribe(["orders"], listener=listener)
    for record in consumer:
        process(record)
        listener.processed(record)

Hooks may be plain or ``async def`` methods.  They run on the consumer's I/O thread, within the rebalance:
they must not call what blocks on that thread (``commit``, ``committed``, ``position``).
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Collection

from kafka import AsyncConsumerRebalanceListener, KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.assignor.coordinator_access import commit, generation_of, is_closing, runs_cooperative

__all__ = ["OwnershipListener"]

log = logging.getLogger("kafka_assignors")

Partitions = frozenset[TopicPartition]


class OwnershipListener(AsyncConsumerRebalanceListener):
    """Subclass it, override ``gained`` and ``lost``, and tell it what is ``processed``.

    Args:
        consumer: the consumer this listener is for.
        commit: commit what was ``processed`` before a partition is given back.  A commit that fails is
            logged: the records since the last one are read again.
    """

    def __init__(self, consumer: KafkaConsumer, *, commit: bool = True) -> None:
        self._consumer = consumer
        self._commit = commit
        self._owned: Partitions = frozenset()
        self._done: dict[TopicPartition, OffsetAndMetadata] = {}
        self._generation = -1

    @property
    def owned(self) -> Partitions:
        """What was gained and not lost yet."""
        return self._owned

    def processed(self, record: ConsumerRecord) -> None:
        """The record is done, and all before it in its partition, which may be committed up to it.

        What is done too late, when the partition is lost already, is not ours to commit any more.
        """
        at = TopicPartition(record.topic, record.partition)
        if at in self._owned:
            self._done[at] = OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)

    def offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is processed, for ``consumer.commit(listener.offsets())`` between rebalances."""
        return dict(self._done)

    def gained(self, partitions: Partitions) -> Awaitable[None] | None:
        """These are ours now and were not before: open their state, seek where to start."""

    def lost(self, partitions: Partitions) -> Awaitable[None] | None:
        """These were ours and are not any more: flush and drop their state.  Also called on close."""

    # --- what kafka-python calls; async, because only so can a commit be awaited on its I/O thread --------

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Commit.  A cooperative consumer names what it really loses; an eager one everything, each time."""
        named = frozenset(revoked)
        await self._commit_done(named)
        if runs_cooperative(self._consumer) or is_closing(self._consumer):
            await self._forget(named)
        else:  # what an eager consumer does not name it lost without a word, by unsubscribing
            await self._forget(self._owned - named)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """An eager consumer learns here what it really lost, and both what they really gained."""
        now = frozenset(assigned)
        before, self._generation = self._generation, generation_of(self._consumer)
        if runs_cooperative(self._consumer):  # it names only what is new, also after unsubscribing
            lost = now | (self._owned - self._consumer.assignment())
        elif self._generation == before + 1:
            lost = self._owned - now
        else:  # in the generations it missed, others may have had what comes back
            lost = self._owned
        try:
            await self._forget(lost)
        finally:
            gained = now - self._owned
            self._owned |= gained
            if gained:
                await _finish(self.gained(gained))

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """The membership is gone, and with it the right to commit; others may have gone on already."""
        await self._forget(frozenset(lost))

    async def _forget(self, partitions: Partitions) -> None:
        lost = partitions & self._owned
        self._owned -= lost
        try:
            if lost:
                await _finish(self.lost(lost))
        finally:
            for partition in lost:
                self._done.pop(partition, None)

    async def _commit_done(self, partitions: Collection[TopicPartition]) -> None:
        offsets = {tp: self._done[tp] for tp in partitions if tp in self._done}
        if not (self._commit and offsets):
            return
        try:
            await commit(self._consumer, offsets)
        except KafkaError as error:
            log.warning("commit before revoking %d partitions failed: %s", len(offsets), error)


async def _finish(hook: Awaitable[None] | None) -> None:
    if inspect.isawaitable(hook):
        await hook
