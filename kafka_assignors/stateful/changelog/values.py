"""Reads a part of a changelog: the last value of each key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaTimeoutError

from kafka_assignors.lag.fetch.link import client_without_topic_creation
from kafka_assignors.plan.model import TopicPartition

_POLL_MS = 100
_CONNECT_S = 5.0  # limit of the wait for a connection, which cannot be cut short


def last_values(
    client: Mapping[str, Any],
    partition: TopicPartition,
    first: int,
    end: int,
    left_s: Callable[[], float],
) -> dict[bytes, bytes | None]:
    """Return the last value of each key between two offsets; None: deleted.  Connects, so call it rarely.

    Args:
        client: client configuration, as kafka-python's clients take it.
        partition: the changelog's partition.
        first: the first offset.
        end: the offset after the last one.
        left_s: returns the seconds left; the reader gives up at 0.

    Raises:
        KafkaError: the cluster does not answer in time, or refuses.
    """
    changelog = KafkaPartition(*partition)
    values: dict[bytes, bytes | None] = {}
    consumer = KafkaConsumer(
        **{**client, "bootstrap_timeout_ms": max(1, round(1000 * min(_CONNECT_S, left_s())))},
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",  # compaction may have removed the first records
        kafka_client=client_without_topic_creation,  # else a deleted changelog would come back
    )
    try:
        consumer.assign([changelog])
        consumer.seek(changelog, first)
        # The position passes records that a poll does not return: those that compaction removed.
        while (consumer.position(changelog, timeout_ms=0) or 0) < end:
            if left_s() <= 0:
                raise KafkaTimeoutError(f"{partition.topic}-{partition.partition} was not read in time")
            for record in consumer.poll(_POLL_MS).get(changelog, ()):
                if record.offset < end and record.key:
                    values[record.key] = record.value
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    return values
