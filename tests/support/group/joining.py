"""The arguments that kafka-python passes to a leader's ``assign``, decoded from bytes as it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.protocol.metadata import MetadataResponse

from kafka_assignors import Assignor

Plan = dict[str, dict[str, list[int]]]


def cluster(
    topics: Mapping[str, int],
    racks: Sequence[str | None] = (None,),
    replicas: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> ClusterMetadata:
    """Cluster metadata: broker 0 leads every partition and has all replicas by default.

    Args:
        topics: topic -> number of partitions.
        racks: of the brokers, which are numbered in that order.
        replicas: topic -> for each partition the brokers that have one.
    """
    metadata = ClusterMetadata()
    metadata.update_metadata(answer(topics, racks, replicas))
    return metadata


def answer(
    topics: Mapping[str, int],
    racks: Sequence[str | None] = (None,),
    replicas: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> MetadataResponse:
    """Return the broker's metadata response; see ``cluster``."""
    topic = MetadataResponse.MetadataResponseTopic
    response = MetadataResponse(
        version=1,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node, "localhost", 9092 + node, rack)
            for node, rack in enumerate(racks)
        ],
        controller_id=0,
        topics=[
            topic(
                error_code=0,
                name=name,
                is_internal=False,
                partitions=[
                    topic.MetadataResponsePartition(
                        error_code=0, partition_index=p, leader_id=0, replica_nodes=list(nodes), isr_nodes=[0]
                    )
                    for p, nodes in enumerate((replicas or {}).get(name, [[0]] * count))
                ],
            )
            for name, count in topics.items()
        ],
    )
    return MetadataResponse.decode(response.encode(), version=1)


def joined(
    member_id: str, subscription: ConsumerProtocolSubscription, instance_id: str | None = None
) -> JoinGroupResponse.JoinGroupResponseMember:
    """Return a member as the leader decodes it."""
    member = JoinGroupResponse.JoinGroupResponseMember(
        member_id=member_id, group_instance_id=instance_id, metadata=subscription.encode()
    )
    member.metadata = ConsumerProtocolSubscription.decode(member.metadata)
    return member


def raw(
    topics: Iterable[str],
    user_data: bytes | None = None,
    owned: Mapping[str, Sequence[int]] | None = None,
    generation: int = -1,
    version: int = 3,
    *,
    rack: str | None = None,
) -> ConsumerProtocolSubscription:
    """Return a subscription as another, possibly hostile, client sends it."""
    entry = ConsumerProtocolSubscription.TopicPartition
    return ConsumerProtocolSubscription(
        version=version,
        topics=list(topics),
        user_data=user_data,
        owned_partitions=[entry(topic=t, partitions=list(p)) for t, p in (owned or {}).items()],
        generation_id=generation,
        rack_id=rack,
    )


def plan_of(assignments: Mapping[str, ConsumerProtocolAssignment]) -> Plan:
    """Decode each member's assignment from its bytes."""
    return {
        member_id: dict(ConsumerProtocolAssignment.decode(assignment.encode()).assigned_partitions)
        for member_id, assignment in assignments.items()
    }


def own(assignor: Assignor, owned: Mapping[str, Sequence[int]], generation: int) -> None:
    """Pass an assignment to an assignor."""
    parts: list[tuple[str, list[int]]] = [(topic, list(numbers)) for topic, numbers in owned.items()]
    assignor.on_assignment(ConsumerProtocolAssignment(0, parts, b""), generation)


def owner_of(plan: Plan) -> dict[tuple[str, int], str]:
    """Map partitions to owners; a partition with two owners is an error."""
    owners: dict[tuple[str, int], str] = {}
    for member_id, topics in plan.items():
        for topic, numbers in topics.items():
            for p in numbers:
                assert (topic, p) not in owners
                owners[topic, p] = member_id
    return owners


def every(topics: Mapping[str, int]) -> set[tuple[str, int]]:
    """Return all partitions."""
    return {(topic, p) for topic, count in topics.items() for p in range(count)}
