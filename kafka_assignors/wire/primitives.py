"""Reads Kafka's primitive types from untrusted bytes, and writes them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from kafka_assignors.errors import CodecError

_INT16 = struct.Struct(">h")
_UINT16 = struct.Struct(">H")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_LONGEST = 2**15 - 1  # bytes of a string

MAX_BYTES = 64 * 1024 * 1024
"""Limit of the bytes of one member's user data or assignment.

Kafka's default limit of a group's whole
record is 1 MiB."""

MAX_INFLATED = 4 * 1024 * 1024
"""Limit of a part of user data after decompression; enough for the names and numbers of a large group."""

WIDTHS = {1: "B", 2: "H", 4: "I", 8: "q"}
"""Bytes of a number of variable width -> its format character in the struct module."""


class Reader:
    """A cursor over bytes.  Every method raises ``CodecError`` instead of reading past the end."""

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            raise CodecError(f"{len(data)} bytes, more than {MAX_BYTES}")
        self._data = data
        self._offset = 0

    @property
    def left(self) -> int:
        """Number of bytes not read yet."""
        return len(self._data) - self._offset

    def raw(self, size: int) -> bytes:
        """Read ``size`` bytes."""
        if size < 0 or size > self.left:
            raise CodecError(f"needs {size} bytes at {self._offset}, has {self.left}")
        self._offset += size
        return self._data[self._offset - size : self._offset]

    def int16(self) -> int:
        """Read a signed 16-bit number."""
        return int(_INT16.unpack(self.raw(2))[0])

    def version(self, known: int) -> None:
        """Read a 16-bit version, which must be ``known``."""
        if (version := self.int16()) != known:
            raise CodecError(f"version {version}, expected {known}")

    def int32(self) -> int:
        """Read a signed 32-bit number."""
        return int(_INT32.unpack(self.raw(4))[0])

    def int64(self) -> int:
        """Read a signed 64-bit number."""
        return int(_INT64.unpack(self.raw(8))[0])

    def uint8(self) -> int:
        """Read an unsigned 8-bit number."""
        return self.raw(1)[0]

    def array(self, count: int, code: str) -> tuple[int, ...]:
        """Read ``count`` numbers; ``code`` is their format character in the struct module."""
        return struct.unpack(f">{count}{code}", self.raw(count * struct.calcsize(f">{code}")))

    def string(self) -> str:
        """Read a string with a 16-bit length."""
        raw = self.raw(self.int16())
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise CodecError(f"a string at {self._offset - len(raw)} is not UTF-8") from None

    def count(self, at_least: int) -> int:
        """Read the length of an array whose elements take at least ``at_least`` bytes each."""
        count = self.int32()
        if count < 0 or count * at_least > self.left:
            raise CodecError(f"an array of {count} does not fit into {self.left} bytes")
        return count

    def ownership(self) -> dict[str, list[int]]:
        """Read an array of (topic, array of partitions).  A topic that is listed twice gets both arrays."""
        entries = self.count(6)
        with suppress(struct.error, UnicodeDecodeError):
            owned, end = _quickly(self._data, self._offset, entries)
            if len(owned) == entries:
                self._offset = end
                return owned
        return self._carefully(entries)

    def _carefully(self, entries: int) -> dict[str, list[int]]:
        """As ``_quickly``, with all checks, for bytes that ``_quickly`` cannot read."""
        owned: dict[str, list[int]] = {}
        for _ in range(entries):
            topic = self.string()
            count = self.count(4)
            owned.setdefault(topic, []).extend(struct.unpack(f">{count}i", self.raw(4 * count)))
        return owned

    def sized(self) -> bytes:
        """Read an int32 number of bytes, and these bytes."""
        return self.raw(self.int32())

    def end(self) -> None:
        """Raise an error if bytes are left."""
        if self.left:
            raise CodecError(f"{self.left} bytes left over")


def _quickly(data: bytes, offset: int, entries: int) -> tuple[dict[str, list[int]], int]:
    """Read an ownership with few checks, because a leader reads a million entries before it plans.

    Returns the ownership and the offset of its end.  The ownership has fewer than ``entries`` topics if a
    topic is repeated or its name is too long.  Invalid bytes raise struct.error or UnicodeDecodeError.
    """
    size_at, count_at, number_at = _UINT16.unpack_from, _INT32.unpack_from, _INT32.unpack_from
    owned: dict[str, list[int]] = {}
    for _ in range(entries):
        start = offset + 2
        offset = start + size_at(data, offset)[0]
        if offset - start > _LONGEST:
            return {}, offset
        topic = data[start:offset].decode()
        (count,) = count_at(data, offset)
        offset += 4
        numbers = number_at(data, offset) if count == 1 else struct.unpack_from(f">{count}i", data, offset)
        owned[topic] = list(numbers)
        offset += 4 * count
    return owned, offset


@contextmanager
def named(what: str) -> Iterator[None]:
    """Begin the message of a ``CodecError`` with the name of the format."""
    try:
        yield
    except CodecError as error:
        raise CodecError(f"{what}: {error}") from None


def inflated(packed: bytes, what: str) -> bytes:
    """Decompress zlib's untrusted bytes, up to ``MAX_INFLATED``; error messages begin with ``what``."""
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(packed, MAX_INFLATED)
    except zlib.error as error:
        raise CodecError(f"{what}: {error}") from None
    if not inflater.eof or inflater.unused_data:
        raise CodecError(f"{what}: cut off, too large, or bytes left over")
    return raw


def int32(value: int) -> bytes:
    """Encode a signed 32-bit number."""
    return _INT32.pack(value)


def sized(data: bytes) -> bytes:
    """Encode an int32 number of bytes, and these bytes."""
    return _INT32.pack(len(data)) + data


def narrowest(largest: int) -> int:
    """Return the bytes of the narrowest number in ``WIDTHS`` that holds ``largest`` (below 2**63)."""
    return next(width for width in WIDTHS if largest < 2 ** (8 * width))


def string(value: str) -> bytes:
    """Encode a string with a 16-bit length."""
    raw = value.encode()
    return _INT16.pack(len(raw)) + raw


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Group the numbers of partitions by topic; topics and numbers keep their order."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return numbers


def pack_ownership(owned: Mapping[str, Sequence[int]]) -> bytes:
    """Encode an array of (topic, array of partitions), topics by name, partitions ascending."""
    parts = [_INT32.pack(len(owned))]
    for topic in sorted(owned):
        numbers = sorted(owned[topic])
        parts += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(parts)
