"""An assignment whose bytes come out of the plan, and which is kafka-python's own for whoever looks."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import StickyAssignor
from tests.support.joining import cluster, joined, raw

ENTRIES = [("t", [0, 1]), ("u", [0])]


@pytest.fixture
def planned() -> ConsumerProtocolAssignment:
    leader = StickyAssignor()
    return leader.assign(cluster({"t": 2, "u": 1}), [joined("a", raw(["t", "u"]))])["a"]


def test_bytes_and_objects_say_the_same(planned: ConsumerProtocolAssignment) -> None:
    """In either order of looking."""
    before = planned.encode()
    assert planned.assigned_partitions == ENTRIES
    assert before == planned.encode() == ConsumerProtocolAssignment(0, ENTRIES, b"").encode()


def test_what_is_changed_is_sent(planned: ConsumerProtocolAssignment) -> None:
    """Somebody's wrapper may take a partition out, or add data for its members."""
    planned.user_data = b"more"
    assert planned.encode() == ConsumerProtocolAssignment(0, ENTRIES, b"more").encode()
    planned.assigned_partitions = [("u", [0])]
    assert planned.encode() == ConsumerProtocolAssignment(0, [("u", [0])], b"more").encode()


def test_a_list_that_was_looked_at_may_be_changed_too(planned: ConsumerProtocolAssignment) -> None:
    planned.assigned_partitions.pop()
    assert planned.encode() == ConsumerProtocolAssignment(0, ENTRIES[:1], b"").encode()
