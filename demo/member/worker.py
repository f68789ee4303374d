"""A member of replay and backlog: it polls, works, logs and commits."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from kafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

from demo.group.logs import Entry, Event, LogWriter
from demo.member.start import WorkerConfig
from demo.settings import MAX_POLL_MS
from kafka_assignors.consumer import ContinuousConsumer
from kafka_assignors.consumer.listener import OwnershipListener
from kafka_assignors.errors import BrokerError
from kafka_assignors.strategies import load_strategy

POLL_MS = 1_000  # longer than most joins take; records end the wait at once
METADATA_TIMEOUT = 15.0  # s

#: About 50 records.  kafka-python returns fetched records partition by partition, so with more, one partition
#: with a large lag would hold up the member's others.
FETCH_BYTES = 8 * 1024

_REBALANCED = (CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


def work_on(value: bytes, seconds: float) -> None:
    """Process one record: parse it, and wait as for a call to a service."""
    json.loads(value)
    if seconds:
        time.sleep(seconds)


def _numbers(partitions: Iterable[TopicPartition]) -> tuple[int, ...]:
    return tuple(sorted(tp.partition for tp in partitions))


class _Listener(OwnershipListener):
    """Logs rebalances as they happen, and collects gained partitions until the member takes them.

    It runs on the consumer's I/O thread and must be short; the member's own thread opens gained partitions.
    While the member is held, assigned partitions are paused.
    """

    def __init__(self, consumer: ContinuousConsumer, log: LogWriter, held: bool) -> None:
        super().__init__(consumer)
        self._log, self._held = log, held
        self._gained: set[int] = set()  # since the member took them last
        self._holding = threading.Lock()

    def release(self) -> None:
        with self._holding:
            self._held = False
            for partition in self._consumer.paused():
                with suppress(KeyError):  # revoked just now
                    self._consumer.resume(partition)

    def _write(self, event: Event, partitions: Iterable[TopicPartition]) -> None:
        self._log.write(Entry(time.monotonic_ns(), event, _numbers(partitions)))

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        with self._holding:
            if self._held:
                self._consumer.pause(*assigned)
        self._write("assigned", assigned)
        await super().on_partitions_assigned(assigned)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await super().on_partitions_revoked(revoked)
        self._write("revoked", revoked)

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        await super().on_partitions_lost(lost)
        self._write("lost", lost)

    def gained(self, partitions: frozenset[TopicPartition]) -> None:
        self._gained |= set(_numbers(partitions))

    def lost(self, partitions: frozenset[TopicPartition]) -> None:
        self._gained -= set(_numbers(partitions))

    def take_gained(self) -> list[int]:
        gained, self._gained = sorted(self._gained), set()
        return gained


class Worker:
    """Polls, processes, logs and commits, in this order: at least once.

    Records that were logged as done but not committed when the process died are done again by the next owner.
    Each record is logged before the next one's work begins, so that every repeat is counted.

    It raises a BrokerError if the broker fails.
    """

    def __init__(self, config: WorkerConfig, log: LogWriter) -> None:
        self._config, self._log = config, log
        self._generation = -1
        self._is_refused = False  # whether the last commit was refused
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        try:
            self._consumer = ContinuousConsumer(
                bootstrap_servers=config.bootstrap,
                group_id=config.topic,
                client_id=config.client_id,
                partition_assignment_strategy=[load_strategy(config.strategy)],
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
        self._listener = _Listener(self._consumer, log, config.held)
        self._consumer.subscribe([config.topic], listener=self._listener)
        self._learn(config.topic)

    def _learn(self, topic: str) -> None:
        """Wait for the topic's metadata before the first join.

        A leader that joins without the metadata joins again when it arrives.  kafka-python 3.0.12 forgets the
        second join if a poll times out during it.  The member then does nothing until it is expelled.
        """
        end = time.monotonic() + METADATA_TIMEOUT
        while not self._consumer.partitions_for_topic(topic):
            if time.monotonic() > end:
                raise BrokerError(f"topic {topic} is unknown to the broker after {METADATA_TIMEOUT:g} s")
            time.sleep(0.05)

    def begin_on(self, go: threading.Event) -> None:
        """Wait for "go" and let the consumer fetch; run this in a daemon thread.

        The member's own thread may be waiting for a join then, which must not be interrupted.
        """
        go.wait()
        self._listener.release()

    def run(self, leave: threading.Event) -> None:
        """Consume until asked to leave, then close cleanly."""
        while not leave.is_set():
            try:
                batch = self._consumer.poll(timeout_ms=POLL_MS)
            except KafkaError as error:
                raise BrokerError(f"cannot read from the broker: {error!r}") from error
            self._note_generation()
            self._open_gained(leave)
            for tp, records in batch.items():
                self._work_through(tp.partition, records)
            # A refused commit is tried again after the rebalance.
            if batch or (self._is_refused and self._current_generation() != -1):
                self._commit()
        with suppress(KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=5_000)

    def _work_through(self, partition: int, records: list[Any]) -> None:
        began = time.monotonic_ns()
        for record in records:
            work_on(record.value, self._config.work_ms / 1e3)
            # The log comes first: a rebalance may commit processed records at any moment.
            offset = record.offset
            self._log.write(Entry(time.monotonic_ns(), "done", (partition,), offset, offset, began))
            self._listener.processed(record)

    def _commit(self) -> None:
        """Commit the processed offsets of owned partitions, if any is not yet committed."""
        owned = self._consumer.assignment()
        offsets = {tp: offset for tp, offset in self._listener.offsets().items() if tp in owned}
        self._is_refused = False
        if offsets.items() <= self._committed.items():
            return
        try:
            self._consumer.commit(offsets)
            self._committed = offsets
        except _REBALANCED as error:
            self._is_refused = True
            note = f"{type(error).__name__}: {error}"
            self._log.write(Entry(time.monotonic_ns(), "uncommitted", note=note))
        except KafkaError as error:
            raise BrokerError(f"cannot commit: {error!r}") from error

    def _current_generation(self) -> int:
        """Return the generation of this member's assignment; -1 while it has none.

        kafka-python sets the number of the new generation before the member has its assignment.
        """
        membership = self._consumer.group_metadata()
        return int(membership.generation_id) if membership.state == MemberState.STABLE else -1

    def _note_generation(self) -> None:
        generation = self._current_generation()
        if generation not in {-1, self._generation}:
            self._generation = generation
            owned = _numbers(self._consumer.assignment())
            self._log.write(Entry(time.monotonic_ns(), "joined", owned, generation=generation))

    def _open_gained(self, leave: threading.Event) -> None:
        """Warm up for the gained partitions one after the other.

        An eager rebalance revokes everything, but a partition that comes straight back is still open and
        costs nothing.  A member that is asked to leave stops here: the last member would gain all partitions.
        """
        for partition in self._listener.take_gained():
            if leave.is_set():
                return
            began = time.monotonic_ns()
            time.sleep(self._config.warm_up_ms / 1e3)
            self._log.write(Entry(time.monotonic_ns(), "opened", (partition,), began=began))
