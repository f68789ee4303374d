"""Reads a live group to plan for it.  Read-only: it sends requests and joins no group.

Ownership comes from the leader's last assignment, which the broker keeps for each member.  User data
is older, because members send it when they join.  Only priorities and capacities come from user data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any

from kafka.errors import for_code

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.convert import ownership, racks_of_nodes
from kafka_assignors.assignor.lag.capacity import capacities
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.cli.connection import RESPONSE_S
from kafka_assignors.cli.group_reader import MISSING_TOPIC, GroupReader
from kafka_assignors.errors import CodecError, GroupError
from kafka_assignors.lag.fetch.group import NEW_PROTOCOL, REBALANCING, GroupMember, GroupState
from kafka_assignors.plan import Group, Member
from kafka_assignors.strategies import STRATEGIES

_PAUSE_S = 0.2  # between two requests

_CURRENT_GENERATION = 0
"""Stands for the group's generation: the broker does not return it, and all members share it."""


def read_live_group(settings: Mapping[str, Any], group_id: str) -> tuple[Group, str]:
    """Read a group, and the name of the strategy it runs, which may be of another library."""
    reader = GroupReader(settings, group_id)
    try:
        state = settled(reader.read)
        members = members_of(state)
        metadata = reader.metadata({topic for m in members for topic in (*m.topics, *m.owned)})
    finally:
        reader.close()
    racks = replica_racks(metadata, {m.rack for m in members if m.rack})
    return Group(members, partition_counts(metadata), racks), state.strategy


def settled(
    read: Callable[[], GroupState],
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> GroupState:
    """Read a group until it does not rebalance, for at most 5 s; return its last state."""
    deadline = clock() + RESPONSE_S
    while (group := read()).state in REBALANCING and clock() < deadline:
        wait(_PAUSE_S)
    return group


def members_of(group: GroupState) -> tuple[Member, ...]:
    """Convert the members of a group for a plan.

    Raises:
        GroupError: the group runs no strategy, or is rebalancing, or a member cannot be read.
    """
    name = repr(group.group_id)
    if group.hides_members:
        raise GroupError(
            f"the broker does not describe the members of group {name}: it may be a share or streams group"
        )
    if group.state == NEW_PROTOCOL:
        raise GroupError(f"group {name} uses the KIP-848 protocol: the broker assigns, no strategy runs")
    if not group.members:
        raise GroupError(f"group {name} has no members to plan for")
    if group.protocol_type != "consumer":
        raise GroupError(f"group {name} is no consumer group: its protocol type is {group.protocol_type!r}")
    if group.state in REBALANCING:  # the broker returns no subscriptions meanwhile
        raise GroupError(f"group {name} is rebalancing ({group.state}): try again when it is stable")
    for member in group.members:
        for part, is_readable in (
            ("subscription", member.subscription_readable),
            ("assignment", member.readable),
        ):
            if not is_readable:
                raise GroupError(f"the {part} of member {member.member_id!r} of {name} cannot be read")
    kind = STRATEGIES.get(group.strategy)
    strategy = kind() if kind is not None and (kind.by_priority or kind.by_lag) else None
    reports = [member_report(strategy, member.subscription_user_data) for member in group.members]
    return tuple(map(_member, group.members, reports, capacities(reports)))


def _member(member: GroupMember, report: MemberReport, capacity: float) -> Member:
    return Member(
        member_id=member.member_id,
        topics=member.topics,
        owned=ownership(member.owned),
        generation=_CURRENT_GENERATION,
        instance_id=member.instance_id,
        rack=member.rack,
        priority=report.priority,
        capacity=capacity,
    )


def member_report(strategy: Assignor | None, user_data: bytes) -> MemberReport:
    """Decode a member's user data.  Without a strategy, or from malformed data, the report is empty."""
    try:
        return MemberReport() if strategy is None else strategy.decode_user_data(user_data)
    except CodecError:
        return MemberReport()  # as on the leader


def partition_counts(metadata: Any) -> dict[str, int]:
    """Return the partition count of each existing topic in the broker's metadata.

    Raises:
        GroupError: the broker returned an error for a topic.
    """
    counts = {}
    for topic in metadata.topics:
        error = for_code(topic.error_code)
        if error in MISSING_TOPIC:
            continue
        if topic.error_code:
            raise GroupError(f"the broker does not describe topic {topic.name!r}: {error.__name__}")
        counts[topic.name] = len(topic.partitions)
    return counts


def replica_racks(metadata: Any, racks: Collection[str]) -> dict[str, list[frozenset[str]]]:
    """Map each topic to the racks of each partition's replicas, as far as they are in ``racks``."""
    return racks_of_nodes(
        {broker.node_id: broker.rack for broker in metadata.brokers if broker.rack in racks},
        {
            topic.name: [
                tuple(partition.replica_nodes)
                for partition in sorted(topic.partitions, key=attrgetter("partition_index"))
            ]
            for topic in metadata.topics
        },
    )
