"""Fetches the retention limits of topics, and the sizes of logs that are limited by size."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    for_code,
)
from kafka.protocol.admin import DescribeConfigsRequest, DescribeLogDirsRequest

from kafka_assignors.lag.fetch.errors import is_retriable_error, lag_error
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.sending import Sender
from kafka_assignors.lag.reading import Offsets
from kafka_assignors.lag.retention import Retention
from kafka_assignors.plan import TopicPartition, shown
from kafka_assignors.wire.primitives import by_topic

AGAIN_S = 600.0
"""Seconds after which the limits of a topic, or the size of a log, are requested again."""
_K = TypeVar("_K", str, TopicPartition)
_TOPIC = 2  # Kafka's resource type for topics
_KEYS = ("cleanup.policy", "retention.ms", "retention.bytes", "remote.storage.enable")
_RIGHTS: dict[type[KafkaError], str] = {
    TopicAuthorizationFailedError: "DescribeConfigs on the topic",
    ClusterAuthorizationFailedError: "Describe on the cluster",
}


class Retentions:
    """Fetches and keeps the retention of partitions.

    Args:
        note: called once for each cause, with a line for the user.
        clock: seconds, as ``time.monotonic``.
    """

    def __init__(self, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._note = note
        self._clock = clock
        self._noted: set[str] = set()
        self._limits: dict[str, Retention] = {}
        self._record_bytes: dict[TopicPartition, float] = {}
        self._asked_at: dict[str | TopicPartition, float] = {}

    async def ask(
        self, sender: Sender, link: Link, offsets: Mapping[TopicPartition, Offsets]
    ) -> dict[TopicPartition, Retention]:
        """Return the retention of partitions, as far as brokers return it.  Runs on the link's thread."""
        if topics := self._due(sorted({tp.topic for tp in offsets})):
            try:
                response = await sender.send(limits_request(topics))
            except KafkaError as error:
                self._failed("the configuration of topics", error, topics)
            else:
                self._limits |= read_limits(response)
                for topic, refusal in read_refusals(response):
                    self._failed(f"the configuration of topic {shown(topic)}", refusal, [topic])
        limited = [tp for tp in offsets if self._limits.get(tp.topic, Retention()).limit_bytes is not None]
        by_leader: dict[int, list[TopicPartition]] = {}
        for tp in self._due([tp for tp in limited if tp in link.leaders]):
            by_leader.setdefault(link.leaders[tp], []).append(tp)
        for leader, tps in by_leader.items():
            try:
                sizes = read_sizes(await sender.send(sizes_request(tps), leader))
            except KafkaError as error:
                self._failed("the sizes of logs", error, tps)
                continue
            for tp in tps:
                records = offsets[tp].end - (offsets[tp].begin or 0)
                if tp in sizes and records > 0:
                    self._record_bytes[tp] = sizes[tp] / records
        # Forget topics that are no longer wanted, because many may come and go while a command runs.
        kept = self._asked_at.keys() | offsets.keys() | {tp.topic for tp in offsets}
        self._limits = {topic: limit for topic, limit in self._limits.items() if topic in kept}
        self._record_bytes = {tp: size for tp, size in self._record_bytes.items() if tp in kept}
        return {
            tp: Retention(limit.limit_ms, limit.limit_bytes, self._record_bytes.get(tp))
            for tp in offsets
            if (limit := self._limits.get(tp.topic)) is not None
        }

    def _due(self, keys: Sequence[_K]) -> list[_K]:
        """Return the topics or partitions to request now, and note the time."""
        now = self._clock()
        self._asked_at = {key: time_s for key, time_s in self._asked_at.items() if now - time_s < AGAIN_S}
        due = [key for key in keys if key not in self._asked_at]
        self._asked_at |= dict.fromkeys(due, now)
        return due

    def _failed(self, what: str, error: KafkaError, keys: Sequence[str | TopicPartition] = ()) -> None:
        """Note a failure; if it may pass, request the keys again at the next `ask`."""
        for key in keys if is_retriable_error(error) else ():
            self._asked_at.pop(key, None)
        right = _RIGHTS.get(type(error))
        why = f"the client needs the right {right}" if right else str(lag_error(error))
        if why not in self._noted:
            self._noted.add(why)
            self._note(f"retention unknown: a broker does not return {what}: {why}")


def limits_request(topics: Collection[str]) -> Any:
    """Build a request for the retention of topics."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=_TOPIC, resource_name=topic, configuration_keys=list(_KEYS))
            for topic in sorted(topics)
        ],
        min_version=1,
    )


def read_limits(response: Any) -> dict[str, Retention]:
    """Return the limits of each topic that the broker describes."""
    return {
        result.resource_name: _limits({config.name: config.value for config in result.configs})
        for result in response.results
        if not result.error_code
    }


def read_refusals(response: Any) -> Iterator[tuple[str, KafkaError]]:
    """Yield the topics that the broker does not describe, and why."""
    for result in response.results:
        if result.error_code:
            yield result.resource_name, for_code(result.error_code)(result.error_message or "")


def _limits(configs: Mapping[str, str | None]) -> Retention:
    policy = configs.get("cleanup.policy")
    if policy is not None and "delete" not in policy:  # an empty policy deletes nothing, either (KIP-1161)
        return Retention()
    limits = [int(configs.get(name) or -1) for name in ("retention.ms", "retention.bytes")]
    if configs.get("remote.storage.enable") == "true":  # brokers return the size of the local part only
        limits[1] = -1
    return Retention(*[None if limit < 0 else limit for limit in limits])


def sizes_request(partitions: Collection[TopicPartition]) -> Any:
    """Build a request for the sizes of logs on one broker."""
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    return DescribeLogDirsRequest(
        topics=[
            topic(topic=name, partitions=numbers) for name, numbers in sorted(by_topic(partitions).items())
        ],
        min_version=1,
    )


def read_sizes(response: Any) -> dict[TopicPartition, int]:
    """Return the size of each log, bytes.

    Raises:
        KafkaError: the broker refuses.
    """
    if response.API_VERSION >= 3 and response.error_code:
        raise for_code(response.error_code)("sizes of logs")
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for directory in response.results
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key  # the copy of a log that moves to another directory
    }
