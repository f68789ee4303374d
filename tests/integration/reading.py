"""Reads a topic as it is, from its first record to its last, and who leads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as TheirPartition


def leaderless(bootstrap: str, *topics: str) -> set[tuple[str, int]]:
    """Topics and partitions that no broker leads."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        return {
            (topic["name"], one["partition_index"])
            for topic in admin.describe_topics(list(topics))
            for one in topic["partitions"]
            if one["leader_id"] < 0
        }
    finally:
        admin.close()


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
