"""Reads a live group to plan for it.  Read-only: it sends requests and joins no group.

Ownership comes from the leader's last assignment, which the broker keeps for each member.  Members send their
user data when they join, so it is older.  Only priorities and capacities are read from it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from kafka.errors import InvalidTopicError, KafkaError, UnknownTopicOrPartitionError, for_code

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.convert import ownership, racks_of_nodes
from kafka_assignors.assignor.lag.capacity import capacities
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.cli.connection import RESPONSE_S, Connection
from kafka_assignors.errors import BrokerError, CodecError, GroupError
from kafka_assignors.lag.fetch.group import REBALANCING
from kafka_assignors.plan import Group, Member, Ownership
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.wire import budget

_PAUSE_S = 0.2  # between two requests

_CURRENT_GENERATION = 0
"""Stands for the group's generation: the broker does not return it, and all members share it."""


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """A group as its broker describes it.

    Attributes:
        group: the members, their owned partitions, and their subscribed topics.
        strategy: name of the strategy that the group runs; it may be of another library.
    """

    group: Group
    strategy: str


def read_live_group(settings: Mapping[str, Any], group_id: str) -> LiveGroup:
    """Read a group from the broker.

    Raises:
        BrokerError: no broker answers, or it refuses.
        GroupError: the group does not exist, has no members, or cannot be planned.
    """
    connection = Connection({**settings, "request_timeout_ms": int(1000 * RESPONSE_S)})
    try:
        admin = connection.reach().admin
        described = describe(admin, group_id)
        members = members_of(group_id, described)
        try:
            topics = admin.describe_topics(sorted({t for m in members for t in (*m.topics, *m.owned)}))
        except KafkaError as error:
            raise BrokerError(f"the broker does not describe the group's topics: {error}") from error
        racks = _replica_racks(admin, topics, {m.rack for m in members if m.rack})
    finally:
        connection.close()
    return LiveGroup(Group(members, partition_counts(topics), racks), described["protocol_data"])


def describe(
    admin: Any,
    group_id: str,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> Mapping[str, Any]:
    """Return kafka-python's description of a group.  Waits up to 5 s until the group is stable.

    Raises:
        BrokerError: the broker does not describe the group.
        GroupError: a member sent bytes that kafka-python cannot decode.
    """
    deadline = clock() + RESPONSE_S
    while True:
        try:
            described: Mapping[str, Any] = admin.describe_groups([group_id])[group_id]
        except KafkaError as error:  # the coordinator may be moving, or __consumer_offsets being created
            if not error.retriable or clock() >= deadline:
                raise BrokerError(f"the broker does not describe group {group_id!r}: {error}") from error
        except Exception as error:  # a member may send any bytes
            raise GroupError(f"a member of {group_id!r} sent a subscription that cannot be read") from error
        else:
            if described["group_state"] not in REBALANCING or clock() >= deadline:
                return described
        wait(_PAUSE_S)


def members_of(group_id: str, described: Mapping[str, Any]) -> tuple[Member, ...]:
    """Return the members in kafka-python's description of a group.

    Raises:
        GroupError: see ``read_live_group``.
    """
    state, error = described["group_state"], described["error"]
    if "not a classic group" in (error or ""):
        raise GroupError(
            f"group {group_id!r} uses the KIP-848 protocol: the broker assigns, no strategy runs"
        )
    if state == "Dead":
        raise GroupError(f"there is no group {group_id!r}")
    if error:
        raise GroupError(f"the broker does not describe group {group_id!r}: {error}")
    if not described["members"]:
        raise GroupError(f"group {group_id!r} has no members to plan for")
    if described["protocol_type"] != "consumer":
        raise GroupError(
            f"group {group_id!r} is no consumer group: its protocol type is {described['protocol_type']!r}"
        )
    if state in REBALANCING:  # the broker returns no subscriptions meanwhile
        raise GroupError(f"group {group_id!r} is rebalancing ({state}): try again when it is stable")
    strategy = STRATEGIES.get(described["protocol_data"])
    decoder = strategy() if strategy is not None and (strategy.by_priority or strategy.by_lag) else None
    pairs = [_member(group_id, member, decoder) for member in described["members"]]
    member_capacities = capacities([report for _, report in pairs])
    return tuple(
        replace(member, capacity=capacity)
        for (member, _), capacity in zip(pairs, member_capacities, strict=True)
    )


def _member(
    group_id: str, member: Mapping[str, Any], strategy: Assignor | None
) -> tuple[Member, MemberReport]:
    subscription, assignment = member["member_metadata"], member["member_assignment"] or {}
    for name, value in (("subscription", subscription), ("assignment", assignment)):
        if not isinstance(value, Mapping):  # kafka-python returns bytes it cannot decode as they are
            raise GroupError(f"the {name} of member {member['member_id']!r} of {group_id!r} cannot be read")
    report = member_report(strategy, as_bytes(subscription.get("user_data") or ""))
    read = Member(
        member_id=member["member_id"],
        topics=frozenset(subscription["topics"] or ()),
        owned=assigned_in(assignment),
        generation=_CURRENT_GENERATION,
        instance_id=member["group_instance_id"] or None,
        rack=subscription.get("rack_id") or None,
        priority=report.priority,
    )
    return read, report


def assigned_in(assignment: Mapping[str, Any]) -> Ownership:
    """Return the partitions of a described assignment; those in its user data, if any, replace the others."""
    entries: Iterable[Mapping[str, Any]] = assignment.get("assigned_partitions") or ()
    with suppress(CodecError):  # the user data is of another strategy
        received = budget.decode(as_bytes(assignment.get("user_data") or ""))
        if received is not None and received.owned is not None:
            return received.owned
    return ownership((entry["topic"], p) for entry in entries for p in entry["partitions"] or ())


def member_report(strategy: Assignor | None, user_data: bytes) -> MemberReport:
    """Decode a member's user data.  If it is malformed, the report is empty, as on the leader."""
    try:
        return MemberReport() if strategy is None else strategy.decode_user_data(user_data)
    except CodecError:
        return MemberReport()


def as_bytes(text: str) -> bytes:
    r"""Restore the bytes that kafka-python describes as text: UTF-8, with ``\x99`` for other bytes.

    If the original bytes contain such a sequence of four bytes themselves, it is converted as well.
    """
    return re.sub(rb"\\x([89a-f][0-9a-f])", lambda escape: bytes.fromhex(escape[1].decode()), text.encode())


def partition_counts(topics: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the partition count of each existing topic in kafka-python's description.

    Raises:
        GroupError: the broker returned an error for a topic, such as a missing permission.
    """
    counts = {}
    for topic in topics:
        error = for_code(topic["error_code"])
        if error in {UnknownTopicOrPartitionError, InvalidTopicError}:
            continue
        if topic["error_code"]:
            raise GroupError(f"the broker does not describe topic {topic['name']!r}: {error.__name__}")
        counts[topic["name"]] = len(topic["partitions"])
    return counts


def _replica_racks(
    admin: Any, topics: Sequence[Mapping[str, Any]], racks: Collection[str]
) -> dict[str, list[frozenset[str]]]:
    """Return the racks, among ``racks``, that have a replica of each partition, by topic.

    Describes the cluster only if ``racks`` is not empty.

    Raises:
        BrokerError: the broker does not describe the cluster.
    """
    if not racks:
        return {}
    try:
        brokers = admin.describe_cluster()["brokers"]
    except KafkaError as error:
        raise BrokerError(f"the broker does not describe the cluster: {error}") from error
    return replica_racks(topics, brokers, racks)


def replica_racks(
    topics: Iterable[Mapping[str, Any]], brokers: Iterable[Mapping[str, Any]], racks: Container[str]
) -> dict[str, list[frozenset[str]]]:
    """Return the racks, among ``racks``, that have a replica of each described partition, by topic."""
    return racks_of_nodes(
        {broker["broker_id"]: broker["rack"] for broker in brokers if broker["rack"] in racks},
        {
            topic["name"]: [
                tuple(partition["replica_nodes"])
                for partition in sorted(topic["partitions"], key=itemgetter("partition_index"))
            ]
            for topic in topics
        },
    )
