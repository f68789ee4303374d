"""Writes what tasks changed to their changelogs, and knows when the cluster has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from kafka_assignors.errors import ChangelogError
from kafka_assignors.plan.model import TopicPartition

__all__ = ["ChangelogWriter"]

Changes = Mapping[bytes, bytes | None]


class ChangelogWriter:
    """A producer that waits for all replicas in sync.

    Args:
        client: how to reach the cluster, as kafka-python's clients take it.
    """

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._producer = KafkaProducer(**{**client, "acks": "all", "linger_ms": 5, "batch_size": 256 * 1024})

    def write(self, changes: Mapping[TopicPartition, Changes]) -> dict[TopicPartition, int]:
        """Write changes, the last of each key, and wait until they are safe.

        To write them again after an error does no harm: the last value of a key counts.

        Returns:
            The offset after the last record of each partition that got any.

        Raises:
            ChangelogError: not all of it is safe.
        """
        try:
            sent = [
                (at, self._producer.send(at.topic, value=value, key=key, partition=at.partition))
                for at, some in changes.items()
                for key, value in some.items()
            ]
            self._producer.flush()
            ends: dict[TopicPartition, int] = {}
            for at, future in sent:
                offset = future.get(timeout=0).offset
                ends[at] = max(ends.get(at, 0), offset + 1)
        except KafkaError as error:
            topics = ", ".join(sorted({at.topic for at in changes}))
            raise ChangelogError(f"changelog {topics} cannot be written: {error}") from error
        return ends

    def close(self) -> None:
        """Let go of the cluster; what was not flushed is dropped."""
        self._producer.close(timeout=0)
