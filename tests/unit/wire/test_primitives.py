"""Untrusted bytes."""

from __future__ import annotations

import pytest

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import MAX_BYTES, Reader, pack_ownership


def test_reading_reverses_packing() -> None:
    owned = {"orders": [0, 7], "ü": [3], "none": []}
    reader = Reader(pack_ownership(owned))
    assert reader.ownership() == owned
    assert reader.left == 0


def test_entries_of_the_same_topic_are_joined() -> None:
    """The protocol does not forbid them."""
    once = pack_ownership({"t": (1,)})[4:]
    assert Reader(b"\x00\x00\x00\x02" + once + once).ownership() == {"t": [1, 1]}


@pytest.mark.parametrize(
    ("data", "read", "message"),
    [
        (b"\x00", "int16", "needs 2 bytes"),
        (b"\x00\x05abc", "string", "needs 5 bytes"),
        (b"\xff\xff", "string", "needs -1 bytes"),
        (b"\x00\x01\xff", "string", "not UTF-8"),
        (b"\xff\xff\xff\xff", "ownership", "array of -1"),
        (b"\x7f\xff\xff\xff", "ownership", "does not fit"),
    ],
)
def test_invalid_bytes_are_refused(data: bytes, read: str, message: str) -> None:
    """Short input, negative lengths, and lengths beyond the input, without an allocation."""
    with pytest.raises(CodecError, match=message):
        getattr(Reader(data), read)()


def test_bytes_left_over_and_too_many_bytes_are_refused() -> None:
    with pytest.raises(CodecError, match="1 bytes left over"):
        Reader(b"\x00").end()
    with pytest.raises(CodecError, match="more than"):
        Reader(bytes(MAX_BYTES + 1))
