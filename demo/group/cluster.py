"""The driver's admin client, for topics and offsets."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress

import kafka
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

from kafka_assignors.errors import BrokerError

ANSWER_MS = 10_000  # a broker without an answer for this time counts as absent
CREATION_S = 60


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Turn an error of kafka-python into a BrokerError of one line."""
    try:
        yield
    except KafkaError as error:
        raise BrokerError(f"{what}: {error}") from error


class Cluster:
    """Administers one broker; all methods but `delete` and `close` raise a BrokerError if it fails."""

    def __init__(self, bootstrap: str) -> None:
        with failing(f"no Kafka broker answers at {bootstrap}"):
            self._admin = kafka.KafkaAdminClient(
                bootstrap_servers=bootstrap, bootstrap_timeout_ms=ANSWER_MS, request_timeout_ms=ANSWER_MS
            )

    def create_topic(self, topic: str, partitions: int) -> None:
        """Create a topic with one replica and wait until the broker serves it."""
        with failing(f"topic {topic} could not be created"):
            self._admin.create_topics([NewTopic(name=topic, num_partitions=partitions, replication_factor=1)])
            end = time.monotonic() + CREATION_S
            while len(self._offsets(topic, range(partitions))) < partitions:
                if time.monotonic() > end:
                    raise BrokerError(f"topic {topic} is not there {CREATION_S} s after its creation")
                time.sleep(0.1)

    def _offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        wanted = {TopicPartition(topic, number): kafka.admin.OffsetSpec.LATEST for number in partitions}
        try:
            offsets = self._admin.list_partition_offsets(wanted)
        except KafkaError:
            return {}
        return {tp.partition: offset.offset for tp, offset in offsets.items()}

    def end_offsets(self, topic: str, partitions: int) -> dict[int, int]:
        """Return the end offset of each partition."""
        offsets = self._offsets(topic, range(partitions))
        if len(offsets) < partitions:
            raise BrokerError(f"the broker does not return the end offsets of {topic}")
        return offsets

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the group's committed offsets per partition; partitions without a commit are left out."""
        with failing(f"the broker does not return the committed offsets of {group}"):
            offsets = self._admin.list_group_offsets({group: None})[group]
        return {
            tp.partition: commit.offset
            for tp, commit in offsets.items()
            if tp.topic == topic and commit.offset >= 0
        }

    def log_bytes(self, topic: str) -> int:
        """Return the size of a topic on the brokers' disks, all replicas."""
        with failing(f"the broker does not return the size of {topic}"):
            brokers = self._admin.describe_log_dirs([topic])
        return sum(
            partition["partition_size"]
            for broker in brokers
            for directory in broker["log_dirs"]
            for of_topic in directory["topics"]
            if of_topic["name"] == topic
            for partition in of_topic["partitions"]
        )

    def delete(self, topics: Collection[str], groups: Collection[str]) -> None:
        """Delete topics and groups; a group that still has a member stays."""
        with suppress(KafkaError):
            self._admin.delete_groups(list(groups))
        with suppress(KafkaError):
            self._admin.delete_topics(list(topics))

    def close(self) -> None:
        """Close the connections."""
        with suppress(KafkaError):
            self._admin.close()
