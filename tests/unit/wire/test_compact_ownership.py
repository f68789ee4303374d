"""The compact form of an ownership."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.wire import compact_ownership
from kafka_assignors.wire.primitives import Reader, int32, string

owned = st.dictionaries(st.text(min_size=1, max_size=5), st.lists(st.integers(0, 2**31 - 1), max_size=30))


def read(data: bytes) -> Mapping[str, Sequence[int]]:
    reader = Reader(data)
    result = compact_ownership.read(reader)
    reader.end()
    return result


def compressed(raw: bytes) -> bytes:
    packed = zlib.compress(raw)
    return int32(len(packed)) + packed


@given(owned)
def test_read_reverses_pack(topics: dict[str, list[int]]) -> None:
    """Partitions ascend, without duplicates and without empty topics."""
    expected = {topic: sorted({*numbers}) for topic, numbers in topics.items() if numbers}
    assert read(compact_ownership.pack(topics)) == expected


def test_bytes_of_an_ownership() -> None:
    """Partitions 0, 1, 4 and 9 are gaps of 0, 0, 2 and 4; k is 0, so a gap is as many zeros and a one."""
    data = compact_ownership.pack({"t": [9, 0, 4, 1]})
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    raw = int32(1) + string("t") + int32(4) + b"\0" + int32(2) + bytes([0b11001000, 0b01000000])
    assert zlib.decompress(data[4:]) == raw


def test_bytes_of_remainders() -> None:
    """Gaps of 6 and 5 by 4: quotients of 1, remainders of 2 and 1 in two bits each."""
    raw = zlib.decompress(compact_ownership.pack({"t": [6, 12]})[4:])
    assert raw == int32(1) + string("t") + int32(2) + b"\2" + int32(1) + bytes([0b01010000, 0b10010000])


@pytest.mark.parametrize(
    ("numbers", "most"),
    [
        (random.Random(7).sample(range(200_000), 2_000), 2_100),
        (random.Random(7).sample(range(200_000), 1_000), 1_200),
        (range(5_000, 10_000), 59),
        (range(7, 200_000, 200), 59),
    ],
    ids=["a hundredth", "half a hundredth", "a range", "every 200th"],
)
def test_partition_takes_about_a_byte_and_a_row_next_to_nothing(numbers: Sequence[int], most: int) -> None:
    assert len(compact_ownership.pack({"orders": numbers})) <= most


def test_arrays_are_packed_as_lists_are() -> None:
    assert compact_ownership.pack({"t": np.arange(5)}) == compact_ownership.pack({"t": range(5)})  # type: ignore[dict-item]


TOPIC = int32(1) + string("t")


def full_range(count: int) -> bytes:
    """The first partitions of a topic; ``count`` is a multiple of 8."""
    return int32(count) + b"\0" + int32(count // 8) + b"\xff" * (count // 8)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\0", int32(-1), int32(5) + b"12345", compressed(b"")[:-1]),
        compressed(int32(1)),
        compressed(int32(2**31 - 1)),
        compressed(TOPIC + int32(0) + b"\0" + int32(0)),  # an empty topic
        compressed(TOPIC + int32(-1) + b"\0" + int32(0)),
        compressed(TOPIC + int32(2) + b"\0" + int32(1) + b"\x80"),  # fewer ones than partitions
        compressed(TOPIC + int32(1) + b"\0" + int32(1) + b"\xc0"),
        compressed(TOPIC + int32(2**31 - 1) + b"\0" + int32(1) + b"\xff"),  # would need 16 GB
        compressed(TOPIC + int32(1) + b"\x20" + int32(1) + b"\x80" + b"\xff" * 4),  # 32 bits
        compressed(TOPIC + int32(1) + b"\x1f" + int32(1) + b"\x40" + b"\xff" * 4),  # over 2^31 - 1
        compressed(TOPIC + int32(1) + b"\x08" + int32(1) + b"\x80"),  # no remainder
        compressed(int32(2) + (string("t") + int32(1) + b"\0" + int32(1) + b"\x80") * 2),  # twice
        compressed(TOPIC + int32(1) + b"\0" + int32(1) + b"\x80" + b"\0"),  # left over
        compressed(b"\0" * (5 * 1024 * 1024)),  # too large
        compressed(TOPIC + full_range(2**20 + 8)),  # too many
        compressed(int32(2) + string("t") + full_range(2**20) + string("u") + full_range(8)),
    ],
)
def test_invalid_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(CodecError):
        read(data)


def test_limit_of_partitions_holds_over_all_topics() -> None:
    halves = string("t") + full_range(2**19) + string("u") + full_range(2**19)
    assert sum(map(len, read(compressed(int32(2) + halves)).values())) == 2**20
    with pytest.raises(CodecError, match=r"8 partitions \(allowed: 0\)"):
        read(compressed(int32(3) + halves + string("v") + full_range(8)))


def test_each_topic_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member may send 200,000 topics, and the leader's I/O thread reads them."""
    counted = []

    class Numbers(list[int]):
        def __len__(self) -> int:
            counted.append(self)
            return super().__len__()

    original = compact_ownership._read_numbers
    monkeypatch.setattr(compact_ownership, "_read_numbers", lambda *args: Numbers(original(*args)))
    assert len(read(compact_ownership.pack({f"t{number}": [1] for number in range(50)}))) == 50
    assert len(counted) <= 50
