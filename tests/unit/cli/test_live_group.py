"""A broker's description of a group becomes members, or one line of error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kafka.errors import (
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
)

from kafka_assignors.cli.live_group import (
    as_bytes,
    assigned_in,
    describe,
    members_of,
    partition_counts,
    replica_racks,
)
from kafka_assignors.errors import BrokerError, GroupError
from kafka_assignors.plan import Member
from kafka_assignors.wire import budget, lag_user_data
from tests.support.joining import raw


def a_member(**fields: Any) -> dict[str, Any]:
    """One member, as kafka-python describes it."""
    return {
        "member_id": "m-1",
        "group_instance_id": None,
        "member_metadata": {
            "topics": ["t1", "t0"],
            "user_data": "\\x99 not ours",
            "owned_partitions": [{"topic": "t0", "partitions": [7]}],
            "generation_id": 3,
            "rack_id": None,
        },
        "member_assignment": {"assigned_partitions": [{"topic": "t0", "partitions": [1, 0]}]},
    } | fields


@pytest.mark.parametrize("user_data", ["", "\\x99 not ours", None, "\0KAB\x01\0"])
def test_assignment_lists_its_partitions(user_data: str | None) -> None:
    plain = {"assigned_partitions": [{"topic": "t", "partitions": [3, 1]}], "user_data": user_data}
    assert assigned_in(plain) == {"t": [1, 3]}


@given(st.sets(st.integers(0, 10_000), min_size=1))
def test_assignment_of_a_large_group_has_them_in_its_user_data(numbers: set[int]) -> None:
    user_data = budget.encode(budget.MemberBudget(9, {"t": sorted(numbers)}))
    assume(not re.search(rb"\\x[89a-f][0-9a-f]", user_data))
    text = user_data.decode(errors="backslashreplace")
    assert assigned_in({"assigned_partitions": [], "user_data": text}) == {"t": sorted(numbers)}


def described(*members: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A settled group, as kafka-python describes it."""
    return {
        "group_state": "Stable",
        "protocol_type": "consumer",
        "protocol_data": "sticky",
        "members": list(members),
        "error": None,
    } | fields


def test_member_owns_its_last_assignment() -> None:
    """The subscription's claims are ignored, and its user data need not be readable."""
    assert members_of("g", described(a_member())) == (
        Member("m-1", frozenset({"t0", "t1"}), {"t0": [0, 1]}, generation=0),
    )


@pytest.mark.parametrize(
    ("strategy", "user_data", "priority"),
    [
        ("failover", b"\x00\x00\x00\x07", 7),
        ("failover", b"\xff\xff\xff\xff and a history nobody can read", -1),
        ("failover", b"\x00\x07", None),
        ("failover", b"", None),
        ("failover", None, None),
        ("sticky", b"\x00\x00\x00\x07", None),
        ("theirs", b"\x00\x00\x00\x07", None),
    ],
)
def test_failover_priorities_come_from_user_data(
    strategy: str, user_data: bytes | None, priority: int | None
) -> None:
    metadata = raw(["t0"], user_data).to_dict()
    (one,) = members_of("g", described(a_member(member_metadata=metadata), protocol_data=strategy))
    assert one.priority == priority


@pytest.mark.parametrize(
    ("strategy", "user_data", "capacity"),
    [
        ("lag-aware", lag_user_data.encode({}, 1, {}, 0, 2.0), 2.0),
        ("cooperative-lag-aware", lag_user_data.encode({"t": [1]}, 1, {}, 0, 0.5), 0.5),
        ("cooperative-lag-aware", lag_user_data.encode({}, 1, {}, 0, 2.0).replace(b"=2048", b"=0000"), 1.0),
        ("cooperative-lag-aware", b"\1", 1.0),
        ("sticky", lag_user_data.encode({}, 1, {}, 0, 2.0), 1.0),
    ],
)
def test_capacities_come_from_user_data(strategy: str, user_data: bytes, capacity: float) -> None:
    metadata = raw(["t0"], user_data).to_dict()
    (one,) = members_of("g", described(a_member(member_metadata=metadata), protocol_data=strategy))
    assert one.capacity == capacity


def test_measured_capacities_are_compared_as_the_leader_does() -> None:
    rates = {"m1": 64.0, "m2": 128.0, "m3": 0.0, "m4": 256.0}
    members = [
        a_member(
            member_id=name,
            member_metadata=raw(["t0"], lag_user_data.encode({}, 1, {}, 0, service_rate=rate)).to_dict(),
        )
        for name, rate in rates.items()
    ]
    read = members_of("g", described(*members, protocol_data="lag-aware"))
    assert {member.member_id: member.capacity for member in read} == {"m1": 0.5, "m2": 1, "m3": 1, "m4": 2}


@given(user_data=st.binary(max_size=50))
def test_user_data_bytes_are_restored_from_text(user_data: bytes) -> None:
    assume(not re.search(rb"\\x[89a-f][0-9a-f]", user_data))
    assert as_bytes(raw(["t"], user_data).to_dict()["user_data"]) == user_data


def test_static_members_and_racks() -> None:
    metadata = a_member()["member_metadata"] | {"rack_id": "zone-a"}
    (one,) = members_of("g", described(a_member(group_instance_id="s-1", member_metadata=metadata)))
    assert (one.instance_id, one.rack) == ("s-1", "zone-a")


@pytest.mark.parametrize(
    "assignment",
    [
        *(None, b"", {"assigned_partitions": []}, {"assigned_partitions": None}),
        {"assigned_partitions": [{"topic": "t0", "partitions": None}]},
    ],
)
def test_member_without_assignment_owns_nothing(assignment: object) -> None:
    (one,) = members_of("g", described(a_member(member_assignment=assignment)))
    assert one.owned == {}


def test_member_without_topics_is_a_member() -> None:
    (one,) = members_of("g", described(a_member(member_metadata={"topics": None})))
    assert one.topics == frozenset()


WITHOUT_MEMBERS: dict[str, Any] = {"group_state": "Empty", "protocol_type": ""}


@pytest.mark.parametrize(
    ("group", "expected_message"),
    [
        (described(group_state="Dead", error="[Error 69] Group g not found."), "there is no group 'g'"),
        (described(group_state="Dead"), "there is no group 'g'"),
        (
            described(group_state="Dead", error="Group g is not a classic group."),
            "group 'g' uses the KIP-848 protocol: the broker assigns, no strategy runs",
        ),
        (
            described(group_state="", error="[Error 30] GroupAuthorizationFailedError"),
            "the broker does not describe group 'g': [Error 30] GroupAuthorizationFailedError",
        ),
        (described(**WITHOUT_MEMBERS), "group 'g' has no members to plan for"),
        (
            described(a_member(), protocol_type="connect"),
            "group 'g' is no consumer group: its protocol type is 'connect'",
        ),
        (
            described(a_member(member_metadata=b""), group_state="PreparingRebalance"),
            "group 'g' is rebalancing (PreparingRebalance): try again when it is stable",
        ),
        (
            described(a_member(member_metadata=b"\x00")),
            "the subscription of member 'm-1' of 'g' cannot be read",
        ),
        (
            described(a_member(member_assignment=b"\x00")),
            "the assignment of member 'm-1' of 'g' cannot be read",
        ),
    ],
)
def test_group_that_cannot_be_planned_is_one_line(group: dict[str, Any], expected_message: str) -> None:
    with pytest.raises(GroupError) as error:
        members_of("g", group)
    assert str(error.value) == expected_message


class Admin:
    """Answers one thing after another, the last one for ever; every look at its clock takes a second."""

    def __init__(self, *answers: dict[str, Any] | Exception) -> None:
        self.answers = list(answers)
        self.now = 0.0
        self.waited = 0

    def describe_groups(self, groups: list[str]) -> dict[str, dict[str, Any]]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {groups[0]: answer}

    def clock(self) -> float:
        self.now += 1
        return self.now

    def wait(self, seconds: float) -> None:
        self.waited += 1

    def described(self) -> Mapping[str, Any]:
        return describe(self, "g", self.clock, self.wait)


SETTLED, RESTLESS = described(a_member()), described(group_state="PreparingRebalance")


def test_moving_coordinator_and_rebalancing_group_are_waited_for() -> None:
    admin = Admin(CoordinatorNotAvailableError(), RESTLESS, SETTLED)
    assert admin.described() is SETTLED
    assert admin.waited == 2


def test_waiting_for_a_rebalance_has_a_deadline() -> None:
    assert Admin(RESTLESS).described() is RESTLESS


@pytest.mark.parametrize(
    ("error", "kind", "expected_message", "waits"),
    [
        (CoordinatorNotAvailableError("g"), BrokerError, "does not describe group 'g': .*Coordinator", 4),
        (GroupAuthorizationFailedError("g"), BrokerError, "does not describe group 'g': .*Authorization", 0),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "?"), GroupError, "sent a subscription that cannot", 0),
    ],
)
def test_permanent_errors_are_not_waited_for(
    error: Exception, kind: type[Exception], expected_message: str, waits: int
) -> None:
    admin = Admin(error)
    with pytest.raises(kind, match=expected_message):
        admin.described()
    assert admin.waited == waits


def test_missing_topics_have_no_partitions() -> None:
    topics = [
        {"name": "t0", "error_code": 0, "partitions": [{}, {}]},
        {"name": "gone", "error_code": 3, "partitions": []},
        {"name": "not a name", "error_code": 17, "partitions": []},
    ]
    assert partition_counts(topics) == {"t0": 2}


def test_denied_topic_is_an_error() -> None:
    """Left out, the plan would look fine and be wrong."""
    with pytest.raises(GroupError, match="topic 'secret': TopicAuthorizationFailedError"):
        partition_counts([{"name": "secret", "error_code": 29, "partitions": []}])


def test_racks_of_replicas_are_those_of_their_brokers() -> None:
    """By number, whatever order the broker tells them in; racks in which no member is do not matter."""
    topics: list[dict[str, Any]] = [
        {
            "name": "t",
            "partitions": [
                {"partition_index": 1, "replica_nodes": [2, 3]},
                {"partition_index": 0, "replica_nodes": [1, 2]},
            ],
        },
        {"name": "gone", "partitions": []},
    ]
    brokers: list[dict[str, Any]] = [
        {"broker_id": 1, "rack": "a"},
        {"broker_id": 2, "rack": "b"},
        {"broker_id": 3, "rack": None},
    ]
    assert replica_racks(topics, brokers, {"a", "b"})["t"] == [frozenset("ab"), frozenset("b")]
    assert replica_racks(topics, brokers, {"a"})["t"] == [frozenset("a"), frozenset()]
    assert replica_racks(topics, brokers, {"c"}) == {}
