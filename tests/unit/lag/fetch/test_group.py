"""A broker's description of any group, whatever its members run."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor.convert import encode_subscription
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.fetch.group import (
    ConsumerGroupDescribeResponse,
    GroupMember,
    describe_request,
    described_members,
    state_of,
)
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import budget
from kafka_assignors.wire.budget import MemberBudget

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def given(*partitions: int) -> bytes:
    entry = ConsumerProtocolAssignment.TopicPartition
    return bytes(
        ConsumerProtocolAssignment(
            version=0, assigned_partitions=[entry(topic="t", partitions=list(partitions))], user_data=b""
        ).encode()
    )


def a_member(**fields: Any) -> Any:
    known = {"member_id": "m", "group_instance_id": None, "client_id": "c", "client_host": "/10.0.0.1"}
    return SimpleNamespace(
        **{**known, "member_metadata": b"\xff", "member_assignment": given(0, 1), **fields}
    )


def described(*members: Any, **fields: Any) -> Any:
    known = {"error_code": 0, "error_message": None, "group_state": "Stable", "protocol_type": "consumer"}
    return SimpleNamespace(**{**known, "protocol_data": "range", "members": list(members), **fields})


def test_member_owns_its_assignment_not_its_claims() -> None:
    assert described_members(described(a_member())) == (
        GroupMember("m", None, "c", "10.0.0.1", (T0, T1), subscription_readable=False),
    )


def test_subscription_of_a_member() -> None:
    metadata = encode_subscription({"t"}, b"\x99", {}, 3, "zone-a").encode()
    (member,) = described_members(described(a_member(member_metadata=metadata)))
    assert (member.topics, member.rack, member.generation) == (frozenset("t"), "zone-a", 3)
    assert (member.subscription_user_data, member.subscription_readable) == (b"\x99", True)


def test_member_owns_the_partitions_that_a_large_group_keeps_in_the_user_data() -> None:
    folded = ConsumerProtocolAssignment(
        version=0, assigned_partitions=[], user_data=budget.encode(MemberBudget(100, {"t": [0, 1]}))
    )
    (member,) = described_members(described(a_member(member_assignment=bytes(folded.encode()))))
    assert (member.owned, member.readable) == ((T0, T1), True)


def test_members_are_sorted_by_id() -> None:
    members = described_members(
        described(a_member(member_id="b"), a_member(member_id="a", group_instance_id="i"))
    )
    assert [(member.member_id, member.instance_id) for member in members] == [("a", "i"), ("b", None)]


@pytest.mark.parametrize("data", [b"\0", b"\xff" * 9, given(0, 1)[:-5], b"\0\0\x7f\xff\xff\xff"])
def test_undecodable_assignment_affects_only_its_member(data: bytes) -> None:
    broken, whole = described_members(described(a_member(member_id="a", member_assignment=data), a_member()))
    assert (broken.owned, broken.readable) == ((), False)
    assert (whole.owned, whole.readable) == ((T0, T1), True)


def test_member_without_an_assignment_owns_nothing() -> None:
    (member,) = described_members(described(a_member(member_assignment=b"")))
    assert (member.owned, member.readable) == ((), True)


def test_members_of_other_group_types_own_no_partitions() -> None:
    group = state_of("g", described(a_member(), protocol_type="connect"), {})
    (member,) = group.members
    assert (group.protocol_type, member.owned, member.readable) == ("connect", (), False)


def test_unknown_group_raises() -> None:
    with pytest.raises(GroupError, match="there is no group 'g'"):
        state_of("g", described(group_state="Dead", protocol_type="", protocol_data=""), {})
    with pytest.raises(GroupError, match="there is no group 'g'"):
        state_of("g", described(group_state="", error_code=69, error_message="Group g not found."), {})


def test_group_with_only_commits_is_empty() -> None:
    state = state_of("g", described(group_state="Empty", protocol_data=None), {T0: 5})
    assert (state.state, state.strategy, state.members, state.commits) == ("Empty", "", (), {T0: 5})


def test_undescribed_group_of_the_new_protocol_has_commits() -> None:
    answer = described(group_state="Dead", error_code=69, error_message="Group g is not a classic group.")
    assert state_of("g", answer, {T0: 5}).state == "Consumer"


def test_describe_request_bytes() -> None:
    """KIP-848, version 0: an array of one text, false, no tags."""
    assert bytes(describe_request(["g"]).encode(version=0)) == b"\x02\x02g\x00\x00"


def test_members_of_a_group_of_the_new_protocol() -> None:
    """Version 1, field by field; the current assignment counts, not the target."""

    def assignment(*numbers: int) -> bytes:
        partitions = b"".join(struct.pack(">i", number) for number in numbers)
        return b"\x02" + b"\x07" * 16 + b"\x02t" + bytes([len(numbers) + 1]) + partitions + b"\0\0"

    member = (
        b"\x02m" + b"\0" + b"\x02r" + struct.pack(">i", 5) + b"\x02c" + b"\x0a/10.0.0.1"
        + b"\x02\x02t" + b"\0" + assignment(0, 1) + assignment(0) + b"\x01" + b"\0"
    )  # fmt: skip
    group = (
        struct.pack(">h", 0) + b"\0" + b"\x02g" + b"\x07Stable" + struct.pack(">ii", 5, 5)
        + b"\x08uniform" + b"\x02" + member + struct.pack(">i", -(2**31)) + b"\0"
    )  # fmt: skip
    data = struct.pack(">i", 0) + b"\x02" + group + b"\0"
    answer = ConsumerGroupDescribeResponse.decode(data, version=1)
    assert answer.groups[0].authorized_operations == -(2**31)
    state = state_of("g", answer.groups[0], {T0: 5})
    assert (state.state, state.strategy) == ("Consumer", "uniform")
    assert state.members == (GroupMember("m", None, "c", "10.0.0.1", (T0, T1), topics=frozenset("t")),)
    assert (state.epoch, state.new_state) == (5, "Stable")
