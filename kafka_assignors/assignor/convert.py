"""Converts kafka-python's values to the planner's and back."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor.coordinator_access.consumer import replicas
from kafka_assignors.plan import NO_GENERATION, Assignment, Ownership
from kafka_assignors.plan.arrays import Vector
from kafka_assignors.wire import assignment
from kafka_assignors.wire.primitives import by_topic, string

SUBSCRIPTION_VERSION = 3  # owned partitions (v1), generation (v2) and rack (v3); older readers skip the rest


def ownership(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return topic -> partition numbers; topics and numbers ascend."""
    return by_topic(sorted(partitions))


def owned_in(subscription: ConsumerProtocolSubscription) -> dict[str, list[int]]:
    """Return the subscription's owned partitions (v1).  A topic that is listed twice gets both lists."""
    entries = subscription.owned_partitions or ()
    owned = {entry.topic: entry.partitions for entry in entries}
    if len(owned) < len(entries) or None in owned.values():
        owned = {}
        for entry in entries:
            owned.setdefault(entry.topic, []).extend(entry.partitions or ())
    return owned


def topics_in(subscription: ConsumerProtocolSubscription) -> frozenset[str]:
    """Return a member's topics.  A null array or name, which kafka-python decodes, counts as no topic."""
    topics = frozenset[str](subscription.topics or ())
    return topics - {None} if None in topics else topics


def replica_racks(
    cluster: ClusterMetadata, counts: Mapping[str, int], racks: Container[str]
) -> dict[str, list[frozenset[str]]]:
    """Return topic -> for each partition, which of ``racks`` have a replica of it (KIP-881).

    Empty if no broker is in any of ``racks``.  Linear in the number of replicas.
    """
    return racks_of_nodes(
        {broker.node_id: broker.rack for broker in cluster.brokers() if broker.rack in racks},
        {topic: replicas(cluster, topic, count) for topic, count in counts.items()},
    )


def racks_of_nodes(
    rack_of: Mapping[int, str], nodes: Mapping[str, Iterable[tuple[int, ...]]]
) -> dict[str, list[frozenset[str]]]:
    """Return topic -> for each partition, the racks of its brokers; empty if ``rack_of`` is empty.

    A broker that is not in ``rack_of`` has no rack.
    """
    if not rack_of:
        return {}
    # Many partitions share the same brokers, so they share one set.
    known: dict[tuple[int, ...], frozenset[str]] = {}

    def racks(replicas: tuple[int, ...]) -> frozenset[str]:
        if replicas not in known:
            known[replicas] = frozenset(rack_of[node] for node in replicas if node in rack_of)
        return known[replicas]

    return {topic: [racks(replicas) for replicas in by_partition] for topic, by_partition in nodes.items()}


def encode_subscription(
    topics: Iterable[str], user_data: bytes, owned: Ownership, generation: int, rack: str | None
) -> ConsumerProtocolSubscription:
    """Build the subscription a member joins with."""
    entry = ConsumerProtocolSubscription.TopicPartition
    return ConsumerProtocolSubscription(
        version=SUBSCRIPTION_VERSION,
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=[entry(topic=t, partitions=sorted(owned[t])) for t in sorted(owned)],
        generation_id=generation if generation >= 0 else NO_GENERATION,
        rack_id=rack,
    )


def encode_assignment(plan: Assignment, user_data: bytes) -> dict[str, ConsumerProtocolAssignment]:
    """Build the assignment of each member; all get the same user data."""
    encoder = _Encoder(plan)
    return {
        member_id: PlannedAssignment(plan, encoder, i, user_data) for member_id, i in plan.group.index.items()
    }


class _Encoder:
    """Encodes the members' parts of one plan."""

    def __init__(self, plan: Assignment) -> None:
        self._plan = plan
        self._names = [string(topic) for topic in plan.group.names]

    @cached_property
    def _arrays(self) -> tuple[bytes, Vector]:
        runs = self._plan.runs
        return assignment.encode_runs(runs.numbers, runs.bounds)

    def encode(self, member: int, user_data: bytes) -> bytes:
        """Encode the part of the member with this index."""
        (raw, starts), runs = self._arrays, self._plan.runs
        first, end = runs.members[member : member + 2].tolist()
        names = [self._names[topic] for topic in runs.topics[first:end].tolist()]
        cuts = starts[first : end + 1].tolist()
        arrays = [raw[start:stop] for start, stop in pairwise(cuts)]
        return assignment.encode(names, arrays, user_data)


# Without init=False, kafka-python would look for a schema of this name.  Its stubs do not know the keyword.
class PlannedAssignment(ConsumerProtocolAssignment, init=False):  # type: ignore[call-arg]
    """One member's part of a plan.  Encodes straight from the plan; builds its entries when they are read.

    For a million partitions kafka-python would otherwise build three million objects and encode them.
    """

    def __init__(self, plan: Assignment, encoder: _Encoder, member: int, user_data: bytes) -> None:
        super().__init__(assignment.VERSION, user_data=user_data)  # sets all fields to their defaults, too
        self._plan, self._encoder, self._member = plan, encoder, member
        self._entries: list[tuple[str, list[int]]] | None = None
        # Cache of user data and the encoding with it: the size check encodes before kafka-python does.
        self._encoded = b"", b""
        if plan.group.members[member].member_id in plan.unlisted:  # ``runs`` does not list these
            self._entries = list(plan.of_member(member).items())

    def ownership(self) -> Ownership:
        """Return the partitions.  Unlike ``assigned_partitions``, this does not slow down ``encode``."""
        return self._plan.of_member(self._member) if self._entries is None else dict(self._entries)

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
        """Encode from the plan.  With arguments, or once entries exist, use kafka-python's ``encode``."""
        if args or options or self._entries is not None:
            return bytes(super().encode(*args, **options))
        user_data = self.user_data or b""
        if not self._encoded[1] or self._encoded[0] != user_data:
            self._encoded = user_data, self._encoder.encode(self._member, user_data)
        return self._encoded[1]
