"""The leader's budget in an assignment's user data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.errors import CodecError
from kafka_assignors.wire import budget, compact_ownership
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.budget import MemberBudget

owned = st.dictionaries(
    st.text(min_size=1, max_size=5), st.lists(st.integers(0, 2**31 - 1), min_size=1, unique=True).map(sorted)
)


@given(st.integers(0, 2**31 - 1), st.none() | owned)
def test_decode_reverses_encode(size: int, partitions: dict[str, list[int]] | None) -> None:
    assert budget.decode(budget.encode(MemberBudget(size, partitions))) == (size, partitions, b"")


def test_bytes_of_a_budget() -> None:
    assert budget.encode(MemberBudget(1000)) == b"\0KAB\x01\0\0\x03\xe8\0\0\0\0\0"
    assert budget.encode(MemberBudget(None, rates=b"xy")) == b"\0KAB\x01\xff\xff\xff\xff\0\0\0\0\2xy"
    packed = compact_ownership.pack({"t": [1]})
    assert budget.encode(MemberBudget(1000, {"t": [1]})) == b"\0KAB\x01\0\0\x03\xe8\1" + packed + bytes(4)


@pytest.mark.parametrize("user_data", [b"", CLASSIC_ONLY, b"\0KAB\x02\0", b"\0\1\0\2" + bytes(30)])
def test_other_user_data_has_no_budget(user_data: bytes) -> None:
    """An empty one, the placeholder, another version, and that of ``stateful``."""
    assert budget.decode(user_data) is None


def test_bytes_of_a_later_release_are_ignored() -> None:
    assert budget.decode(budget.encode(MemberBudget(7, {"t": [1]})) + b"more") == (7, {"t": [1]}, b"")


@pytest.mark.parametrize("user_data", [b"\0KAB\x01", b"\0KAB\x01\0\0\0\1\1", b"\0KAB\x01\0\0\0\1\1\0\0\0\1x"])
def test_invalid_bytes_are_refused(user_data: bytes) -> None:
    with pytest.raises(CodecError, match="budget: "):
        budget.decode(user_data)


@given(owned)
def test_unfold_restores_the_plain_form(partitions: dict[str, list[int]]) -> None:
    folded = ConsumerProtocolAssignment(0, [], budget.encode(MemberBudget(7, partitions, b"xy"))).encode()
    assignment = ConsumerProtocolAssignment.decode(budget.unfold(folded))
    plain = {(topic, p) for topic, numbers in partitions.items() for p in numbers}
    assert set(assignment.partitions()) == plain
    assert budget.decode(assignment.user_data) == (7, None, b"xy")


@pytest.mark.parametrize(
    "user_data",
    [
        None,
        b"",
        b"\0",
        budget.encode(MemberBudget(7)),
        b"mark: " + budget.encode(MemberBudget(7, {"t": [1]})),
    ],
)
def test_unfold_leaves_other_assignments_as_they_are(user_data: bytes | None) -> None:
    plain = ConsumerProtocolAssignment(0, [("t", [1, 2])], user_data).encode()
    assert budget.unfold(plain) == plain
    assert budget.unfold(b"") == b""
