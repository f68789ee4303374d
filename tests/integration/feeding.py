"""Writes a load feed to a broker, as a model would."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from types import TracebackType

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import load_feed
from kafka_assignors.wire.load_feed import Forecast
from tests.support.waiting import until

YEAR_MS = 365 * 24 * 3_600_000
SETTLE_S = 30.0


class Feed:
    """Writes forecasts of one group."""

    def __init__(self, bootstrap: str, group_id: str) -> None:
        self.topic = f"load-{uuid.uuid4().hex[:12]}"
        self.group_id = group_id
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self._producer = KafkaProducer(bootstrap_servers=bootstrap)

    def __enter__(self) -> Feed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.close()
        self._admin.close()

    def create(self, partitions: int = 1) -> Feed:
        """Create the compacted topic."""
        self._admin.create_topics(
            [NewTopic(self.topic, partitions, 1, topic_configs={"cleanup.policy": "compact"})]
        )
        return self

    def grow(self, partitions: int) -> None:
        """Add partitions; keys go to other partitions from then on."""
        self._admin.create_partitions({self.topic: partitions})

    def delete(self) -> None:
        """Delete the topic and wait until it is gone."""
        self._admin.delete_topics([self.topic])
        until(lambda: not self.exists(), "the end of the topic", pause_s=0.05)

    def exists(self) -> bool:
        """Whether the topic exists; lists all topics, because a request by name could create it."""
        return self.topic in self._admin.list_topics()

    def publish(self, arrivals: Mapping[TopicPartition, float], age_s: float = 0.0) -> None:
        """Write a forecast for each partition, ``age_s`` old."""
        for partition, records in arrivals.items():
            forecast = Forecast(
                time_ms=round(1000 * (time.time() - age_s)),
                horizon_ms=YEAR_MS,  # so long that its elapsed part is less than a record
                arrivals=records,
                error=None,
                arrival_rate=records / 3600,
                service_rate=None,
                lag=None,
            )
            self.write(load_feed.encode_key(self.group_id, partition), load_feed.encode(forecast))

    def forget(self, partition: TopicPartition) -> None:
        """Write a tombstone."""
        self.write(load_feed.encode_key(self.group_id, partition), None)

    def write(self, key: bytes, value: bytes | None) -> None:
        """Write any record, and wait for its acknowledgement."""
        self._producer.send(self.topic, key=key, value=value).get(timeout=SETTLE_S)
