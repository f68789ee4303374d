"""A consumer of the load feed: kafka-python's, without a group, over a link that never waits for long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition
from kafka.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError, for_code
from kafka.protocol.metadata import MetadataRequest

from kafka_assignors.errors import LagClosedError, LagDeniedError, LagError
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.plan import shown

__all__ = ["FeedConsumer", "FeedRecord", "TopicMissingError"]

_WAIT_MS = 1_000
"""How long a broker may wait for news before it answers.  It answers in order, so whatever else it is asked
meanwhile waits as long."""

_AT_ONCE = 1_000
"""Records it hands over at a time, at most: reading must not keep the interpreter from others for long."""


_SOON_MS = 100
"""How long to wait for where in a partition reading begins."""


class TopicMissingError(LagError):
    """There is no such topic, or not yet."""


class FeedRecord(NamedTuple):
    """A record as it was read; ``partition`` is the topic's own."""

    partition: int
    key: bytes | None
    value: bytes | None


class FeedConsumer:
    """Reads a topic from its beginning.  It owns one daemon thread; making one never waits.

    Nothing is ever created by asking for it, and no offset is committed.  All but ``shut`` is for one thread.

    Args:
        client: keyword arguments about the connection, as ``fetch_settings`` picks them out.
        topic: what to read.

    Raises:
        LagError: settings that kafka-python does not take.
    """

    def __init__(self, client: Mapping[str, Any], topic: str) -> None:
        self._client = client
        self._topic = topic
        try:
            self._link = Link(client)
        except Exception as error:
            raise lag_error(error) from error
        # kafka-python's consumer has an option for that, which does not reach its metadata requests.
        self._link.manager.cluster.config["allow_auto_create_topics"] = False
        self._consumer: Any = None
        self._found: tuple[object, frozenset[int]] | None = None
        self._to_reach: dict[TheirPartition, int] = {}

    def open(self, timeout_s: float) -> None:
        """Connect, and begin at the topic's beginning.

        Raises:
            LagError: no broker answers, or lets us read; there is no such topic.
        """
        self._found = self._look(timeout_s)
        try:
            self._consumer = KafkaConsumer(
                **self._client,
                kafka_client=self._link.client,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                fetch_max_wait_ms=min(_WAIT_MS, int(self._client.get("request_timeout_ms", 30_000) / 2)),
                max_poll_records=_AT_ONCE,
                metrics_enabled=False,
            )
            partitions = [TheirPartition(self._topic, p) for p in sorted(self._found[1])]
            self._consumer.assign(partitions)
            self._to_reach = self._consumer.end_offsets(partitions, timeout_ms=int(1000 * timeout_s))
        except GeneratorExit as error:
            raise LagClosedError("the reader was closed") from error
        except TopicAuthorizationFailedError as error:
            raise self._denied() from error
        except Exception as error:
            raise lag_error(error) from error

    def is_same(self, timeout_s: float) -> bool:
        """Whether the topic is still the one that was opened: not created again, nor grown.

        Raises:
            LagError: as ``open``.
        """
        return self._look(timeout_s) == self._found

    def poll(self, timeout_s: float) -> list[FeedRecord]:
        """What came next, in the order of each partition; waits for it.

        Raises:
            LagError: it cannot be read.
        """
        try:
            batches = self._consumer.poll(int(1000 * timeout_s))
        except GeneratorExit as error:
            raise LagClosedError("the reader was closed") from error
        except TopicAuthorizationFailedError as error:
            raise self._denied() from error
        except Exception as error:
            raise lag_error(error) from error
        return [
            FeedRecord(at.partition, record.key, record.value)
            for at, records in batches.items()
            for record in records
        ]

    def has_caught_up(self) -> bool:
        """Whether all was read that was there at ``open``.

        Raises:
            LagError: it cannot be found out.
        """
        try:
            # A position also passes what is no record, as the ends of transactions.
            self._to_reach = {
                at: end
                for at, end in self._to_reach.items()
                if end > 0 and (self._consumer.position(at, timeout_ms=_SOON_MS) or 0) < end
            }
        except GeneratorExit as error:
            raise LagClosedError("the reader was closed") from error
        except Exception as error:
            raise lag_error(error) from error
        return not self._to_reach

    def shut(self) -> None:
        """Ask the thread to end; what waits here ends as well.  Any thread may, more than once."""
        self._link.shut()

    def wait_shut(self, timeout_s: float) -> bool:
        """Whether the thread came to its end in time."""
        return self._link.wait_shut(timeout_s)

    def _look(self, timeout_s: float) -> tuple[object, frozenset[int]]:
        """The topic's id, if brokers tell it, and its partitions."""
        try:
            response = self._link.run(self._ask, 1000 * timeout_s, timeout_s=timeout_s)
        except GeneratorExit as error:  # so ends what waits for a loop that ends
            raise LagClosedError("the reader was closed") from error
        except Exception as error:
            raise lag_error(error) from error
        code, topic_id, numbers = next(
            iter(_topics(response)), (UnknownTopicOrPartitionError.errno, None, [])
        )
        if code == TopicAuthorizationFailedError.errno:
            raise self._denied()
        if code == UnknownTopicOrPartitionError.errno or (not code and not numbers):
            raise TopicMissingError("there is no such topic")
        if code:
            raise lag_error(for_code(code)(self._topic))
        return topic_id, frozenset(numbers)

    async def _ask(self, timeout_ms: float) -> Any:
        await self._link.ready(timeout_ms)
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=self._topic)], allow_auto_topic_creation=False
        )
        return await self._link.manager.send(request, request_timeout_ms=timeout_ms)

    def _denied(self) -> LagDeniedError:
        return LagDeniedError(f"not authorised to read the topic {shown(self._topic)}")


def _topics(response: Any) -> Iterator[tuple[int, object, list[int]]]:
    for topic in response.topics:
        yield (
            topic.error_code,
            getattr(topic, "topic_id", None),
            [partition.partition_index for partition in topic.partitions],
        )
