"""``TaskListener``: who is told what, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.structs import TopicPartition

from kafka_assignors.stateful.runtime.events import Assigned, Events, Lost, Revoked, TaskListener

T0 = TopicPartition("t", 0)


class Consumer:
    """As much of a consumer as the listener touches; its loop is asyncio's."""

    def __init__(self) -> None:
        self.paused: list[TopicPartition] = []
        self._closed = False
        self._coordinator = SimpleNamespace(
            _net=SimpleNamespace(sleep=asyncio.sleep), _generation=SimpleNamespace(member_id="m-1")
        )

    def pause(self, *some: TopicPartition) -> None:
        self.paused += some


class Bench:
    """A listener, and what was heeded on which thread."""

    def __init__(self) -> None:
        self.consumer = Consumer()
        self.events = Events()
        self.heeded: list[tuple[object, str]] = []
        self.raises: BaseException | None = None
        consumer: Any = self.consumer
        self.listener = TaskListener(consumer, self.events, self.heed)

    def heed(self) -> None:
        while (event := self.events.next()) is not None:
            self.heeded.append((event, threading.current_thread().name))
        if self.raises is not None:
            raise self.raises


def test_what_is_given_is_paused_and_waits_for_the_thread_that_polls() -> None:
    bench = Bench()
    asyncio.run(bench.listener.on_partitions_assigned([T0]))
    assert (bench.consumer.paused, bench.heeded) == ([T0], [])
    assert bench.events.next() == Assigned(frozenset({T0}), "m-1")


@pytest.mark.parametrize("kind", [Revoked, Lost])
def test_what_goes_is_heeded_by_another_thread_before_the_rebalance_goes_on(kind: type) -> None:
    bench = Bench()
    tell = bench.listener.on_partitions_revoked if kind is Revoked else bench.listener.on_partitions_lost
    asyncio.run(tell([T0]))
    ((event, thread),) = bench.heeded
    assert event == kind(frozenset({T0}))
    assert thread != threading.current_thread().name


def test_what_that_raises_is_kept_for_the_thread_that_polls() -> None:
    """On the I/O thread it would become an error of a callback, without its cause."""
    bench = Bench()
    bench.raises = OSError("broken")
    asyncio.run(bench.listener.on_partitions_revoked([T0]))
    assert bench.listener.error is bench.raises


def test_who_closes_has_seen_to_it_before() -> None:
    """To wait for a thread then would be to wait for the one that waits for the end."""
    bench = Bench()
    bench.consumer._closed = True
    asyncio.run(bench.listener.on_partitions_revoked([T0]))
    asyncio.run(bench.listener.on_partitions_lost([T0]))
    assert bench.heeded == []
    assert bench.events.next() is None


def test_nothing_is_no_event() -> None:
    bench = Bench()
    for tell in (
        bench.listener.on_partitions_assigned,
        bench.listener.on_partitions_revoked,
        bench.listener.on_partitions_lost,
    ):
        asyncio.run(tell([]))
    assert bench.events.next() is None
    assert bench.consumer.paused == []
