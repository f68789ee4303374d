"""Reads a topic as it is, from its first record to its last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition


def all_records(bootstrap: str, topic: str) -> Iterator[Any]:
    """The records a topic has now; those of a partition in their order."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest")
    try:
        at = [TheirPartition(topic, p) for p in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(at)
        ends = consumer.end_offsets(at)
        while any(consumer.position(one) < end for one, end in ends.items()):
            for records in consumer.poll(1000).values():
                yield from records
    finally:
        consumer.close()
