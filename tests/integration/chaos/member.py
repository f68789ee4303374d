"""A consumer in a process of its own that writes a ledger of all it does."""

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
from kafka.errors import FencedInstanceIdError, KafkaError, RetriableError

from kafka_assignors import OwnershipListener, strategy
from tests.integration.chaos.ledger import Kind, Writer
from tests.integration.member_process import die_with_the_test

POLL_MS = 100
COMMIT_S = 0.3
_COMMIT_MS = 2000

log = logging.getLogger("kafka_assignors.chaos")


class Recording(OwnershipListener):
    """Writes each change of the consumer's partitions; commits what it gives back."""

    def __init__(self, consumer: KafkaConsumer, ledger: Writer) -> None:
        super().__init__(consumer)
        self._ledger = ledger

    async def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        """Commit, then give back."""
        await super().on_partitions_revoked(revoked)
        self._ledger.write(Kind.REVOKED, _whole(revoked))

    async def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        """Begin with these."""
        await super().on_partitions_assigned(assigned)
        self._ledger.write(Kind.ASSIGNED, _whole(assigned))

    async def on_partitions_lost(self, lost: Collection[Any]) -> None:
        """End with these."""
        await super().on_partitions_lost(lost)
        self._ledger.write(Kind.LOST, _whole(lost))


def run_member(pipe: Connection, settings: dict[str, Any]) -> None:
    """Be a member until ``close`` comes through the pipe; end when the pipe ends."""
    die_with_the_test()
    logging.basicConfig(
        filename=settings.pop("log"),
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    closing = threading.Event()
    threading.Thread(target=_await_close, args=(pipe, closing), daemon=True).start()
    try:
        consume(closing, **settings)
    except Exception:
        log.exception("the member ends")
        os._exit(3)


def consume(
    closing: threading.Event,
    *,
    consumer_class: str,
    strategy_name: str,
    topic: str,
    ledger_path: str,
    busy_s: float,
    **settings: Any,
) -> None:
    """Read, record, commit; take ``busy_s`` for each batch."""
    ledger = Writer(ledger_path)
    consumer = _made(closing, consumer_class, strategy_name, settings)
    if consumer is None:
        return
    coordinator = consumer._coordinator
    coordinator._send_offset_commit_request = _recorded(coordinator._send_offset_commit_request, ledger)
    for assignor in coordinator._assignors.values():
        assignor.on_assignment = _witnessed(assignor.on_assignment, ledger)
    listener = Recording(consumer, ledger)
    consumer.subscribe([topic], listener=listener)
    committed_at, committed = time.monotonic(), listener.offsets()
    while not closing.is_set():
        try:
            records = _polled(consumer)
        except FencedInstanceIdError:
            if closing.is_set():  # the next process of this static member has begun already
                break
            raise
        if records:
            ledger.write(Kind.READ, [(r.topic, r.partition, r.offset) for r in records])
            closing.wait(busy_s)
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


def _polled(consumer: KafkaConsumer) -> list[Any]:
    """Poll as an application has to: without a broker, kafka-python raises what can be tried again."""
    try:
        batches = consumer.poll(timeout_ms=POLL_MS)
    except RetriableError as error:
        log.info("poll failed: %r", error)
        return []
    return [record for batch in batches.values() for record in batch]


def _made(
    closing: threading.Event, consumer_class: str, strategy_name: str, settings: Mapping[str, Any]
) -> KafkaConsumer | None:
    """Connect, as often as it takes; None: closed meanwhile."""
    module, _, name = consumer_class.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    consumer = None
    while consumer is None and not closing.is_set():
        with suppress(RetriableError):
            consumer = kind(
                partition_assignment_strategy=[strategy(strategy_name)],
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                **settings,
            )
    return consumer


def _recorded(send: Callable[..., Any], ledger: Writer) -> Callable[..., Any]:
    def recorded(offsets: Mapping[Any, Any], *rest: Any, **more: Any) -> Any:
        ledger.write(Kind.COMMIT, [(at.topic, at.partition, meta.offset) for at, meta in offsets.items()])
        return send(offsets, *rest, **more)

    return recorded


def _witnessed(on_assignment: Callable[..., None], ledger: Writer) -> Callable[..., None]:
    """A listener hears of changes only; the assignor hears all, with the generation it is of."""

    def witnessed(assignment: Any, generation: int) -> None:
        ledger.write(Kind.OWNED, _whole(assignment.partitions()), generation)
        on_assignment(assignment, generation)

    return witnessed


def _whole(partitions: Collection[Any]) -> list[tuple[str, int, int]]:
    return [(at.topic, at.partition, 0) for at in sorted(partitions)]


def _await_close(pipe: Connection, closing: threading.Event) -> None:
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(1)  # the test is gone
    closing.set()
