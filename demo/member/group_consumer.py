"""The worker's consumer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, Literal

import kafka
from kafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

from demo.member.start import WorkerConfig
from demo.settings import MAX_POLL_MS
from kafka_assignors.consumer import ContinuousConsumer
from kafka_assignors.consumer.listener import OwnershipListener
from kafka_assignors.errors import BrokerError
from kafka_assignors.strategies import strategy as find_strategy

Call = Literal["assigned", "revoked", "lost"]
Report = Callable[[Call, tuple[int, ...]], None]

#: Fetching at most about 50 records a partition at a time keeps one deep partition from starving a member's
#: others: kafka-python hands out what it fetched partition by partition.
FETCH_BYTES = 8 * 1024

METADATA_TIMEOUT = 15.0  # s

_MOVED_ON = (CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


class _Listener(OwnershipListener):
    """Reports rebalances as they happen, and collects gained partitions until the member takes them.

    It runs on the consumer's I/O thread and must be short; the member's own thread opens gained partitions.
    While it is held, assigned partitions are paused.
    """

    def __init__(self, consumer: kafka.KafkaConsumer, report: Report, held: bool) -> None:
        super().__init__(consumer)
        self._report = report
        self._fresh: set[int] = set()
        self._held = held
        self._holding = threading.Lock()

    def release(self) -> None:
        with self._holding:
            self._held = False
            for partition in self._consumer.paused():
                with suppress(KeyError):  # revoked just now
                    self._consumer.resume(partition)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        with self._holding:
            if self._held:
                self._consumer.pause(*assigned)
        self._report("assigned", _numbers(assigned))
        await super().on_partitions_assigned(assigned)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await super().on_partitions_revoked(revoked)
        self._report("revoked", _numbers(revoked))

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        await super().on_partitions_lost(lost)
        self._report("lost", _numbers(lost))

    def gained(self, partitions: frozenset[TopicPartition]) -> None:
        self._fresh |= set(_numbers(partitions))

    def lost(self, partitions: frozenset[TopicPartition]) -> None:
        self._fresh -= set(_numbers(partitions))

    def take_gained(self) -> list[int]:
        gained, self._fresh = sorted(self._fresh), set()
        return gained


def _numbers(partitions: Iterable[TopicPartition]) -> tuple[int, ...]:
    return tuple(sorted(tp.partition for tp in partitions))


class GroupConsumer:
    """A consumer of one topic that commits by hand; it raises a BrokerError if the broker fails.

    Args:
        config: the member's configuration.
        report: called with ``assigned``, ``revoked`` or ``lost`` and the partitions.
    """

    def __init__(self, config: WorkerConfig, report: Report) -> None:
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        try:
            self._consumer = ContinuousConsumer(
                bootstrap_servers=config.bootstrap,
                group_id=config.topic,
                client_id=config.client_id,
                partition_assignment_strategy=[find_strategy(config.strategy)],
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                session_timeout_ms=config.session_timeout_ms,
                heartbeat_interval_ms=config.heartbeat_ms,
                max_poll_interval_ms=MAX_POLL_MS,
                max_poll_records=config.batch,
                max_partition_fetch_bytes=FETCH_BYTES,
                fetch_max_wait_ms=100,
                metadata_max_age_ms=30_000,
            )
        except KafkaError as error:
            raise BrokerError(f"no Kafka broker answers at {config.bootstrap}: {error}") from error
        self._listener = _Listener(self._consumer, report, config.held)
        self._consumer.subscribe([config.topic], listener=self._listener)
        self._learn(config.topic)

    def _learn(self, topic: str) -> None:
        """Wait for the topic's metadata before the first join.

        A leader that joins without it joins again when it arrives.  kafka-python 3.0.12 forgets that second
        join if a poll times out in its middle: the member stays mute until it is expelled.
        """
        end = time.monotonic() + METADATA_TIMEOUT
        while not self._consumer.partitions_for_topic(topic):
            if time.monotonic() > end:
                raise BrokerError(f"topic {topic} is unknown to the broker after {METADATA_TIMEOUT:g} s")
            time.sleep(0.05)

    def release(self) -> None:
        """Let a held consumer fetch; from any thread."""
        self._listener.release()

    def poll(self, timeout_ms: int) -> dict[int, list[Any]]:
        """Return the next records per partition."""
        try:
            batch = self._consumer.poll(timeout_ms=timeout_ms)
        except KafkaError as error:
            raise BrokerError(f"cannot read from the broker: {error!r}") from error
        return {tp.partition: records for tp, records in batch.items()}

    def processed(self, record: Any) -> None:
        """Count a record of `poll` as done."""
        self._listener.processed(record)

    def commit(self) -> str:
        """Commit the processed offsets of owned partitions, if any is not yet committed.

        Returns:
            Empty, or why the broker refused because the group has moved on.
        """
        owned = self._consumer.assignment()
        offsets = {tp: at for tp, at in self._listener.offsets().items() if tp in owned}
        if offsets.items() <= self._committed.items():
            return ""
        try:
            self._consumer.commit(offsets)
        except _MOVED_ON as error:
            return f"{type(error).__name__}: {error}"
        except KafkaError as error:
            raise BrokerError(f"cannot commit: {error!r}") from error
        self._committed = offsets
        return ""

    def take_gained(self) -> list[int]:
        """Return the partitions gained since the last call; one that came straight back is none of them."""
        return self._listener.take_gained()

    def generation(self) -> int:
        """Return the generation of this member's assignment; -1 while it has none.

        The number changes as soon as the group has met, which is before the member learns its assignment.
        """
        membership = self._consumer.group_metadata()
        return int(membership.generation_id) if membership.state == MemberState.STABLE else -1

    def owned(self) -> frozenset[int]:
        """Return the partitions assigned now."""
        return frozenset(tp.partition for tp in self._consumer.assignment())

    def close(self) -> None:
        """Leave the group."""
        with suppress(KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=5_000)
