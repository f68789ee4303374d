"""A load feed on a broker, as a model would write it."""

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

YEAR_MS = 365 * 24 * 3_600_000
SETTLE_S = 30.0


class Feed:
    """Writes forecasts of one group.

    Args:
        bootstrap: the broker.
        group_id: whose.
    """

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
        """Make the topic, compacted."""
        self._admin.create_topics(
            [NewTopic(self.topic, partitions, 1, topic_configs={"cleanup.policy": "compact"})]
        )
        return self

    def grow(self, partitions: int) -> None:
        """Give it more partitions: keys go elsewhere from then on."""
        self._admin.create_partitions({self.topic: partitions})

    def delete(self) -> None:
        """And wait until it is gone."""
        self._admin.delete_topics([self.topic])
        deadline = time.monotonic() + SETTLE_S
        while self.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def exists(self) -> bool:
        """Asks for all topics: one that is asked for by name could come to be by that."""
        return self.topic in self._admin.list_topics()

    def tell(self, arrivals: Mapping[TopicPartition, float], age_s: float = 0.0) -> None:
        """Write a forecast of each, made so long ago."""
        for at, records in arrivals.items():
            told = Forecast(
                time_ms=round(1000 * (time.time() - age_s)),
                horizon_ms=YEAR_MS,  # what is over of it changes no whole record
                arrivals=records,
                error=None,
                arrival_rate=records / 3600,
                service_rate=None,
                lag=None,
            )
            self.write(load_feed.encode_key(self.group_id, at), load_feed.encode(told))

    def forget(self, at: TopicPartition) -> None:
        """Write a tombstone."""
        self.write(load_feed.encode_key(self.group_id, at), None)

    def write(self, key: bytes, value: bytes | None) -> None:
        """Write any record, and wait until it is there."""
        self._producer.send(self.topic, key=key, value=value).get(timeout=SETTLE_S)
