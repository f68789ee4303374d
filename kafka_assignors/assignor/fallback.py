"""The assignment when a strategy fails.  This module depends on as little code as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.coordinator_access.consumer import partition_counts
from kafka_assignors.plan import Assignment, Group, Member, Ownership, plan_range, plan_seniors


class Fallback(NamedTuple):
    """A planner that needs only subscriptions.  ``name`` is for the log."""

    name: str
    plan: Callable[[Group], Assignment]


RANGES = Fallback("ranges", plan_range)
SENIORS = Fallback("the most senior member", plan_seniors)
"""For strategies under which all partitions of a topic have one owner."""


def fallback_assignment(
    fallback: Fallback,
    cluster: ClusterMetadata,
    members: Sequence[JoinGroupResponse.JoinGroupResponseMember],
    user_data: bytes,
    held_by: Callable[[JoinGroupResponse.JoinGroupResponseMember], Ownership],
) -> dict[str, ConsumerProtocolAssignment]:
    """Plan with the fallback, without partitions that another member still holds (KIP-429).

    Such a partition has no owner until the next rebalance.  Two owners would be worse.
    """
    topics = {member.member_id: convert.topics_in(member.metadata) for member in members}
    wanted = frozenset[str]().union(*topics.values())
    subscribers = tuple(
        Member(member.member_id, topics[member.member_id], instance_id=member.group_instance_id or None)
        for member in members
    )
    plan = fallback.plan(Group(subscribers, partition_counts(cluster, wanted)))
    holders: dict[tuple[str, int], set[str]] = {}
    for member in members:
        for topic, numbers in held_by(member).items():
            for number in numbers:
                holders.setdefault((topic, number), set()).add(member.member_id)
    return {
        member_id: ConsumerProtocolAssignment(
            0,
            [
                (topic, [p for p in numbers if holders.get((topic, p), {member_id}) == {member_id}])
                for topic, numbers in assigned.items()
            ],
            user_data,
        )
        for member_id, assigned in plan.items()
    }
