"""kafka-python's values <-> the planner's."""

from __future__ import annotations

from collections.abc import Iterable

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.plan import NO_GENERATION, Assignment, Ownership

__all__ = ["encode_assignment", "encode_subscription", "owned_in", "ownership", "partition_counts"]

SUBSCRIPTION_VERSION = 3  # owned partitions (v1), generation (v2) and rack (v3); older readers skip the rest
ASSIGNMENT_VERSION = 0  # its fields never changed


def partition_counts(cluster: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    """Partitions of each topic that exists.  Kafka numbers them from 0 without gaps."""
    counts = {}
    for topic in topics:
        if numbers := cluster.partitions_for_topic(topic):
            counts[topic] = max(numbers) + 1
    return counts


def ownership(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Group partitions by topic."""
    owned: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        owned.setdefault(topic, []).append(partition)
    return owned


def owned_in(subscription: ConsumerProtocolSubscription) -> dict[str, list[int]]:
    """The subscription's owned partitions (v1); a topic that is there twice has both lists."""
    owned: dict[str, list[int]] = {}
    for entry in subscription.owned_partitions or ():
        owned.setdefault(entry.topic, []).extend(entry.partitions or ())
    return owned


def encode_subscription(
    topics: Iterable[str], user_data: bytes, owned: Ownership, generation: int, rack: str | None
) -> ConsumerProtocolSubscription:
    """What a member sends when it joins."""
    entry = ConsumerProtocolSubscription.TopicPartition
    return ConsumerProtocolSubscription(
        version=SUBSCRIPTION_VERSION,
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=[entry(topic=t, partitions=sorted(owned[t])) for t in sorted(owned)],
        generation_id=generation if generation >= 0 else NO_GENERATION,
        rack_id=rack,
    )


def encode_assignment(plan: Assignment) -> dict[str, ConsumerProtocolAssignment]:
    """What the leader sends to each member."""
    return {
        member_id: ConsumerProtocolAssignment(ASSIGNMENT_VERSION, sorted(topics.items()), b"")
        for member_id, topics in plan.items()
    }
