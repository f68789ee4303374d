"""Writes records, and commits offsets for groups without members, to create lag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaError, NoError
from kafka.structs import OffsetAndMetadata

from kafka_assignors.plan import TopicPartition
from tests.support.waiting import until


def write(bootstrap: str, counts: Mapping[TopicPartition, int]) -> None:
    """Append ``counts`` records to each partition."""
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for tp, count in counts.items():
            for _ in range(count):
                producer.send(tp.topic, b"x", partition=tp.partition)
        producer.flush()


def commit(bootstrap: str, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit for a group without members, as an administrator does."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        commit_by(admin, group_id, offsets)


def commit_by(admin: KafkaAdminClient, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit with a client that stays open."""
    theirs = {KafkaPartition(*tp): OffsetAndMetadata(offset, "", -1) for tp, offset in offsets.items()}
    answers: dict[Any, Any] = {}

    def is_settled() -> bool:
        try:
            answers.update(admin.alter_group_offsets(group_id, theirs))
        except KafkaError as error:
            if not error.retriable:
                raise
            return False
        return not any(error.retriable for error in answers.values())

    until(is_settled, "a new broker to create __consumer_offsets", pause_s=0.2)
    assert set(answers.values()) == {NoError}, answers
