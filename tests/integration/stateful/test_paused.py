"""A partition that is paused in the middle of a batch goes on when it is resumed."""

from __future__ import annotations

from collections import Counter

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition

from kafka_assignors.assignor.coordinator_access.consumer import drop_exhausted_batch
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import write
from tests.support.waiting import until


def test_partition_paused_in_the_middle_of_a_batch_is_read_to_its_end(fresh: FreshNames) -> None:
    """With kafka-python 3.0.12 alone it stands still for ever, once another partition was read."""
    topic = fresh.topic(2)
    write(fresh.bootstrap, {TopicPartition(topic, number): 10 for number in range(2)})
    partitions = [KafkaPartition(topic, number) for number in range(2)]
    seen: Counter[KafkaPartition] = Counter()

    def polled() -> Counter[KafkaPartition]:
        drop_exhausted_batch(consumer)
        for partition, records in consumer.poll(timeout_ms=50).items():
            seen[partition] += len(records)
        return seen

    with KafkaConsumer(
        bootstrap_servers=fresh.bootstrap, group_id=None, auto_offset_reset="earliest", max_poll_records=3
    ) as consumer:
        consumer.assign(partitions)
        until(polled, "the first records")
        (first,) = seen
        (other,) = set(partitions) - {first}
        consumer.pause(first)
        until(lambda: polled()[other] == 10, "all of the other partition")
        assert seen[first] == 3
        consumer.resume(first)
        until(lambda: polled()[first] == 10, "the rest")
