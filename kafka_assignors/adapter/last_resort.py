"""What the group gets when everything else failed: by as little code as can be."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.adapter import convert
from kafka_assignors.plan import Group, Member, plan_range

__all__ = ["ranges_of_what_is_free"]


def ranges_of_what_is_free(
    cluster: ClusterMetadata, members: Sequence[JoinGroupResponse.JoinGroupResponseMember]
) -> dict[str, ConsumerProtocolAssignment]:
    """Ranges, without what another member says it still has in its hands (KIP-429).

    Such a partition stays without an owner until the next rebalance, which is better than with two.
    """
    topics = {member.member_id: convert.topics_in(member.metadata) for member in members}
    wanted = frozenset[str]().union(*topics.values())
    plain = tuple(Member(name, mine) for name, mine in topics.items())
    plan = plan_range(Group(plain, convert.partition_counts(cluster, wanted)))
    hands: dict[tuple[str, int], set[str]] = {}
    for member in members:
        for topic, numbers in convert.owned_in(member.metadata).items():
            for number in numbers:
                hands.setdefault((topic, number), set()).add(member.member_id)
    return {
        name: ConsumerProtocolAssignment(
            0,
            [
                (topic, [p for p in mine if hands.get((topic, p), {name}) == {name}])
                for topic, mine in own.items()
            ],
            b"",
        )
        for name, own in plan.items()
    }
