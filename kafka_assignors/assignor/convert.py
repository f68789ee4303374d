"""kafka-python's values <-> the planner's."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor.coordinator_access import replicas
from kafka_assignors.plan import NO_GENERATION, Assignment, Ownership
from kafka_assignors.wire import assignment

__all__ = [
    "encode_assignment",
    "encode_subscription",
    "owned_in",
    "ownership",
    "partition_counts",
    "racks_of_nodes",
    "replica_racks",
    "topics_in",
]

SUBSCRIPTION_VERSION = 3  # owned partitions (v1), generation (v2) and rack (v3); older readers skip the rest


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
    entries = subscription.owned_partitions or ()
    owned = {entry.topic: entry.partitions for entry in entries}
    if len(owned) < len(entries) or None in owned.values():
        owned = {}
        for entry in entries:
            owned.setdefault(entry.topic, []).extend(entry.partitions or ())
    return owned


def topics_in(subscription: ConsumerProtocolSubscription) -> frozenset[str]:
    """What a member subscribes to; the protocol can say "no array" and "no name", which is nothing."""
    topics = frozenset[str](subscription.topics or ())
    return topics - {None} if None in topics else topics


def replica_racks(
    cluster: ClusterMetadata, counts: Mapping[str, int], racks: Container[str]
) -> dict[str, list[frozenset[str]]]:
    """The racks, out of ``racks``, that have a replica of each partition (KIP-881), by topic.

    None at all where no broker is in one of them.  Linear in the replicas.
    """
    return racks_of_nodes(
        {broker.node_id: broker.rack for broker in cluster.brokers() if broker.rack in racks},
        {topic: replicas(cluster, topic, count) for topic, count in counts.items()},
    )


def racks_of_nodes(
    rack_of: Mapping[int, str], nodes: Mapping[str, Iterable[tuple[int, ...]]]
) -> dict[str, list[frozenset[str]]]:
    """From brokers to their racks, partition by partition; brokers not in ``rack_of`` are in none."""
    if not rack_of:
        return {}
    # The same brokers have many partitions in common: one set for all of those.
    known: dict[tuple[int, ...], frozenset[str]] = {}

    def racks(some: tuple[int, ...]) -> frozenset[str]:
        if some not in known:
            known[some] = frozenset(rack_of[node] for node in some if node in rack_of)
        return known[some]

    return {topic: [racks(some) for some in by_partition] for topic, by_partition in nodes.items()}


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


def encode_assignment(plan: Assignment, user_data: bytes = b"") -> dict[str, ConsumerProtocolAssignment]:
    """What the leader sends to each member; the user data is the same for all."""
    headers = [assignment.topic_header(topic) for topic in plan.group.names]
    return {
        member_id: PlannedAssignment(plan, headers, i, user_data) for member_id, i in plan.group.index.items()
    }


# The stubs do not know the metaclass; without init=False it takes this for a message with its own schema.
class PlannedAssignment(ConsumerProtocolAssignment, init=False):  # type: ignore[call-arg]
    """One member's part of a plan: the bytes come straight out of the plan, the objects if somebody looks.

    (For a million partitions those are three million objects, which kafka-python then turns into bytes.)
    """

    def __init__(
        self, plan: Assignment, headers: Sequence[bytes], member: int, user_data: bytes = b""
    ) -> None:
        super().__init__(
            assignment.VERSION, user_data=user_data
        )  # which also sets all fields to their defaults
        self._plan, self._headers, self._member = plan, headers, member
        self._entries: list[tuple[str, list[int]]] | None = None
        if plan.group.members[member].member_id in plan.unlisted:
            self._entries = list(plan.of_member(member).items())

    @property
    def assigned_partitions(self) -> list[tuple[str, list[int]]]:
        """Topics and their partition numbers, in order."""
        if self._entries is None:
            self._entries = list(self._plan.of_member(self._member).items())
        return self._entries

    @assigned_partitions.setter
    def assigned_partitions(self, entries: list[tuple[str, list[int]]]) -> None:
        self._entries = entries

    def encode(self, *args: Any, **options: Any) -> bytes:
        """The bytes; as kafka-python's own ``encode`` where more is asked for, or something was changed."""
        if args or options or self._entries is not None:
            return bytes(super().encode(*args, **options))
        topics, numbers, bounds = self._plan.parts(self._member)
        headers = [self._headers[topic] for topic in topics.tolist()]
        return assignment.encode(headers, numbers, bounds, self.user_data or b"")
