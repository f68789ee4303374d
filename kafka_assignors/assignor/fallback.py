"""What the group gets when everything else failed: by as little code as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor import convert
from kafka_assignors.plan import Assignment, Group, Member, plan_range, plan_seniors

__all__ = ["RANGES", "SENIORS", "LastResort", "what_is_free"]


class LastResort(NamedTuple):
    """A plan that needs nothing but subscriptions.

    Attributes:
        name: for the log.
        plan: makes it.
    """

    name: str
    plan: Callable[[Group], Assignment]


RANGES = LastResort("ranges", plan_range)
SENIORS = LastResort("the most senior member", plan_seniors)
"""For strategies under which a topic may have one owner only."""


def what_is_free(
    last_resort: LastResort,
    cluster: ClusterMetadata,
    members: Sequence[JoinGroupResponse.JoinGroupResponseMember],
    user_data: bytes = b"",
) -> dict[str, ConsumerProtocolAssignment]:
    """The last resort's plan, without what another member says it still has in its hands (KIP-429).

    Such a partition stays without an owner until the next rebalance, which is better than with two.
    """
    topics = {member.member_id: convert.topics_in(member.metadata) for member in members}
    wanted = frozenset[str]().union(*topics.values())
    plain = tuple(Member(name, mine) for name, mine in topics.items())
    plan = last_resort.plan(Group(plain, convert.partition_counts(cluster, wanted)))
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
            user_data,
        )
        for name, own in plan.items()
    }
