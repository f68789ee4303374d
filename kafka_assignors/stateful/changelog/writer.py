"""Writes what tasks changed to their changelogs, and knows when the cluster has it.

Who is no member of the group any more must not write: the next owner has written since, and an old value
behind a newer one would be an update lost.  So nothing is sent later than ``patience_s`` after it was asked
for, by whatever retry; who asks has to be sure of its membership for that long.  And nothing is left to be
sent when `ChangelogWriter.write` ends, however it ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka import KafkaProducer
from kafka.errors import (
    AuthorizationError,
    InvalidRecordError,
    InvalidTopicError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    PolicyViolationError,
    RecordListTooLargeError,
)

from kafka_assignors.assignor.coordinator_access import drop_unsent
from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.ending import Ending

__all__ = ["ChangelogWriter", "Written"]

Changes = Mapping[bytes, bytes | None]
Record = tuple[TopicPartition, bytes, bytes | None]

log = logging.getLogger("kafka_assignors")

_AT_ONCE = 4 * 1024 * 1024  # bytes that are under way before the next ones are sent
_MOST = 2_000  # and records: to hand over more takes longer than a short session may last
_DROP_S = 5.0  # until the producer's thread has ended, which sends nothing meanwhile
_BLOCK_MS = 5_000  # for the cluster's metadata: nothing can end that
_LOOK_S = 0.5  # whether the member ends
_LINGER_MS = 5
_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
_FOR_GOOD = (AuthorizationError, InvalidRecordError, InvalidTopicError, PolicyViolationError)
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
        max_request_size: bytes; no record may be larger.
        compression: of what is sent, as kafka-python names it; None: it is not compressed.
        ending: when the member ends, what is not sent within that is dropped.
        connect: makes the producer; it is made anew where the old one cannot go on.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        *,
        patience_s: float = 20.0,
        max_request_size: int = 1024 * 1024,
        compression: str | None = None,
        ending: Ending | None = None,
        connect: Callable[..., KafkaProducer] = KafkaProducer,
    ) -> None:
        delivery_ms = round(1000 * patience_s * 3 / 4)
        self._patience_s = patience_s
        self._ending = ending or Ending()
        self._connect = connect
        self._closed = False
        self._config = {
            **client,
            "acks": "all",
            "allow_auto_create_topics": False,  # one that is deleted would come back without compaction
            "linger_ms": _LINGER_MS,
            "batch_size": 256 * 1024,
            "max_request_size": max_request_size,
            "compression_type": compression,
            "delivery_timeout_ms": delivery_ms,
            "request_timeout_ms": min(client.get("request_timeout_ms", 30_000), delivery_ms - _LINGER_MS),
            "max_block_ms": min(_BLOCK_MS, round(1000 * patience_s / 4)),
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

    def close(self, timeout_s: float = _DROP_S) -> None:
        """Let go of the cluster, for good: nothing is sent afterwards.

        Args:
            timeout_s: how long to wait for the end of what is being sent at this moment.
        """
        self._closed = True
        self._give_up(timeout_s)

    def _offsets(self, records: list[Record]) -> list[tuple[TopicPartition, int]]:
        topics = ", ".join(sorted({at.topic for at, _, _ in records}))
        if self._closed:
            raise ChangelogUnreachableError(f"changelog {topics} cannot be written: the writer is closed")
        try:
            if self._producer is None:
                self._producer = self._connect(**self._config)
            return self._sent(self._producer, records)
        except _TOO_LARGE as error:
            raise ChangelogError(
                f"changelog {topics} cannot be written: {error}; changelog_max_request_size, and the topic's "
                "max.message.bytes, say how large a record may be"
            ) from error
        except _FOR_GOOD as error:
            raise ChangelogError(f"changelog {topics} cannot be written: {error}") from error
        except (KafkaError, AssertionError) as error:  # it asserts that a partition exists
            if not getattr(error, "retriable", False):
                self._give_up()
            raise ChangelogUnreachableError(f"changelog {topics} cannot be written now: {error}") from error

    def _sent(self, producer: KafkaProducer, records: list[Record]) -> list[tuple[TopicPartition, int]]:
        until = time.monotonic() + self._patience_s
        try:
            sent = [
                (at, producer.send(at.topic, value=value, key=key, partition=at.partition))
                for at, key, value in records
            ]
        finally:  # of those before one that is refused, too: they would be sent later
            self._flush(producer, until)
        return [(at, future.get(timeout=0).offset) for at, future in sent]

    def _flush(self, producer: KafkaProducer, until: float) -> None:
        """Wait until nothing is left to be sent: it has arrived, has failed, or, then, is dropped.

        Raises:
            KafkaError: it is dropped.
        """
        try:
            while True:
                left_s = self._ending.to_commit_s(until - time.monotonic())
                try:
                    producer.flush(timeout=min(_LOOK_S, left_s))
                except KafkaTimeoutError:
                    if left_s <= _LOOK_S:
                        raise
                else:
                    return
        except BaseException:
            # Without an answer to its first request it would keep records for ever, whatever their timeout.
            self._give_up()
            raise

    def _give_up(self, timeout_s: float = _DROP_S) -> None:
        """A producer whose sequence of records is broken does not mend by itself."""
        producer, self._producer = self._producer, None
        if producer is None:
            return
        drop_unsent(producer, timeout_s)
        try:
            producer.close(timeout=0)
        except KafkaError as error:  # of what it still had
            log.debug("closing a changelog's producer: %s", error)


def _portions(changes: Mapping[TopicPartition, Changes]) -> Iterator[list[Record]]:
    """All of it, a few megabytes at a time."""
    some: list[Record] = []
    size = 0
    for at, keys in changes.items():
        for key, value in keys.items():
            some.append((at, key, value))
            size += len(key) + len(value or b"")
            if size >= _AT_ONCE or len(some) >= _MOST:
                yield some
                some, size = [], 0
    if some:
        yield some
