"""The formats of user data: round trips, and invalid bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.wire import (
    compact_ownership,
    cooperative_user_data,
    failover_user_data,
    history,
    lag_user_data,
    sticky_user_data,
)
from kafka_assignors.wire.primitives import Reader, int32, sized, string
from kafka_assignors.wire.stateful import assignment, subscription

int32s = st.integers(-(2**31), 2**31 - 1)
ownerships = st.dictionaries(st.text(max_size=20), st.lists(int32s, max_size=5).map(sorted), max_size=4)
Encode = Callable[[dict[str, list[int]], int], bytes]
Decode = Callable[[bytes], tuple[Mapping[str, object], int]]


def encode_cooperative(owned: dict[str, list[int]], generation: int) -> bytes:
    return cooperative_user_data.encode(generation, owned)


every_format = pytest.mark.parametrize(
    ("encode", "decode"),
    [
        (sticky_user_data.encode, sticky_user_data.decode),
        (encode_cooperative, cooperative_user_data.decode),
        (history.encode, history.decode),
    ],
    ids=["sticky", "cooperative", "history"],
)


@every_format
@given(owned=ownerships, generation=int32s, cut=st.integers(1, 30))
def test_decode_reverses_encode(
    encode: Encode, decode: Decode, owned: dict[str, list[int]], generation: int, cut: int
) -> None:
    """Truncated bytes are never read as the original."""
    data = encode(owned, generation)
    assert decode(data) == (owned, generation)
    if owned:
        with suppress(CodecError):
            assert decode(data[:-cut]) != (owned, generation)


@given(owned=ownerships, generation=int32s)
def test_java_reads_the_first_four_bytes_of_cooperative(owned: dict[str, list[int]], generation: int) -> None:
    """The partitions that an eager member revoked follow."""
    assert cooperative_user_data.decode(encode_cooperative(owned, generation)[:4]) == ({}, generation)


def test_empty_cooperative_user_data_has_no_history() -> None:
    """kafka-python's own members send empty user data."""
    assert cooperative_user_data.decode(b"") == ({}, NO_GENERATION)


@pytest.mark.parametrize("owned", [{}, {"orders": [0]}, {"orders": [0, 7], "pay": [3]}])
def test_sticky_bytes_under_cooperative_sticky_have_only_a_generation(owned: dict[str, list[int]]) -> None:
    """As librdkafka and franz-go send them; their subscriptions list the partitions that they own."""
    assert cooperative_user_data.decode(sticky_user_data.encode(owned, 5)) == ({}, 5)


def read_compressed(junk: bytes) -> None:
    """Read an ownership whose bytes are junk after decompression."""
    compact_ownership.read(Reader(sized(zlib.compress(junk))))


@pytest.mark.parametrize(
    "decode",
    [
        *(sticky_user_data.decode, cooperative_user_data.decode, history.decode),
        lambda junk: failover_user_data.decode_history(bytes(4) + junk),
        *(lag_user_data.decode, lambda junk: lag_user_data.decode(b"\0\1" + junk)),  # both forms
        *(lambda junk: compact_ownership.read(Reader(junk)), read_compressed),
        lambda junk: read_compressed(int32(1) + string("t") + junk),
        *(subscription.decode, assignment.decode),
    ],
)
@given(junk=st.binary(max_size=200))
def test_junk_is_read_or_refused(decode: Callable[[bytes], object], junk: bytes) -> None:
    """Junk raises no exception other than ``CodecError``."""
    with suppress(CodecError):
        decode(junk)


def test_another_version_is_refused() -> None:
    with pytest.raises(CodecError, match="version 7"):
        history.decode(b"\x00\x07" + history.encode({}, 1)[2:])
    with pytest.raises(CodecError, match="version 7"):
        cooperative_user_data.decode(b"\x00\x00\x00\x05\x00\x07" + bytes(8))
    with pytest.raises(CodecError):
        sticky_user_data.decode(b"\x00\x09" + sticky_user_data.encode({"t": [1]}, 1))


# --- failover: the priority counts with any bytes after it --------------------------------------------------


@given(priority=int32s, owned=ownerships, generation=int32s)
def test_decode_reverses_encode_of_failover(
    priority: int, owned: dict[str, list[int]], generation: int
) -> None:
    """A member that owned nothing sends no history, so its bytes are Java's."""
    data = failover_user_data.encode(priority, owned, generation)
    assert failover_user_data.decode_priority(data) == priority
    read = failover_user_data.decode_history(data)
    assert read == ((owned, generation) if owned else ({}, NO_GENERATION))
    assert data[:4] == failover_user_data.encode(priority) == priority.to_bytes(4, "big", signed=True)


@given(owned=ownerships.filter(bool), cut=st.integers(1, 30))
def test_a_truncated_failover_history_is_never_read(owned: dict[str, list[int]], cut: int) -> None:
    data = failover_user_data.encode(7, owned, 5)
    shorter = data[: max(len(data) - cut, 5)]
    assert failover_user_data.decode_priority(shorter) == 7
    with pytest.raises(CodecError):
        failover_user_data.decode_history(shorter)


def test_too_large_user_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_assignors.wire.primitives.MAX_BYTES", 100)
    for decode in (failover_user_data.decode_priority, failover_user_data.decode_history):
        with pytest.raises(CodecError, match="more than 100"):
            decode(bytes(200))
