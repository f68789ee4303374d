"""We write Java's bytes, and read the bytes of the other clients."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor import convert
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.strategies import CooperativeStickyAssignor, FailoverAssignor, StickyAssignor
from kafka_assignors.wire import cooperative_user_data, failover_user_data, sticky_user_data
from tests.golden import load
from tests.support.group.joining import cluster, joined, own, plan_of, raw

JAVA = load("java_bytes")
PYTHON = load("kafka_python_bytes")
FAILOVER = load("java_failover")


def cases(entries: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "case", entries, ids=[e.get("name", str(i)) for i, e in enumerate(entries)]
    )


def normal(owned: Any) -> dict[str, list[int]]:
    return {topic: sorted(numbers) for topic, numbers in owned.items()}


STICKY = [case for case in JAVA["sticky_user_data"] if case["hex"] is not None]
IN_ORDER = [c for c in STICKY if c["written"] == [[t, sorted(p)] for t, p in sorted(c["written"])]]
PREFIXED = [case for case in PYTHON["sticky_user_data"] if case["hex"]]
V3 = [c for c in JAVA["subscriptions"] if c["version"] == 3 and c["user_data"] is not None]


@cases(STICKY)
def test_sticky_is_read(case: dict[str, Any]) -> None:
    owned, generation = sticky_user_data.decode(bytes.fromhex(case["hex"]))
    assert (normal(owned), generation) == (normal(case["owned"]), case["generation"])


@cases(IN_ORDER)
def test_sticky_is_written_as_java_does(case: dict[str, Any]) -> None:
    """In cases whose topics Java's hash map had in order; the test above compares the values of all."""
    assert sticky_user_data.encode(case["owned"], case["generation"]).hex() == case["hex"]


def test_enough_cases_are_in_order() -> None:
    """The filter above must leave cases to compare."""
    assert len(IN_ORDER) >= 10


@cases(JAVA["sticky_user_data_v0"])
def test_sticky_v0_has_no_generation(case: dict[str, Any]) -> None:
    owned, generation = sticky_user_data.decode(bytes.fromhex(case["hex"]))
    assert (normal(owned), generation) == (normal(case["owned"]), NO_GENERATION)


@cases(PREFIXED)
def test_sticky_of_kafka_python_is_read(case: dict[str, Any]) -> None:
    owned, generation = sticky_user_data.decode(bytes.fromhex(case["hex"]))
    assert (normal(owned), generation) == (normal(case["owned"]), case["generation"])


@cases(JAVA["cooperative_sticky_user_data"])
def test_cooperative_sticky_is_read_and_written_as_java_does(case: dict[str, Any]) -> None:
    generation = NO_GENERATION if case["generation"] is None else case["generation"]
    assert cooperative_user_data.encode(generation).hex() == case["hex"]
    assert cooperative_user_data.decode(bytes.fromhex(case["hex"])) == ({}, generation)


@cases(V3)
def test_subscription_v3_is_written_as_java_does(case: dict[str, Any]) -> None:
    """All fields of a member: topics, user data, owned partitions, generation, rack."""
    ours = convert.encode_subscription(
        case["topics"],
        bytes.fromhex(case["user_data"]),
        case["owned"],
        NO_GENERATION if case["generation"] is None else case["generation"],
        case["rack"],
    )
    assert ours.encode().hex() == case["hex"]


@cases(JAVA["subscriptions"])
def test_every_subscription_is_read(case: dict[str, Any]) -> None:
    """In any version; missing fields read as nothing owned and no generation."""
    read = ConsumerProtocolSubscription.decode(bytes.fromhex(case["hex"]))
    assert sorted(read.topics) == sorted(case["topics"])
    assert normal(convert.owned_in(read)) == (normal(case["owned"]) if case["version"] >= 1 else {})
    given = case["generation"] if case["version"] >= 2 and case["generation"] is not None else -1
    assert read.generation_id == given


@cases(JAVA["assignments"])
def test_assignments_of_every_version_are_read(case: dict[str, Any]) -> None:
    """The fields never changed, so version 0, which every client reads, is enough."""
    read = ConsumerProtocolAssignment.decode(bytes.fromhex(case["hex"]))
    assert dict(read.assigned_partitions) == case["assigned"]


def test_a_sticky_member_sends_javas_bytes() -> None:
    """End to end: assigned t-2 and t-3 in generation 5, then rejoined."""
    assignor = StickyAssignor()
    assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [2, 3])], b""), 5)
    sent = ConsumerProtocolSubscription.decode(assignor.metadata({"t"}).encode())
    assert bytes(sent.user_data).hex() == "0000000100017400000002000000020000000300000005"
    assert not sent.owned_partitions


def test_a_cooperative_member_sends_javas_user_data_and_subscription_v3() -> None:
    """With its owned partitions, generation and rack."""
    assignor = CooperativeStickyAssignor(rack="r1")
    assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [3, 2])], b""), 5)
    sent = assignor.metadata({"t"})
    assert sent.user_data.hex() == "00000005"
    read = ConsumerProtocolSubscription.decode(sent.encode())
    assert (normal(convert.owned_in(read)), read.generation_id, read.rack_id) == ({"t": [2, 3]}, 5, "r1")


# --- failover ----------------------------------------------------------------------------------------------


@cases(FAILOVER["written"])
def test_a_priority_is_written_as_java_does(case: dict[str, Any]) -> None:
    """By either name of the option, and by default."""
    java, priority = bytes.fromhex(case["hex"]), case["priority"]
    for name in ("priority", "assignment_consumer_priority"):
        assert FailoverAssignor(**{name: priority}).metadata({"t"}).user_data == java
    read = failover_user_data.decode_priority(java)
    assert read == (2**31 - 1 if priority is None else priority)
    assert failover_user_data.decode_history(java) == ({}, NO_GENERATION)


@cases(FAILOVER["read"])
def test_java_picks_the_same_active_member(case: dict[str, Any]) -> None:
    """It also reads the first four bytes of our user data."""
    members = [joined(name, raw(["t"], bytes.fromhex(hex))) for name, hex in case["user_data"].items()]
    plan = plan_of(FailoverAssignor().assign(cluster({"t": 4}), members))
    assert [name for name, topics in plan.items() if topics] == [case["active"]]


def test_the_history_that_java_was_tested_with_is_ours() -> None:
    """t-2 and t-3, owned in generation 5."""
    (ours,) = {hex for case in FAILOVER["read"][2:3] for hex in case["user_data"].values() if len(hex) > 8}
    active = FailoverAssignor(priority=10)
    own(active, {"t": [2, 3]}, 5)
    assert active.metadata({"t"}).user_data.hex() == ours
