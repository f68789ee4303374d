"""Writes what tasks changed to their changelogs, and knows when the cluster has it.

Who is no member of the group any more must not write: the next owner has written since, and an old value
behind a newer one would be an update lost.  So nothing is sent later than ``patience_s`` after it was asked
for, by whatever retry; who asks has to be sure of its membership for that long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafka import KafkaProducer
from kafka.errors import (
    AuthorizationError,
    InvalidRecordError,
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    PolicyViolationError,
    RecordListTooLargeError,
)

from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError
from kafka_assignors.plan.model import TopicPartition

__all__ = ["ChangelogWriter", "Written"]

Changes = Mapping[bytes, bytes | None]
Record = tuple[TopicPartition, bytes, bytes | None]

_AT_ONCE = 4 * 1024 * 1024  # bytes that are under way before the next ones are sent
_LINGER_MS = 5
_FOR_GOOD = (
    AuthorizationError,
    InvalidRecordError,
    InvalidTopicError,
    MessageSizeTooLargeError,
    PolicyViolationError,
    RecordListTooLargeError,
)
"""What no second attempt mends."""


@dataclass(frozen=True, slots=True)
class Written:
    """Where in a partition records are now.

    Attributes:
        first: offset of the first.
        records: how many it is.
        end: offset after the last.
    """

    first: int
    records: int
    end: int

    def follows(self, position: int) -> bool:
        """Whether they, and nobody else's, are what comes after that offset."""
        return self.first == position and self.end - self.first == self.records


class ChangelogWriter:
    """A producer that waits for all replicas in sync.

    Args:
        client: how to reach the cluster, as kafka-python's clients take it.
        patience_s: how long records are tried to be sent.
        connect: makes the producer; it is made anew where the old one cannot go on.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        *,
        patience_s: float = 20.0,
        connect: Callable[..., KafkaProducer] = KafkaProducer,
    ) -> None:
        delivery_ms = round(1000 * patience_s * 3 / 4)
        self._connect = connect
        self._config = {
            **client,
            "acks": "all",
            "linger_ms": _LINGER_MS,
            "batch_size": 256 * 1024,
            "delivery_timeout_ms": delivery_ms,
            "request_timeout_ms": min(client.get("request_timeout_ms", 30_000), delivery_ms - _LINGER_MS),
            "max_block_ms": round(1000 * patience_s / 4),
        }
        self._producer: KafkaProducer | None = connect(**self._config)

    def write(
        self, changes: Mapping[TopicPartition, Changes], allowed: Callable[[], bool] = lambda: True
    ) -> dict[TopicPartition, Written]:
        """Write changes, the last of each key, and wait until they are safe.

        To write them again after an error does no harm: the last value of a key counts.

        Args:
            changes: by partition of a changelog.
            allowed: asked before each few megabytes.

        Returns:
            Where the records are, of each partition that got any.

        Raises:
            ChangelogUnreachableError: not all of it is safe; try again.
            ChangelogError: not all of it is safe, and it will not be.
        """
        found: dict[TopicPartition, Written] = {}
        for some in _portions(changes):
            if not allowed():
                raise ChangelogUnreachableError("the group may have gone on without this member")
            for at, offset in self._offsets(some):
                before = found.get(at, Written(offset, 0, offset))
                found[at] = Written(
                    min(before.first, offset), before.records + 1, max(before.end, offset + 1)
                )
        return found

    def close(self) -> None:
        """Let go of the cluster; what was not flushed is dropped."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            producer.close(timeout=0)

    def _offsets(self, records: list[Record]) -> list[tuple[TopicPartition, int]]:
        topics = ", ".join(sorted({at.topic for at, _, _ in records}))
        try:
            if self._producer is None:
                self._producer = self._connect(**self._config)
            sent = [
                (at, self._producer.send(at.topic, value=value, key=key, partition=at.partition))
                for at, key, value in records
            ]
            self._producer.flush()
            return [(at, future.get(timeout=0).offset) for at, future in sent]
        except _FOR_GOOD as error:
            raise ChangelogError(f"changelog {topics} cannot be written: {error}") from error
        except (KafkaError, AssertionError) as error:  # it asserts that a partition exists
            if not getattr(error, "retriable", False):
                self._give_up()
            raise ChangelogUnreachableError(f"changelog {topics} cannot be written now: {error}") from error

    def _give_up(self) -> None:
        """A producer whose sequence of records is broken does not mend by itself."""
        with suppress(KafkaError):  # of what it still had
            self.close()


def _portions(changes: Mapping[TopicPartition, Changes]) -> Iterator[list[Record]]:
    """All of it, a few megabytes at a time."""
    some: list[Record] = []
    size = 0
    for at, keys in changes.items():
        for key, value in keys.items():
            some.append((at, key, value))
            size += len(key) + len(value or b"")
            if size >= _AT_ONCE:
                yield some
                some, size = [], 0
    if some:
        yield some
