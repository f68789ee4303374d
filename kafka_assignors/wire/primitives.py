"""Reading Kafka's primitive types from bytes nobody vouches for."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from kafka_assignors.errors import CodecError

__all__ = ["Reader", "int32", "pack_ownership", "string"]

_INT16 = struct.Struct(">h")
_UINT16 = struct.Struct(">H")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_LONGEST = 2**15 - 1  # bytes of a string

MAX_BYTES = 64 * 1024 * 1024
"""More than any group's user data; Kafka's default message limit is 1 MiB."""


class Reader:
    """A cursor over bytes.  Every method raises ``CodecError`` rather than read past the end."""

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            raise CodecError(f"{len(data)} bytes, more than {MAX_BYTES}")
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self._at

    def _take(self, size: int) -> bytes:
        if size < 0 or size > self.left:
            raise CodecError(f"needs {size} bytes at {self._at}, has {self.left}")
        self._at += size
        return self._data[self._at - size : self._at]

    def int16(self) -> int:
        """A signed 16-bit number."""
        return int(_INT16.unpack(self._take(2))[0])

    def version(self, known: int) -> None:
        """A 16-bit version, which must be the one we know."""
        if (version := self.int16()) != known:
            raise CodecError(f"version {version}, know only {known}")

    def int32(self) -> int:
        """A signed 32-bit number."""
        return int(_INT32.unpack(self._take(4))[0])

    def int64(self) -> int:
        """A signed 64-bit number."""
        return int(_INT64.unpack(self._take(8))[0])

    def raw(self, size: int) -> bytes:
        """The next ``size`` bytes as they are."""
        return self._take(size)

    def uint8(self) -> int:
        """An unsigned 8-bit number."""
        return self._take(1)[0]

    def array(self, count: int, code: str) -> tuple[int, ...]:
        """``count`` numbers of one of the struct module's types."""
        return struct.unpack(f">{count}{code}", self._take(count * struct.calcsize(f">{code}")))

    def string(self) -> str:
        """A string behind its 16-bit length."""
        raw = self._take(self.int16())
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise CodecError(f"a string at {self._at - len(raw)} is not UTF-8") from None

    def count(self, at_least: int) -> int:
        """The length of an array whose elements take ``at_least`` bytes each."""
        count = self.int32()
        if count < 0 or count * at_least > self.left:
            raise CodecError(f"an array of {count} does not fit into {self.left} bytes")
        return count

    def ownership(self) -> dict[str, list[int]]:
        """An array of (topic, array of partitions); a topic that is there twice has both."""
        start = self._at
        entries = self.count(6)
        try:
            owned, at = _quickly(self._data, self._at, entries)
        except (struct.error, UnicodeDecodeError):
            owned, at = {}, -1
        if len(owned) == entries:
            self._at = at
            return owned
        self._at = start
        return self._carefully()

    def _carefully(self) -> dict[str, list[int]]:
        """As ``_quickly``, for bytes that are odd: it says what is wrong, if something is."""
        owned: dict[str, list[int]] = {}
        for _ in range(self.count(6)):
            topic = self.string()
            count = self.count(4)
            owned.setdefault(topic, []).extend(struct.unpack(f">{count}i", self._take(4 * count)))
        return owned

    def end(self) -> None:
        """Nothing may be left."""
        if self.left:
            raise CodecError(f"{self.left} bytes too many")


def _quickly(data: bytes, at: int, entries: int) -> tuple[dict[str, list[int]], int]:
    """Read an ownership, without checks that cost: a leader reads a million entries before it plans.

    Returns:
        The ownership, with fewer entries where a topic is there twice or its name cannot be one; and where it
        ends.

    Raises:
        struct.error, UnicodeDecodeError: bytes that are not what they should be, or that end too early.
    """
    size_at, count_at, one_at = _UINT16.unpack_from, _INT32.unpack_from, _INT32.unpack_from
    owned: dict[str, list[int]] = {}
    for _ in range(entries):
        start = at + 2
        at = start + size_at(data, at)[0]
        if at - start > _LONGEST:
            return {}, at
        topic = data[start:at].decode()
        (count,) = count_at(data, at)
        at += 4
        numbers = one_at(data, at) if count == 1 else struct.unpack_from(f">{count}i", data, at)
        owned[topic] = list(numbers)
        at += 4 * count
    return owned, at


def int32(value: int) -> bytes:
    """A signed 32-bit number."""
    return _INT32.pack(value)


def string(value: str) -> bytes:
    """A string behind its 16-bit length."""
    raw = value.encode()
    return _INT16.pack(len(raw)) + raw


def pack_ownership(owned: Mapping[str, Sequence[int]]) -> bytes:
    """An array of (topic, array of partitions), topics by name, partitions ascending."""
    parts = [_INT32.pack(len(owned))]
    for topic in sorted(owned):
        numbers = sorted(owned[topic])
        parts += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(parts)
