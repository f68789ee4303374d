"""The driver's door to the broker: the run's topic, the offsets the broker knows, and a producer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

import kafka
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

from kafka_assignors.errors import BrokerError

ANSWER_MS = 10_000  # a broker that says nothing for so long is not there
DELIVERY_MS = 20_000  # a record that is not acknowledged by then is not going to be


class Cluster:
    """The administrator's view of one broker.

    Args:
        bootstrap: ``host:port``.

    Raises:
        BrokerError: nobody answers there.
    """

    def __init__(self, bootstrap: str) -> None:
        try:
            self._admin = kafka.KafkaAdminClient(
                bootstrap_servers=bootstrap, bootstrap_timeout_ms=ANSWER_MS, request_timeout_ms=ANSWER_MS
            )
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
        """Return the group's committed offsets per partition; partitions without a commit are left out.

        Raises:
            BrokerError: the broker does not say.
        """
        try:
            found = self._admin.list_group_offsets({group: None})[group]
        except KafkaError as error:
            raise BrokerError(f"the broker does not tell what {group} has committed: {error}") from error
        return {tp.partition: at.offset for tp, at in found.items() if tp.topic == topic and at.offset >= 0}

    def log_bytes(self, topic: str) -> int:
        """Return what a topic takes on the brokers' disks, by their log directories; all replicas.

        Raises:
            BrokerError: the brokers do not say.
        """
        try:
            told = self._admin.describe_log_dirs([topic])
        except KafkaError as error:
            raise BrokerError(f"the broker does not tell the size of {topic}: {error}") from error
        return sum(
            partition["partition_size"]
            for broker in told
            for directory in broker["log_dirs"]
            for one in directory["topics"]
            if one["name"] == topic
            for partition in one["partitions"]
        )

    def delete(self, topics: Collection[str], groups: Collection[str]) -> None:
        """Delete topics and groups; what cannot be deleted (a group that still has a member) stays."""
        for what, names in (
            (self._admin.delete_groups, list(groups)),
            (self._admin.delete_topics, list(topics)),
        ):
            with suppress(KafkaError):
                what(names)

    def close(self) -> None:
        """Close the connections."""
        with suppress(KafkaError):
            self._admin.close()


class Sender:
    """A producer whose acknowledgements are reported.

    Args:
        bootstrap: ``host:port`` of a broker.
        topic: where to.
        acknowledged: called with partition and offset on the producer's I/O thread.
        failed: called with the error on the producer's I/O thread.

    Raises:
        BrokerError: nobody answers there.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        acknowledged: Callable[[int, int], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._topic = topic
        self._acknowledged = acknowledged
        self._failed = failed
        try:
            self._producer = kafka.KafkaProducer(
                bootstrap_servers=bootstrap,
                acks="all",
                linger_ms=10,
                bootstrap_timeout_ms=ANSWER_MS,
                request_timeout_ms=ANSWER_MS,
                max_block_ms=ANSWER_MS,
                delivery_timeout_ms=DELIVERY_MS,
            )
        except KafkaError as error:
            raise BrokerError(f"no Kafka broker answers at {bootstrap}: {error}") from error

    def send(self, key: bytes, value: bytes) -> None:
        """Send one record to the partition of its key.

        Raises:
            BrokerError: the producer does not take it.
        """
        try:
            future = self._producer.send(self._topic, key=key, value=value)
        except KafkaError as error:
            raise BrokerError(f"a record could not be sent: {error}") from error
        future.add_callback(lambda sent: self._acknowledged(sent.partition, sent.offset))
        future.add_errback(self._failed)

    def flush(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds until all is acknowledged.

        Raises:
            BrokerError: it was not.
        """
        try:
            self._producer.flush(timeout=timeout)
        except KafkaError as error:
            raise BrokerError(
                f"the broker did not acknowledge all records within {timeout:g} s: {error}"
            ) from error

    def close(self) -> None:
        """Drop what is not sent, close the connections."""
        with suppress(KafkaError):
            self._producer.close(timeout=2)
