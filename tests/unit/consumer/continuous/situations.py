"""Situations of a scripted member that several tests use."""

from __future__ import annotations

from typing import Any

from kafka.errors import IllegalGenerationError, RebalanceInProgressError
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.unit.consumer.continuous.scripted import Scripted

REBALANCE = RebalanceInProgressError.errno
STALE = [RebalanceInProgressError.errno, IllegalGenerationError.errno]
T0 = TopicPartition("t", 0)


def rebalancing(member: Any, *owned: int) -> Any:
    """Make a member, of partition 0 by default, that has sent JoinGroup."""
    m = member(*(owned or (0,)))
    m.rebalance()
    return m


def busy(m: Scripted) -> None:
    m.coordinator.heartbeat.last_poll -= m.coordinator.config["max_poll_interval_ms"] / 1000 + 1


def unsubscribed(m: Scripted) -> None:
    m.consumer.subscribe(["u"], listener=m.listener)


def closing(m: Scripted) -> None:
    m.coordinator._join.is_closing = True


def commit(m: Scripted, offset: int = 150, *numbers: int) -> Any:
    """Commit partitions, 0 by default, as ``commit()`` does, without blocking the test."""
    offsets = {TopicPartition("t", number): OffsetAndMetadata(offset, "", -1) for number in numbers or (0,)}
    return m.in_background(m.coordinator._commit_offsets_sync_async, offsets, 30_000)
