"""Groups of many members in one process: real assignors, and their JoinGroup and SyncGroup as raw requests.

Each member has a connection of its own, because the broker answers JoinGroup when the last one has joined.
"""

from __future__ import annotations

import selectors
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors import Assignor
from kafka_assignors.assignor.lag.budget import sizes_of
from kafka_assignors.wire import budget

_JOIN, _SYNC, _LEAVE = 3, 2, 1  # versions without member ids from the client
_TIMEOUT_S = 120
_CLIENT = "kafka-python-3.0.12"


class RawMember:
    """A member: its assignor and its connection."""

    def __init__(self, bootstrap: str, assignor: Assignor) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.assignor = assignor
        self.member_id = ""
        self.socket = socket.create_connection((host, int(port)), timeout=_TIMEOUT_S)

    def send(self, request: Any, version: int) -> None:
        request.API_VERSION = version
        request.with_header(client_id=_CLIENT)
        self.socket.sendall(request.encode(version=version, header=True, framed=True))

    def receive(self, kind: Any, version: int) -> Any:
        (size,) = struct.unpack(">i", self._read(4))
        return kind.decode(self._read(size), version=version, header=True)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            received = self.socket.recv(min(size - len(data), 2**20))
            if not received:
                raise ConnectionError("the broker closed the connection")
            data += received
        return bytes(data)

    def close(self) -> None:
        self.assignor.close()
        self.socket.close()


class RawGroup:
    """A classic group whose members rebalance when a test says so.

    Args:
        bootstrap: the broker's ``host:port``.
        group_id: its name.
        topics: topic -> partitions.  The broker does not look them up.
        make: makes the assignor of each member.
    """

    def __init__(
        self, bootstrap: str, group_id: str, topics: Mapping[str, int], make: Callable[[], Assignor]
    ) -> None:
        self._bootstrap, self._make = bootstrap, make
        self.group_id = group_id
        self.topics = topics
        self.members: list[RawMember] = []
        self.leader: RawMember | None = None
        self._generation = 0
        self.leaders_size = 0
        """The record of the last rebalance, as the leader estimates it."""

    def __enter__(self) -> RawGroup:
        return self

    def __exit__(self, *_error: object) -> None:
        for member in self.members:
            member.close()

    def add(self, count: int) -> None:
        """Add members; they join in the next rebalance."""
        self.members += [RawMember(self._bootstrap, self._make()) for _ in range(count)]

    def remove(self, member: RawMember) -> None:
        """Have a member leave the group."""
        self.members.remove(member)
        member.send(LeaveGroupRequest(group_id=self.group_id, member_id=member.member_id), _LEAVE)
        assert member.receive(LeaveGroupResponse, _LEAVE).error_code == 0
        member.close()

    def rebalance(self, cluster: ClusterMetadata) -> int:
        """Join with all members, plan, and sync.

        Returns:
            The error code of the leader's SyncGroup.  If there is one, others may get another.
        """
        joined = self._join()
        generation, leader_id = joined[0].generation_id, joined[0].leader
        leader = next(m for m in self.members if m.member_id == leader_id)
        self.leader, self._generation = leader, generation
        described: list[Any] = joined[self.members.index(leader)].members
        for member in described:
            member.metadata = ConsumerProtocolSubscription.decode(member.metadata)
        given = leader.assignor.assign(cluster, described)
        encoded = {member_id: bytes(assignment.encode()) for member_id, assignment in given.items()}
        self.leaders_size = sum(map(len, encoded.values())) + sum(
            size.fixed + size.sent for size in sizes_of(described, given)
        )
        entry = SyncGroupRequest.SyncGroupRequestAssignment
        for member in self.members:
            assignments = encoded if member is leader else {}
            request = SyncGroupRequest(
                group_id=self.group_id,
                generation_id=generation,
                member_id=member.member_id,
                assignments=[entry(member_id=m, assignment=a) for m, a in assignments.items()],
            )
            member.send(request, _SYNC)
        answers = [member.receive(SyncGroupResponse, _SYNC) for member in self.members]
        error = int(answers[self.members.index(leader)].error_code)
        if not error:
            for member, answer in zip(self.members, answers, strict=True):
                assert answer.error_code == 0, f"SyncGroup: error {answer.error_code}"
                assignment = ConsumerProtocolAssignment.decode(budget.unfold(bytes(answer.assignment)))
                member.assignor.on_assignment(assignment, generation)
        return error

    def _join(self) -> Sequence[Any]:
        """Join until one generation has all members; return their answers in it."""
        answers: dict[RawMember, Any] = {}
        partial = set(range(self._generation + 1))  # generations without some member
        with selectors.DefaultSelector() as selector:
            # The leader first: to a follower that sends the same bytes a settled group answers at once.
            for member in sorted(self.members, key=lambda member: member is not self.leader):
                selector.register(member.socket, selectors.EVENT_READ, member)
                self._send_join(member)
            pending = set(self.members)
            while pending or len({answer.generation_id for answer in answers.values()}) > 1:
                for key, _event in selector.select():
                    member = key.data
                    answers[member] = answer = member.receive(JoinGroupResponse, _JOIN)
                    assert answer.error_code == 0, f"JoinGroup: error {answer.error_code}"
                    member.member_id = answer.member_id
                    pending.discard(member)
                    if answer.leader == answer.member_id and len(answer.members) < len(self.members):
                        partial.add(answer.generation_id)
                for member in [m for m in answers if answers[m].generation_id in partial]:
                    del answers[member]
                    pending.add(member)
                    self._send_join(member)
        return [answers[member] for member in self.members]

    def _send_join(self, member: RawMember) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol
        subscription = member.assignor.metadata(list(self.topics))
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            member_id=member.member_id,
            protocol_type="consumer",
            protocols=[protocol(name=member.assignor.name, metadata=bytes(subscription.encode()))],
        )
        member.send(request, _JOIN)
