"""``TaskListener``: its events, and the threads that handle them."""

from __future__ import annotations

import asyncio
import threading
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.structs import TopicPartition

from kafka_assignors.stateful.runtime.events import Assigned, Event, Lost, Revoked, TaskListener

T0 = TopicPartition("t", 0)


class Consumer:
    """A double of the consumer, with an asyncio loop."""

    def __init__(self) -> None:
        self.paused: list[TopicPartition] = []
        self._closed = False
        self._coordinator = SimpleNamespace(
            _net=SimpleNamespace(sleep=asyncio.sleep), _generation=SimpleNamespace(member_id="m-1")
        )

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused += partitions


class Bench:
    """A listener, and the thread that handled each event."""

    def __init__(self) -> None:
        self.consumer = Consumer()
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.handled: list[tuple[object, str]] = []
        self.raises: BaseException | None = None
        consumer: Any = self.consumer
        self.listener = TaskListener(consumer, self.events, self.handle)

    def handle(self) -> None:
        while not self.events.empty():
            self.handled.append((self.events.get(), threading.current_thread().name))
        if self.raises is not None:
            raise self.raises


def test_assigned_partitions_are_paused_until_the_polling_thread_handles_them() -> None:
    bench = Bench()
    asyncio.run(bench.listener.on_partitions_assigned([T0]))
    assert (bench.consumer.paused, bench.handled) == ([T0], [])
    assert bench.events.get() == Assigned(frozenset({T0}), "m-1")


@pytest.mark.parametrize("kind", [Revoked, Lost])
def test_revocation_is_handled_on_another_thread_before_the_rebalance_goes_on(kind: type) -> None:
    bench = Bench()
    callback = bench.listener.on_partitions_revoked if kind is Revoked else bench.listener.on_partitions_lost
    asyncio.run(callback([T0]))
    ((event, thread),) = bench.handled
    assert event == kind(frozenset({T0}))
    assert thread != threading.current_thread().name


def test_error_of_the_handler_is_kept_for_the_polling_thread() -> None:
    """On the I/O thread it would become a callback error without its cause."""
    bench = Bench()
    bench.raises = OSError("broken")
    asyncio.run(bench.listener.on_partitions_revoked([T0]))
    assert bench.listener.error is bench.raises


def test_closing_member_ignores_revocations() -> None:
    """The handler would wait for the thread that waits for the end."""
    bench = Bench()
    bench.consumer._closed = True
    asyncio.run(bench.listener.on_partitions_revoked([T0]))
    asyncio.run(bench.listener.on_partitions_lost([T0]))
    assert bench.handled == []
    assert bench.events.empty()


def test_empty_callbacks_queue_no_event() -> None:
    bench = Bench()
    for callback in (
        bench.listener.on_partitions_assigned,
        bench.listener.on_partitions_revoked,
        bench.listener.on_partitions_lost,
    ):
        asyncio.run(callback([]))
    assert bench.events.empty()
    assert bench.consumer.paused == []
