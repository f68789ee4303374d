"""Reads all records of a topic, its leaders, and all commits of a group."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as KafkaPartition

from tests.support.offsets.oracle import Commit, decode
from tests.support.waiting import PATIENCE_S


def leaderless(bootstrap: str, *topics: str) -> set[tuple[str, int]]:
    """Return partitions without a leader."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        return {
            (topic["name"], partition["partition_index"])
            for topic in admin.describe_topics(list(topics))
            for partition in topic["partitions"]
            if partition["leader_id"] < 0
        }


def all_records(bootstrap: str, topic: str, **config: Any) -> Iterator[Any]:
    """Yield the current records of a topic, in order within a partition."""
    config = {"bootstrap_servers": bootstrap, "group_id": None, "auto_offset_reset": "earliest", **config}
    with KafkaConsumer(**config) as consumer:
        partitions = [KafkaPartition(topic, p) for p in consumer.partitions_for_topic(topic) or ()]
        assert partitions, f"no topic {topic}"
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        deadline = time.monotonic() + PATIENCE_S
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            assert time.monotonic() < deadline, f"{topic} is not read to {ends}"
            for records in consumer.poll(1000).values():
                yield from records


def committed(bootstrap: str, group_id: str) -> list[Commit]:
    """Return a group's commits in the order in which the broker accepted them."""
    decoded = [decode(r.key, r.value) for r in all_records(bootstrap, "__consumer_offsets")]
    return [commit for commit in decoded if isinstance(commit, Commit) and commit.group == group_id]
