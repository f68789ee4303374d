"""An assignment that encodes straight from the plan, and behaves as kafka-python's own."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import StickyAssignor
from kafka_assignors.assignor.convert import encode_assignment
from kafka_assignors.plan import Assignment, Group, Member
from tests.support.group.joining import cluster, joined, raw

ENTRIES = [("t", [0, 1]), ("u", [0])]


@pytest.fixture
def planned() -> ConsumerProtocolAssignment:
    leader = StickyAssignor()
    return leader.assign(cluster({"t": 2, "u": 1}), [joined("a", raw(["t", "u"]))])["a"]


def test_bytes_and_objects_agree(planned: ConsumerProtocolAssignment) -> None:
    """In either order of access."""
    before = planned.encode()
    assert planned.assigned_partitions == ENTRIES
    assert before == planned.encode() == ConsumerProtocolAssignment(0, ENTRIES, b"").encode()


def test_changed_assignment_is_encoded_with_its_changes(planned: ConsumerProtocolAssignment) -> None:
    """A user's wrapper may remove a partition or add user data."""
    planned.user_data = b"more"
    assert planned.encode() == ConsumerProtocolAssignment(0, ENTRIES, b"more").encode()
    planned.assigned_partitions = [("u", [0])]
    assert planned.encode() == ConsumerProtocolAssignment(0, [("u", [0])], b"more").encode()


def test_change_after_a_read_is_encoded(planned: ConsumerProtocolAssignment) -> None:
    planned.assigned_partitions.pop()
    assert planned.encode() == ConsumerProtocolAssignment(0, ENTRIES[:1], b"").encode()


def test_each_member_gets_the_bytes_of_its_own_part() -> None:
    """The arrays of all members are encoded at once: ``b`` has none, and ``u``'s last partition no member."""
    group = Group(tuple(Member(id, frozenset("tuv")) for id in "abc"), {"t": 3, "u": 3, "v": 0})
    parts = {"a": {"t": [1], "u": [0, 1]}, "b": {}, "c": {"t": [0, 2]}}
    encoded = encode_assignment(Assignment.of(group, parts), b"data")
    for member_id, part in parts.items():
        expected = ConsumerProtocolAssignment(0, list(part.items()), b"data").encode()
        assert encoded[member_id].encode() == expected
