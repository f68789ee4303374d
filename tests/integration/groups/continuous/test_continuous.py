"""`ContinuousConsumer` in live groups."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer

from bench.pauses.play import Scene, commands, play
from kafka_assignors import ContinuousConsumer
from kafka_assignors.consumer.continuous.coordinator import ContinuousCoordinator
from kafka_assignors.consumer.continuous.join_state import Phase
from kafka_assignors.consumer.continuous.known_parts import unknown_parts
from tests.integration.conftest import FreshNames
from tests.integration.groups.continuous.polled import Polled, owned, settings
from tests.support.waiting import until


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


@pytest.mark.long
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
