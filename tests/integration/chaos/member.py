"""A consumer process that writes an event log."""

from __future__ import annotations

import importlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import FencedInstanceIdError, KafkaError, RebalanceInProgressError, RetriableError

from kafka_assignors import OwnershipListener, strategy
from tests.integration.chaos.event_log import EventKind, EventWriter
from tests.integration.member_process import die_with_the_test

POLL_MS = 100
COMMIT_S = 0.3
_COMMIT_MS = 2000

FENCED = 4
"""Exit code of a fenced static member."""

log = logging.getLogger("kafka_assignors.chaos")


class Recording(OwnershipListener):
    """Logs each change of the consumer's partitions, and commits revoked ones."""

    def __init__(self, consumer: KafkaConsumer, events: EventWriter, *, commit: bool) -> None:
        super().__init__(consumer, commit=commit)
        self._events = events
        self._confirmed_at: int | None = None
        coordinator = consumer._coordinator
        self._send_heartbeat = coordinator._send_heartbeat_request
        coordinator._send_heartbeat_request = self._heartbeat

    async def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        """Commit, then log the revocation."""
        await super().on_partitions_revoked(revoked)
        self._events.write(EventKind.REVOKED, _positions(revoked))

    async def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        """Log new partitions."""
        await super().on_partitions_assigned(assigned)
        self._events.write(EventKind.ASSIGNED, _positions(assigned))

    async def on_partitions_lost(self, lost: Collection[Any]) -> None:
        """Log lost partitions."""
        await super().on_partitions_lost(lost)
        self.note_loss(lost)

    def note_loss(self, lost: Collection[Any]) -> None:
        """Log lost partitions, and when the broker last counted this member."""
        if self._confirmed_at is not None:
            self._events.write(EventKind.CONFIRMED, at=self._confirmed_at)
        self._events.write(EventKind.LOST, _positions(lost))

    async def _heartbeat(self) -> None:
        sent_at = time.monotonic_ns()
        try:
            await self._send_heartbeat()
        except RebalanceInProgressError:
            self._confirmed_at = sent_at
            raise
        self._confirmed_at = sent_at


def run_member(pipe: Connection, settings: dict[str, Any]) -> None:
    """Run a member until the pipe sends ``close``; exit if the pipe breaks."""
    die_with_the_test()
    logging.basicConfig(
        filename=settings.pop("log"),
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    closing = threading.Event()
    threading.Thread(target=_await_close, args=(pipe, closing), daemon=True).start()
    try:
        while not closing.is_set():
            consume(closing, **settings)
    except Exception as error:
        log.exception("member failed")
        os._exit(FENCED if isinstance(error, FencedInstanceIdError) else 3)


def consume(
    closing: threading.Event,
    *,
    consumer_class: str,
    strategy_name: str,
    topic: str,
    events_path: str,
    busy_s: float,
    auto_commit: bool,
    **settings: Any,
) -> None:
    """Read, log and commit records until closed or fenced; take ``busy_s`` for each batch."""
    events = EventWriter(events_path)
    settings |= {"enable_auto_commit": auto_commit, "auto_commit_interval_ms": int(1000 * COMMIT_S)}
    consumer = _connect(closing, consumer_class, strategy_name, settings)
    if consumer is None:
        return
    coordinator = consumer._coordinator
    coordinator._send_offset_commit_request = _log_commits(coordinator._send_offset_commit_request, events)
    for assignor in coordinator._assignors.values():
        assignor.on_assignment = _log_assignments(assignor.on_assignment, events)
    listener = Recording(consumer, events, commit=not auto_commit)
    consumer.subscribe([topic], listener=listener)
    committed_at, committed = time.monotonic(), listener.offsets()
    while not closing.is_set():
        try:
            records = _poll(consumer)
        except FencedInstanceIdError:
            # The next process of this static member has started.  Or the broker was killed before it stored
            # our member id, so it knows that of the process before: start anew, as a supervisor would.
            log.info("fenced")
            if not closing.is_set():
                listener.note_loss(consumer.assignment())
            break
        if records:
            closing.wait(busy_s)
            # Only now, so that a commit in the middle of the batch is reported.
            events.write(EventKind.READ, [(r.topic, r.partition, r.offset) for r in records])
        if auto_commit:
            continue
        for record in records:
            listener.processed(record)
        if time.monotonic() - committed_at >= COMMIT_S and committed != (done := listener.offsets()):
            committed_at = time.monotonic()
            try:
                consumer.commit(done, timeout_ms=_COMMIT_MS)
            except KafkaError as error:
                log.info("commit failed: %s", error)
            else:
                committed = done
    consumer.close()


def _poll(consumer: KafkaConsumer) -> list[Any]:
    """Poll as an application must: kafka-python raises retriable errors without a broker."""
    try:
        batches = consumer.poll(timeout_ms=POLL_MS)
    except RetriableError as error:
        log.info("poll failed: %r", error)
        return []
    return [record for batch in batches.values() for record in batch]


def _connect(
    closing: threading.Event, consumer_class: str, strategy_name: str, settings: Mapping[str, Any]
) -> KafkaConsumer | None:
    """Connect, with retries; None if closed meanwhile."""
    module, _, name = consumer_class.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    consumer = None
    while consumer is None and not closing.is_set():
        with suppress(RetriableError):
            consumer = kind(
                partition_assignment_strategy=[strategy(strategy_name)],
                auto_offset_reset="earliest",
                **settings,
            )
    return consumer


def _log_commits(send: Callable[..., Any], events: EventWriter) -> Callable[..., Any]:
    def send_and_log(offsets: Mapping[Any, Any], *rest: Any, **more: Any) -> Any:
        events.write(
            EventKind.COMMIT, [(tp.topic, tp.partition, meta.offset) for tp, meta in offsets.items()]
        )
        return send(offsets, *rest, **more)

    return send_and_log


def _log_assignments(on_assignment: Callable[..., None], events: EventWriter) -> Callable[..., None]:
    """Wrap the assignor's hook, because only it gets the full assignment and its generation."""

    def log_and_pass_on(assignment: Any, generation: int) -> None:
        events.write(EventKind.OWNED, _positions(assignment.partitions()), generation)
        on_assignment(assignment, generation)

    return log_and_pass_on


def _positions(partitions: Collection[Any]) -> list[tuple[str, int, int]]:
    return [(tp.topic, tp.partition, 0) for tp in sorted(partitions)]


def _await_close(pipe: Connection, closing: threading.Event) -> None:
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(1)  # the test is gone
    closing.set()
