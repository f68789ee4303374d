"""A broker's description of a group becomes members, or one line of error."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_assignors.cli.live_group import members_of, partition_counts, replica_racks, settled
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.fetch.group import NEW_PROTOCOL, GroupMember, GroupState
from kafka_assignors.plan import Member, TopicPartition
from kafka_assignors.wire import lag_user_data
from kafka_assignors.wire.compact_lag_user_data import LagUserData

OWNED = (TopicPartition("t0", 1), TopicPartition("t0", 0))
M1 = GroupMember("m-1", None, "c", "h", OWNED, topics=frozenset({"t0", "t1"}), generation=3)
M1 = replace(M1, subscription_user_data=b"\x99 not ours")
GROUP = GroupState("g", "Stable", "sticky", (M1,), {})


def with_user_data(strategy: str, *user_data: bytes) -> tuple[Member, ...]:
    """The members of a group whose members sent these user data."""
    members = (
        replace(M1, member_id=f"m{i}", subscription_user_data=data) for i, data in enumerate(user_data)
    )
    return members_of(replace(GROUP, strategy=strategy, members=tuple(members)))


def test_member_owns_its_last_assignment() -> None:
    """Its user data need not be readable."""
    assert members_of(GROUP) == (Member("m-1", frozenset({"t0", "t1"}), {"t0": [0, 1]}, generation=0),)


@pytest.mark.parametrize(
    ("strategy", "user_data", "priority"),
    [
        ("failover", b"\x00\x00\x00\x07", 7),
        ("failover", b"\xff\xff\xff\xff and a history nobody can read", -1),
        ("failover", b"\x00\x07", None),
        ("theirs", b"\x00\x00\x00\x07", None),
    ],
)
def test_failover_priorities_come_from_user_data(
    strategy: str, user_data: bytes, priority: int | None
) -> None:
    (member,) = with_user_data(strategy, user_data)
    assert member.priority == priority


@pytest.mark.parametrize(
    ("strategy", "user_data", "capacity"),
    [
        ("lag-aware", lag_user_data.encode(LagUserData({}, 1, {}, 0, 2.0)), 2.0),
        ("cooperative-lag-aware", lag_user_data.encode(LagUserData({"t": [1]}, 1, {}, 0, 0.5)), 0.5),
        (
            "cooperative-lag-aware",
            lag_user_data.encode(LagUserData({}, 1, {}, 0, 2.0)).replace(b"=2048", b"=0000"),
            1.0,
        ),
        ("cooperative-lag-aware", b"\1", 1.0),
    ],
)
def test_capacities_come_from_user_data(strategy: str, user_data: bytes, capacity: float) -> None:
    (member,) = with_user_data(strategy, user_data)
    assert member.capacity == capacity


def test_measured_capacities_are_compared_as_the_leader_does() -> None:
    rates = (64.0, 128.0, 0.0, 256.0)
    members = with_user_data(
        "lag-aware", *(lag_user_data.encode(LagUserData({}, 1, {}, 0, service_rate=rate)) for rate in rates)
    )
    assert [member.capacity for member in members] == [0.5, 1, 1, 2]


def test_static_member_without_topics_or_assignment_is_a_member_with_its_rack() -> None:
    idle = replace(M1, instance_id="s-1", rack="zone-a", topics=frozenset(), owned=())
    expected = Member("m-1", frozenset(), {}, generation=0, instance_id="s-1", rack="zone-a")
    assert members_of(replace(GROUP, members=(idle,))) == (expected,)


@pytest.mark.parametrize(
    ("group", "expected_message"),
    [
        (
            replace(GROUP, state=NEW_PROTOCOL, new_state="Stable"),
            "group 'g' uses the KIP-848 protocol: the broker assigns, no strategy runs",
        ),
        (
            replace(GROUP, state=NEW_PROTOCOL),
            "the broker does not describe the members of group 'g': it may be a share or streams group",
        ),
        (replace(GROUP, state="Empty", members=()), "group 'g' has no members to plan for"),
        (
            replace(GROUP, protocol_type="connect"),
            "group 'g' is no consumer group: its protocol type is 'connect'",
        ),
        (
            replace(GROUP, state="PreparingRebalance", members=(replace(M1, subscription_readable=False),)),
            "group 'g' is rebalancing (PreparingRebalance): try again when it is stable",
        ),
        (
            replace(GROUP, members=(replace(M1, subscription_readable=False),)),
            "the subscription of member 'm-1' of 'g' cannot be read",
        ),
        (
            replace(GROUP, members=(replace(M1, readable=False),)),
            "the assignment of member 'm-1' of 'g' cannot be read",
        ),
    ],
)
def test_group_that_cannot_be_planned_is_one_line(group: GroupState, expected_message: str) -> None:
    with pytest.raises(GroupError) as error:
        members_of(group)
    assert str(error.value) == expected_message


class Looks:
    """Returns one group after another, the last one for ever; every look at its clock takes a second."""

    def __init__(self, *groups: GroupState) -> None:
        self.groups = list(groups)
        self.now = 0.0
        self.pauses: list[float] = []

    def read(self) -> GroupState:
        return self.groups.pop(0) if len(self.groups) > 1 else self.groups[0]

    def clock(self) -> float:
        self.now += 1
        return self.now

    def settled(self) -> GroupState:
        return settled(self.read, self.clock, self.pauses.append)


RESTLESS = replace(GROUP, state="PreparingRebalance")


def test_rebalancing_group_is_read_again() -> None:
    looks = Looks(RESTLESS, RESTLESS, GROUP)
    assert looks.settled() is GROUP
    assert len(looks.pauses) == 2


def test_waiting_for_a_rebalance_has_a_deadline() -> None:
    assert Looks(RESTLESS).settled() is RESTLESS


def topic(name: str, code: int = 0, partitions: tuple[Any, ...] = ()) -> Any:
    return SimpleNamespace(name=name, error_code=code, partitions=partitions)


def test_missing_topics_have_no_partitions() -> None:
    topics = [topic("t0", 0, ("p0", "p1")), topic("gone", 3), topic("not a name", 17)]
    assert partition_counts(SimpleNamespace(topics=topics)) == {"t0": 2}


def test_denied_topic_is_an_error() -> None:
    """Left out, the plan would look fine and be wrong."""
    with pytest.raises(GroupError, match="topic 'secret': TopicAuthorizationFailedError"):
        partition_counts(SimpleNamespace(topics=[topic("secret", 29)]))


def test_racks_of_replicas_are_those_of_their_brokers() -> None:
    """By number, in any order of the response; racks without a member do not matter."""
    replicas = {1: [2, 3], 0: [1, 2]}
    partitions = tuple(SimpleNamespace(partition_index=p, replica_nodes=n) for p, n in replicas.items())
    brokers = [SimpleNamespace(node_id=node, rack=rack) for node, rack in ((1, "a"), (2, "b"), (3, None))]
    metadata = SimpleNamespace(topics=[topic("t", 0, partitions), topic("gone", 3)], brokers=brokers)
    assert replica_racks(metadata, {"a", "b"})["t"] == [frozenset("ab"), frozenset("b")]
    assert replica_racks(metadata, {"a"})["t"] == [frozenset("a"), frozenset()]
    assert replica_racks(metadata, {"c"}) == {}
