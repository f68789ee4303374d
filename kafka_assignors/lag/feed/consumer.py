"""A consumer of the load feed: a ``KafkaConsumer`` without a group, whose waits have limits (see `Link`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError, for_code

from kafka_assignors.errors import LagClosedError, LagDeniedError, LagError
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.requests import metadata_request
from kafka_assignors.plan import shown

_WAIT_MS = 1_000
"""Longest time a broker waits for records.  A broker answers in order, so later requests wait as long."""

_MOST_RECORDS = 1_000
"""Maximum number of records of a poll: decoding must not keep other threads waiting for long."""

_POSITION_MS = 100
"""Longest time to wait for the position in a partition."""


class TopicMissingError(LagError):
    """The topic does not exist, or not yet."""


class FeedRecord(NamedTuple):
    """A record of the feed.  ``partition`` is the number of the feed topic's partition."""

    partition: int
    key: bytes | None
    value: bytes | None


class FeedConsumer:
    """Reads a topic from its beginning.  Owns one daemon thread; the constructor never waits.

    Never creates the topic and commits no offset.  Use it from one thread.  Any thread may call ``shut`` and
    ``wait_shut``.

    Raises:
        LagError: kafka-python refuses the settings.
    """

    def __init__(self, client: Mapping[str, Any], topic: str) -> None:
        self._client = client
        self._topic = topic
        with self._errors():
            self._link = Link(client)
        self._consumer: Any = None
        self._opened: tuple[object, frozenset[int]] | None = None  # the topic's id and partitions
        self._ends_to_reach: dict[KafkaPartition, int] = {}

    def open(self, timeout_s: float) -> None:
        """Connect, and start at the topic's beginning.

        Raises:
            LagError: no broker answers, access is denied, or the topic does not exist.
        """
        self._opened = self._describe(timeout_s)
        with self._errors():
            self._consumer = KafkaConsumer(
                **self._client,
                kafka_client=self._link.client,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                fetch_max_wait_ms=min(_WAIT_MS, int(self._client.get("request_timeout_ms", 30_000) / 2)),
                max_poll_records=_MOST_RECORDS,
                metrics_enabled=False,
            )
            partitions = [KafkaPartition(self._topic, p) for p in sorted(self._opened[1])]
            self._consumer.assign(partitions)
            self._ends_to_reach = self._consumer.end_offsets(partitions, timeout_ms=int(1000 * timeout_s))

    def is_same(self, timeout_s: float) -> bool:
        """Whether the topic is still the one that was opened: neither created again nor grown.

        A broker before Kafka 2.8 sends no topic ids, so only a changed number of partitions is noticed.

        Raises:
            LagError: as ``open``.
        """
        return self._describe(timeout_s) == self._opened

    def poll(self, timeout_s: float) -> list[FeedRecord]:
        """Wait for records; return them in the order of each partition.

        Raises:
            LagError: reading failed.
        """
        with self._errors():
            batches = self._consumer.poll(int(1000 * timeout_s))
        return [
            FeedRecord(partition.partition, record.key, record.value)
            for partition, records in batches.items()
            for record in records
        ]

    def has_caught_up(self) -> bool:
        """Whether all committed records that existed at ``open`` were read; False if a position is unknown.

        Raises:
            LagError: the request for the position failed.
        """
        with self._errors():
            # Compare positions instead of records, because transaction markers are no records.
            self._ends_to_reach = {
                partition: end
                for partition, end in self._ends_to_reach.items()
                if end > 0 and (self._consumer.position(partition, timeout_ms=_POSITION_MS) or 0) < end
            }
        return not self._ends_to_reach

    def shut(self) -> None:
        """Ask the thread to end; calls that wait for it end, too.  From any thread, any number of times."""
        self._link.shut()

    def wait_shut(self, timeout_s: float) -> bool:
        """Wait for the thread; return whether it ended in time."""
        return self._link.wait_shut(timeout_s)

    def _describe(self, timeout_s: float) -> tuple[object, frozenset[int]]:
        """Return the topic's id, None with old brokers, and its partitions."""
        timeout_ms = 1000 * timeout_s

        async def describe() -> Any:
            await self._link.ready(timeout_ms)
            request = metadata_request([self._topic])
            return await self._link.manager.send(request, request_timeout_ms=timeout_ms)

        with self._errors():
            response = self._link.run(describe, timeout_s=timeout_s)
        topic: Any = next(iter(response.topics), None)
        code = UnknownTopicOrPartitionError.errno if topic is None else topic.error_code
        if code == TopicAuthorizationFailedError.errno:
            raise self._denied()
        if code == UnknownTopicOrPartitionError.errno or (not code and not topic.partitions):
            raise TopicMissingError("there is no such topic")
        if code:
            raise lag_error(for_code(code)(self._topic))
        return getattr(topic, "topic_id", None), frozenset(p.partition_index for p in topic.partitions)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert kafka-python's exceptions to `LagError`."""
        try:
            yield
        except GeneratorExit as error:  # raised when the loop ends during a wait
            raise LagClosedError("the reader was closed") from error
        except TopicAuthorizationFailedError as error:
            raise self._denied() from error
        except Exception as error:
            raise lag_error(error) from error

    def _denied(self) -> LagDeniedError:
        return LagDeniedError(f"not authorised to read the topic {shown(self._topic)}")
