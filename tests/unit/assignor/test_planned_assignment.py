"""An assignment that encodes straight from the plan, and behaves as kafka-python's own."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import StickyAssignor
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
