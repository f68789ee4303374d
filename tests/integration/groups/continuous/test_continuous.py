"""`ContinuousConsumer` in live groups."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from bench.pauses.figures import Delivery
from bench.pauses.play import Scene, commands, play
from kafka_assignors import ContinuousConsumer, CooperativeStickyAssignor
from kafka_assignors.consumer.continuous.coordinator import ContinuousCoordinator
from kafka_assignors.consumer.continuous.join_state import Phase
from kafka_assignors.consumer.continuous.known_parts import unknown_parts
from tests.integration.conftest import FreshNames
from tests.support.waiting import until


def settings(fresh: FreshNames, group: str) -> dict[str, Any]:
    """Return the settings of all members."""
    return {
        "bootstrap_servers": fresh.bootstrap,
        "group_id": group,
        "partition_assignment_strategy": [CooperativeStickyAssignor],
        "auto_offset_reset": "earliest",
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 200,
        "enable_auto_commit": False,
    }


class Polled:
    """A consumer that a thread polls.

    Attributes:
        seen: how often each (partition, offset) was delivered.
        errors: of commits.
    """

    def __init__(self, consumer: Any, *, commits: bool = True, poll_ms: int = 50) -> None:
        self.consumer = consumer
        self._poll_ms = poll_ms
        self._commits = commits
        self.seen: Counter[tuple[int, int]] = Counter()
        self.errors: list[KafkaError] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll)

    def __enter__(self) -> Polled:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def deliveries(self) -> list[Delivery]:
        """Its assigned partitions."""
        return [Delivery(0.0, "polled", partition, offset, offset) for partition, offset in self.seen.copy()]

    def poll(self) -> bool:
        """Poll once; returns whether there were records."""
        records = self.consumer.poll(timeout_ms=self._poll_ms)
        for batch in records.values():
            self.seen.update((record.partition, record.offset) for record in batch)
        try:
            if records and self._commits:
                self.consumer.commit()
        except KafkaError as error:
            self.errors.append(error)
        return bool(records)

    def _poll(self) -> None:
        while not self._stop.is_set():
            self.poll()


def owned(*consumers: Any) -> list[int]:
    """Partitions of some consumers, each as often as it is owned."""
    return sorted(tp.partition for consumer in consumers for tp in consumer.assignment())


def test_records_and_commits_flow_while_another_member_holds_up_the_join(fresh: FreshNames) -> None:
    """A member that is not polled keeps the broker from answering JoinGroup."""
    topic = fresh.topic(6)
    config = settings(fresh, fresh.group())
    with ExitStack() as stack:
        producer = stack.enter_context(KafkaProducer(bootstrap_servers=fresh.bootstrap))
        busy, first, newcomer = (
            stack.enter_context(kind(topic, **config))
            for kind in (KafkaConsumer, ContinuousConsumer, ContinuousConsumer)
        )
        member = stack.enter_context(Polled(first, poll_ms=3000))  # an iterator waits even longer
        until(lambda: not busy.poll(20) and len(owned(busy)) == 3 and owned(first, busy) == [*range(6)])
        assert type(first._coordinator) is type(newcomer._coordinator) is ContinuousCoordinator
        kept = owned(first)
        other = stack.enter_context(Polled(newcomer))
        until(lambda: first._coordinator._join.phase is Phase.JOINING)
        for partition in range(6):
            producer.send(topic, b"x", partition=partition)
        producer.flush()
        until(lambda: set(member.seen) == {(partition, 0) for partition in kept})
        until(lambda: all(first.committed(tp) == 1 for tp in first.assignment()))
        assert first._coordinator._join.phase is Phase.JOINING
        assert owned(first) == kept
        rest = stack.enter_context(Polled(busy))
        until(lambda: len(owned(newcomer)) == 2 and owned(first, newcomer, busy) == [*range(6)])
        until(lambda: len(member.seen + other.seen + rest.seen) == 6)
        assert set((member.seen + other.seen + rest.seen).values()) == {1}
        assert member.errors == other.errors == []


def test_join_leave_and_kill_lose_nothing(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Nothing is lost and nothing owned twice (`play`); only the killed member's records are read again."""
    assert unknown_parts() == ()  # else the members are plain KafkaConsumers
    scene = Scene(slow_s=4.0, partitions=12)
    heartbeat_s = scene.heartbeat_ms / 1000
    (command,) = commands(kafka_bootstrap, ["continuous"], tmp_path).values()
    group = play(kafka_bootstrap, "continuous", command, scene)
    assert not group.fault
    figures = group.figures
    assert figures["join"].duplicates == figures["leave"].duplicates == 0
    assert not figures["calm"].moved
    # A KafkaConsumer delivers nothing until the slow member has joined, twice if partitions move.  Without a
    # slow member, too, it hears of the second round with its next heartbeat only.
    for event in ("join", "leave", "kill"):
        assert max(figures[event].kept) < heartbeat_s / 2, event
    assert max(figures["join"].moved) < heartbeat_s / 2
