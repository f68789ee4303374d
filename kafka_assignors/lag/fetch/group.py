"""A group as its coordinator describes it: its members, their partitions, and its commits.

This module accepts any group, also one whose members' bytes cannot be decoded.  Such a member has no known
partitions.  kafka-python's own ``describe_groups`` raises for the whole group.

kafka-python has no request for groups of the new protocol (KIP-848).  The two JSON files beside this module
are the schemas of that request and its response.  kafka-python makes classes of them, as of its own schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.errors import GroupIdNotFoundError, KafkaError, for_code
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.errors import GroupError
from kafka_assignors.plan import NO_GENERATION, TopicPartition
from kafka_assignors.wire.budget import unfold

_CONSUMER = "consumer"
NEW_PROTOCOL = "Consumer"
"""``GroupState.state`` of a group of the new protocol (KIP-848)."""
REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
"""States of a group during a rebalance; the last two belong to KIP-848."""


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__package__):  # type: ignore[call-arg]  # its base is Any
    """Requests the members of groups of the new protocol (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__package__):  # type: ignore[call-arg]  # its base is Any
    """Returns the members of groups, with their current and target assignments."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member as the broker describes it.

    Attributes:
        instance_id: the id of a static member; None for a dynamic member.
        owned: its last assignment.
        readable: whether the assignment is empty or can be decoded; false if the member is no consumer.
            If false, ``owned`` is empty.
        subscription_user_data: empty if there is none, or it cannot be decoded.
        assignment_user_data: likewise.
        topics: its subscribed topics; empty if they are not known, as during a rebalance.
        generation: the generation of its last assignment before it joined; ``NO_GENERATION`` if it does not
            report one.
        rack: its rack; None: it reports none, or the group is of the new protocol.
        subscription_readable: whether the subscription can be decoded; false also if a member of the
            classic protocol has none.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    owned: tuple[TopicPartition, ...]
    readable: bool = True
    subscription_user_data: bytes = b""
    assignment_user_data: bytes = b""
    topics: frozenset[str] = frozenset()
    generation: int = NO_GENERATION
    rack: str | None = None
    subscription_readable: bool = True


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group at one moment.

    Attributes:
        state: the broker's name of its state, such as ``Empty`` (commits, no members); or ``NEW_PROTOCOL``.
        strategy: name of its assignor; empty without members and during a rebalance.
        members: in the order of their ids.
        commits: for every partition with a commit, the offset of the next record to read.
        epoch: the epoch of a group of the new protocol (KIP-848); None if unknown, and for other groups.
        new_state: the broker's name of the state of a group of the new protocol; empty for a group of the
            classic protocol.
        protocol_type: ``consumer``, or the type of members that are no consumers, such as ``connect``.
    """

    group_id: str
    state: str
    strategy: str
    members: tuple[GroupMember, ...]
    commits: Mapping[TopicPartition, int]
    epoch: int | None = None
    new_state: str = ""
    protocol_type: str = _CONSUMER

    @property
    def hides_members(self) -> bool:
        """Whether the broker does not describe its members, as for share groups and Kafka Streams' own."""
        return self.state == NEW_PROTOCOL and not self.new_state


def describe_request(group_ids: Sequence[str]) -> Any:
    """Build a request for the members of groups of the new protocol (KIP-848)."""
    return ConsumerGroupDescribeRequest(group_ids=list(group_ids), include_authorized_operations=False)


def describe_error(described: Any) -> KafkaError | None:
    """Return the error of a description; None also for a missing group, which may have commits."""
    error = for_code(described.error_code)
    if not described.error_code or error is GroupIdNotFoundError:
        return None
    return error(getattr(described, "error_message", None) or f"group {described.group_id!r}")


def state_of(group_id: str, described: Any, commits: Mapping[TopicPartition, int]) -> GroupState:
    """Build the group from the broker's description.

    Raises:
        GroupError: there is no such group.
    """
    if isinstance(described, ConsumerGroupDescribeResponse.DescribedGroup):
        members = tuple(sorted(map(_new_member, described.members), key=lambda member: member.member_id))
        assignor = described.assignor_name if members else ""
        epoch, state = described.group_epoch, described.group_state
        return GroupState(group_id, NEW_PROTOCOL, assignor, members, commits, epoch, state)
    state = described.group_state
    if is_new(described):
        state = NEW_PROTOCOL  # the broker did not describe its members
    elif (described.error_code or state == "Dead") and not commits:
        raise GroupError(f"there is no group {group_id!r}")
    return GroupState(
        group_id,
        state or "Empty",
        described.protocol_data or "",
        described_members(described),
        commits,
        protocol_type=described.protocol_type or _CONSUMER,
    )


def is_new(described: Any) -> bool:
    """Whether a DescribeGroups response is about a group of the new protocol (KIP-848)."""
    return "not a classic group" in (getattr(described, "error_message", None) or "")


def _new_member(member: Any) -> GroupMember:
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.instance_id or None,
        client_id=member.client_id,
        host=member.client_host.lstrip("/"),
        owned=tuple(
            TopicPartition(topic.topic_name, number)
            for topic in member.assignment.topic_partitions
            for number in topic.partitions
        ),
        topics=frozenset(member.subscribed_topic_names),
    )


def described_members(described: Any) -> tuple[GroupMember, ...]:
    """Build the members of a group from the broker's description."""
    return tuple(
        sorted(
            (_member(member, described.protocol_type or _CONSUMER) for member in described.members or ()),
            key=lambda member: member.member_id,
        )
    )


def _member(member: Any, kind: str) -> GroupMember:
    is_consumer = kind == _CONSUMER
    assignment = _decoded(_assignment, member.member_assignment) if is_consumer else None
    subscription = (
        _decoded(ConsumerProtocolSubscription.decode, member.member_metadata) if is_consumer else None
    )
    entries = (assignment.assigned_partitions or ()) if assignment else ()
    return GroupMember(
        member_id=member.member_id,
        instance_id=getattr(member, "group_instance_id", None) or None,
        client_id=member.client_id or "",
        host=(member.client_host or "").lstrip("/"),
        owned=tuple(TopicPartition(str(e.topic), int(p)) for e in entries for p in e.partitions or ()),
        readable=is_consumer and (assignment is not None or not member.member_assignment),
        subscription_user_data=bytes(subscription.user_data or b"") if subscription else b"",
        assignment_user_data=bytes(assignment.user_data or b"") if assignment else b"",
        topics=frozenset(map(str, subscription.topics or ())) if subscription else frozenset(),
        generation=max(subscription.generation_id, NO_GENERATION) if subscription else NO_GENERATION,
        rack=(subscription.rack_id or None) if subscription else None,
        subscription_readable=subscription is not None,
    )


def _assignment(data: bytes) -> Any:
    return ConsumerProtocolAssignment.decode(unfold(data))


def _decoded(decode: Callable[[bytes], Any], data: bytes | None) -> Any:
    """Decode a member's bytes, which are untrusted; None if there are none, or they cannot be decoded."""
    try:
        return decode(bytes(data)) if data else None
    except Exception:  # on bad bytes kafka-python's decoder may raise any exception
        return None
