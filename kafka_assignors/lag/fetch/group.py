"""A group as its coordinator describes it: its members, their partitions, and its commits.

The planner needs subscriptions it understands; this module takes any group.  kafka-python's own
``describe_groups`` raises for the whole group if one member's bytes cannot be decoded.  This module treats
such a member as one without known partitions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka.errors import GroupIdNotFoundError, KafkaError, for_code
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_assignors.errors import GroupError
from kafka_assignors.lag.fetch import requests
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.plan import TopicPartition

_PAUSE_S = 0.2
_NO_CLASSIC = "Consumer"  # instead of a state
_WITH_COMMITS = ("", "consumer", "streams")
"""Protocol types.  The empty type is a group that commits without members."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member as the broker describes it.

    Attributes:
        member_id: assigned by the broker.
        instance_id: of a static member, else None.
        client_id: set by the client.
        host: of its connection.
        owned: its last assignment.
        readable: False: the assignment cannot be decoded, and ``owned`` is empty.
        subscription_user_data: empty if there is none, or it cannot be decoded.
        assignment_user_data: likewise.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    owned: tuple[TopicPartition, ...]
    readable: bool = True
    subscription_user_data: bytes = b""
    assignment_user_data: bytes = b""


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group at one moment.

    Attributes:
        group_id: its name.
        state: the broker's name of it; ``Empty`` is a group with commits and without members.
        strategy: its protocol name; empty without members.
        members: in the order of their ids.
        commits: for every partition with a commit.
    """

    group_id: str
    state: str
    strategy: str
    members: tuple[GroupMember, ...]
    commits: Mapping[TopicPartition, int]


async def ask_group(link: Link, group_id: str, timeout_ms: float) -> GroupState:
    """Fetch the group; retry while its coordinator moves.  Runs on the link's thread.

    Raises:
        KafkaError: the group cannot be fetched; retriable errors were retried in time.
        GroupError: there is no such group.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        left_ms = max((deadline - time.monotonic()) * 1000, 1)
        try:
            described, commits = await _ask_once(link, group_id, left_ms)
        except KafkaError as error:
            if not error.retriable or time.monotonic() + 2 * _PAUSE_S > deadline:
                raise
        else:
            return state_of(group_id, described, commits)
        await link.sleep(_PAUSE_S)


async def _ask_once(link: Link, group_id: str, timeout_ms: float) -> tuple[Any, dict[TopicPartition, int]]:
    """Return description and commits."""
    manager = link.manager
    versions = manager.broker_version_data
    response = await manager.send(
        requests.coordinator_request(group_id, versions.api_version(FindCoordinatorRequest)),
        request_timeout_ms=timeout_ms,
    )
    node = requests.add_coordinator(manager.cluster, response, group_id)
    response = await manager.send(
        DescribeGroupsRequest(groups=[group_id]), node, request_timeout_ms=timeout_ms
    )
    (described,) = response.groups
    error = for_code(described.error_code)
    if described.error_code and error is not GroupIdNotFoundError:
        raise error(getattr(described, "error_message", None) or f"group {group_id!r}")
    request = requests.offset_fetch_request(group_id, None, versions.api_version(OffsetFetchRequest))
    response = await manager.send(request, node, request_timeout_ms=timeout_ms)
    rows = requests.read_offset_fetch(response, group_id)
    return described, {tp: offset for tp, code, offset in rows if not code and offset >= 0}


async def list_groups(link: Link, timeout_ms: float) -> tuple[list[str], list[KafkaError]]:
    """Return the names of all groups that can have commits, and the errors of brokers that did not answer.

    Runs on the link's thread.  Each broker lists the groups it coordinates, so this asks all of them.  A
    broker leaves out groups that the user may not describe.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    names: set[str] = set()
    while True:
        failures: list[KafkaError] = []
        for broker in link.manager.cluster.brokers():
            left_ms = max((deadline - time.monotonic()) * 1000, 1)
            try:
                response = await link.manager.send(
                    ListGroupsRequest(), broker.node_id, request_timeout_ms=left_ms
                )
            except KafkaError as error:
                failures.append(error)
                continue
            if response.error_code:
                failures.append(for_code(response.error_code)("groups"))
                continue
            names |= {group.group_id for group in response.groups if group.protocol_type in _WITH_COMMITS}
        out_of_time = time.monotonic() + 2 * _PAUSE_S > deadline
        if not failures or out_of_time or not all(error.retriable for error in failures):
            return sorted(names), failures
        await link.sleep(_PAUSE_S)


def state_of(group_id: str, described: Any, commits: Mapping[TopicPartition, int]) -> GroupState:
    """Build the group from the broker's description.

    Raises:
        GroupError: there is no such group.
    """
    state = described.group_state
    if "not a classic group" in (getattr(described, "error_message", None) or ""):
        state = _NO_CLASSIC  # KIP-848: kafka-python cannot describe its members, but it has commits
    elif (described.error_code or state == "Dead") and not commits:
        raise GroupError(f"there is no group {group_id!r}")
    return GroupState(
        group_id, state or "Empty", described.protocol_data or "", members_of(described), commits
    )


def members_of(described: Any) -> tuple[GroupMember, ...]:
    """Build the members of a group from the broker's description."""
    return tuple(
        sorted(
            (_member(member, described.protocol_type or "consumer") for member in described.members or ()),
            key=lambda member: member.member_id,
        )
    )


def _member(member: Any, kind: str) -> GroupMember:
    owned, readable = _owned(member.member_assignment or b"") if kind == "consumer" else ((), False)
    return GroupMember(
        member_id=member.member_id,
        instance_id=getattr(member, "group_instance_id", None) or None,
        client_id=member.client_id or "",
        host=(member.client_host or "").lstrip("/"),
        owned=owned,
        readable=readable,
        subscription_user_data=_user_data(ConsumerProtocolSubscription, member.member_metadata)
        if kind == "consumer"
        else b"",
        assignment_user_data=_user_data(ConsumerProtocolAssignment, member.member_assignment)
        if kind == "consumer"
        else b"",
    )


def _user_data(form: Any, data: bytes | None) -> bytes:
    try:
        return bytes(form.decode(data).user_data or b"") if data else b""
    except Exception:  # kafka-python's decoder raises what its bytes make it
        return b""


def _owned(data: bytes) -> tuple[tuple[TopicPartition, ...], bool]:
    """Decode an assignment, which may be any bytes; return its partitions and whether it could be decoded."""
    if not data:
        return (), True  # no assignment yet
    try:
        entries = ConsumerProtocolAssignment.decode(data).assigned_partitions or ()
        return tuple(TopicPartition(str(e.topic), int(p)) for e in entries for p in e.partitions or ()), True
    except Exception:  # kafka-python's decoder raises what its bytes make it
        return (), False
