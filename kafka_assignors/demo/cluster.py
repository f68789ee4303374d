"""The administrator's side of a run: its topic, and the offsets the broker knows."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

import kafka
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

from kafka_assignors.errors import BrokerError


class Cluster:
    """The administrator's view of one broker.

    Args:
        bootstrap: ``host:port``.

    Raises:
        BrokerError: nobody answers there.
    """

    def __init__(self, bootstrap: str) -> None:
        try:
            self._admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap, bootstrap_timeout_ms=10_000)
        except KafkaError as error:
            raise BrokerError(f"no Kafka broker answers at {bootstrap}: {error}") from error

    def create_topic(self, topic: str, partitions: int) -> None:
        """Create a topic with one replica and wait until the broker serves it."""
        try:
            self._admin.create_topics([NewTopic(name=topic, num_partitions=partitions, replication_factor=1)])
            end = time.monotonic() + 15
            while len(self._offsets(topic, range(partitions))) < partitions:
                if time.monotonic() > end:
                    raise BrokerError(f"topic {topic} is not there 15 s after its creation")
                time.sleep(0.1)
        except KafkaError as error:
            raise BrokerError(f"topic {topic} could not be created: {error}") from error

    def _offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        wanted = {TopicPartition(topic, number): kafka.admin.OffsetSpec.LATEST for number in partitions}
        try:
            return {
                tp.partition: found.offset for tp, found in self._admin.list_partition_offsets(wanted).items()
            }
        except KafkaError:
            return {}

    def end_offsets(self, topic: str, partitions: int) -> dict[int, int]:
        """Return the next offset to be written, per partition.

        Raises:
            BrokerError: the broker does not say.
        """
        found = self._offsets(topic, range(partitions))
        if len(found) < partitions:
            raise BrokerError(f"the broker does not tell the end offsets of {topic}")
        return found

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the group's committed offsets per partition; partitions without a commit are left out."""
        found = self._admin.list_group_offsets({group: None})[group]
        return {tp.partition: at.offset for tp, at in found.items() if tp.topic == topic and at.offset >= 0}

    def delete(self, topic: str, groups: Collection[str]) -> None:
        """Delete a topic and groups; what cannot be deleted (a group that still has a member) stays."""
        for what, names in ((self._admin.delete_groups, list(groups)), (self._admin.delete_topics, [topic])):
            try:
                what(names)
            except KafkaError:  # noqa: PERF203  # two calls
                continue

    def close(self) -> None:
        """Close the connections."""
        self._admin.close()
