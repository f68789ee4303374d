"""Writes changes of tasks to their changelogs, and waits for the acknowledgement.

A member that has left the group must not write: the next owner may have written since, and an old value
behind a newer one would lose an update.  No record is sent later than ``patience_s`` after ``allowed``
returned True, so ``allowed`` must guarantee the membership for that long.  When `ChangelogWriter.write`
returns or raises, nothing is left to be sent by the producer or the kernel.  (By default, the kernel goes on
sending after a connection is closed if the network was stalled.)
"""

from __future__ import annotations

import logging
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
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
    UnknownError,
)

from kafka_assignors.assignor.coordinator_access.consumer import stop_producer
from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError
from kafka_assignors.lag.fetch.link import NO_ROOM, make_client
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.shutdown import Shutdown

NewValues = Mapping[bytes, bytes | None]
Record = tuple[TopicPartition, bytes, bytes | None]

log = logging.getLogger("kafka_assignors")

_MAX_IN_FLIGHT_BYTES = 4 * 1024 * 1024
_MAX_IN_FLIGHT_RECORDS = 2_000  # sending more could outlast a short session
_DROP_S = 5.0  # limit of the wait for the end of the producer's thread, which sends nothing new
_BLOCK_MS = 5_000  # limit of the wait for the cluster's metadata, which cannot be cut short
_CHECK_EVERY_S = 0.5  # between two checks for the shutdown
_LINGER_MS = 5
_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
_PERMANENT = (AuthorizationError, InvalidRecordError, InvalidTopicError, PolicyViolationError)
"""A retry cannot help after these errors."""
# The kernel aborts a connection that is closed, and drops its unsent bytes.
_ABORT_ON_CLOSE = (
    socket.SOL_SOCKET,
    socket.SO_LINGER,
    struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0),
)


@dataclass(frozen=True, slots=True)
class WrittenRange:
    """The offsets that a partition gave to the records of one write."""

    first: int
    records: int  # their number
    end: int  # after the last record

    def follows(self, position: int) -> bool:
        """Whether the range starts at ``position`` and has no record of another writer."""
        return self.first == position and self.end - self.first == self.records


class _Producer(KafkaProducer):
    """A producer that `ChangelogWriter` closes.

    When ``KafkaProducer`` is garbage-collected, it silences the log of all producers of the process, also
    the user's.  This class does not.
    """

    def __del__(self) -> None:
        pass


class ChangelogWriter:
    """A producer that waits for all in-sync replicas, and is created anew after an error that may pass.

    Args:
        client: settings of the connection.
        patience_s: seconds until a record is given up.
        max_request_size: bytes of the largest record.
        compression: codec; None: no compression.
        shutdown: records that are not acknowledged when its time for commits is over are dropped.
        connect: makes a producer.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        *,
        patience_s: float = 20.0,
        max_request_size: int = 1024 * 1024,
        compression: str | None = None,
        shutdown: Shutdown | None = None,
        connect: Callable[..., KafkaProducer] = _Producer,
    ) -> None:
        delivery_ms = round(1000 * patience_s * 3 / 4)  # plus `max_block_ms`: at most the patience
        self._patience_s = patience_s
        self._shutdown = shutdown or Shutdown()
        # Without topic creation, else a deleted changelog would come back.
        self._connect = partial(make_client, connect)
        self._closed = False
        self._config = {
            **client,
            "acks": "all",
            "linger_ms": _LINGER_MS,
            "batch_size": 256 * 1024,
            "max_request_size": max_request_size,
            "compression_type": compression,
            "delivery_timeout_ms": delivery_ms,
            "request_timeout_ms": min(client.get("request_timeout_ms", 30_000), delivery_ms - _LINGER_MS),
            "bootstrap_timeout_ms": min(client.get("bootstrap_timeout_ms", 30_000), delivery_ms),
            "max_block_ms": min(_BLOCK_MS, round(1000 * patience_s / 4)),
            "socket_options": [
                *client.get("socket_options", KafkaProducer.DEFAULT_CONFIG["socket_options"]),
                _ABORT_ON_CLOSE,
            ],
        }
        self._producer: KafkaProducer | None = self._connect(**self._config)

    def write(
        self,
        changes: Mapping[TopicPartition, NewValues],
        allowed: Callable[[], bool] = lambda: True,
        timeout_s: float = float("inf"),
    ) -> dict[TopicPartition, WrittenRange]:
        """Write changes, wait until they are acknowledged, and return the range of each partition.

        A second write after an error does no harm: the last value of a key counts.

        ``allowed`` is called before each portion of 4 MiB or 2,000 records.  All portions together have
        ``timeout_s``, and each has ``patience_s`` at most.  Connecting and waiting for metadata come on top.

        Raises:
            ChangelogUnreachableError: some changes are not ``allowed``, or not acknowledged; try again.
            ChangelogError: some changes are not acknowledged, and a retry cannot help.
        """
        until = time.monotonic() + timeout_s
        ranges: dict[TopicPartition, WrittenRange] = {}
        for portion in _portions(changes):
            with self._errors_of(portion):
                # Before ``allowed``, because these may take as long as a lease.
                producer = self._ensure_producer(until - time.monotonic())
                for topic in {partition.topic for partition, _, _ in portion}:
                    producer.partitions_for(topic)  # else ``send`` waits for the topic's metadata
            if not allowed():
                raise ChangelogUnreachableError("the lease has run out: other members may own the tasks")
            with self._errors_of(portion):
                written = self._send_and_flush(producer, portion, until)
            for partition, offset in written:
                before = ranges.get(partition, WrittenRange(offset, 0, offset))
                ranges[partition] = WrittenRange(
                    min(before.first, offset), before.records + 1, max(before.end, offset + 1)
                )
        return ranges

    def close(self, timeout_s: float = _DROP_S) -> None:
        """Close for good: nothing is sent afterwards.  A request under way has ``timeout_s`` to end."""
        self._closed = True
        self._give_up(timeout_s)

    def _ensure_producer(self, left_s: float) -> KafkaProducer:
        if self._producer is None:
            most_s = self._shutdown.to_commit_s(min(left_s, self._config["bootstrap_timeout_ms"] / 1000))
            config = {**self._config, "bootstrap_timeout_ms": max(round(1000 * most_s), 1)}
            self._producer = self._connect(**config)
        return self._producer

    @contextmanager
    def _errors_of(self, records: list[Record]) -> Iterator[None]:
        """Turn kafka-python's errors of a portion into those of ``write``."""
        topics = ", ".join(sorted({partition.topic for partition, _, _ in records}))
        if self._closed:
            raise ChangelogUnreachableError(f"cannot write changelog {topics}: the writer is closed")
        try:
            yield
        except _TOO_LARGE as error:
            raise ChangelogError(
                f"cannot write changelog {topics}: {error}; raise changelog_max_request_size or the topic's "
                "max.message.bytes"
            ) from error
        except _PERMANENT as error:
            raise ChangelogError(
                f"cannot write changelog {topics}: {error}; check the topic's ACLs and configuration"
            ) from error
        # ValueError: the metadata does not list the partition yet.
        except (KafkaError, ValueError, *NO_ROOM) as error:
            self._give_up()
            raise ChangelogUnreachableError(f"cannot write changelog {topics} now: {error}") from error

    def _send_and_flush(
        self, producer: KafkaProducer, records: list[Record], until: float
    ) -> list[tuple[TopicPartition, int]]:
        until = min(until, time.monotonic() + self._patience_s)
        try:
            sent = [
                (
                    partition,
                    producer.send(partition.topic, value=value, key=key, partition=partition.partition),
                )
                for partition, key, value in records
            ]
        finally:  # if a record is refused, those before it must not be sent later
            self._flush(producer, until)
        return [(partition, future.get(timeout=0).offset) for partition, future in sent]

    def _flush(self, producer: KafkaProducer, until: float) -> None:
        """Wait until all records have arrived or failed; at the deadline, drop the rest.

        Raises:
            KafkaError: records were dropped.
        """
        try:
            while True:
                left_s = self._shutdown.to_commit_s(until - time.monotonic())
                try:
                    producer.flush(timeout=min(_CHECK_EVERY_S, left_s))
                except (KafkaTimeoutError, UnknownError):  # unknown: kafka-python has split a large batch
                    if left_s <= _CHECK_EVERY_S:
                        raise
                else:
                    return
        except BaseException:
            # A producer without a response to its first request keeps records forever, despite their timeout.
            self._give_up()
            raise

    def _give_up(self, timeout_s: float = _DROP_S) -> None:
        """Drop a producer with its connections: a request in flight must not arrive after a later write."""
        producer, self._producer = self._producer, None
        if producer is None:
            return
        stop_producer(producer, timeout_s)
        try:
            producer.close(timeout=0)
        except KafkaError as error:  # about the dropped records
            log.debug("closing a changelog's producer: %s", error)


def _portions(changes: Mapping[TopicPartition, NewValues]) -> Iterator[list[Record]]:
    """Split changes into portions of 4 MiB or 2,000 records."""
    portion: list[Record] = []
    size = 0
    for partition, keys in changes.items():
        for key, value in keys.items():
            portion.append((partition, key, value))
            size += len(key) + len(value or b"")
            if size >= _MAX_IN_FLIGHT_BYTES or len(portion) >= _MAX_IN_FLIGHT_RECORDS:
                yield portion
                portion, size = [], 0
    if portion:
        yield portion
