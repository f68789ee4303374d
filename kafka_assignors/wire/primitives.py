"""Reading Kafka's primitive types from bytes nobody vouches for."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from kafka_assignors.errors import CodecError

__all__ = ["Reader", "int32", "pack_ownership"]

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")

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
        owned: dict[str, list[int]] = {}
        # By hand: a leader reads a million of these before it can plan.
        data, at, end = self._data, self._at + 4, len(self._data)
        for _ in range(self.count(6)):
            if at + 2 > end or (size := _INT16.unpack_from(data, at)[0]) < 0 or at + size + 6 > end:
                raise CodecError(f"needs a topic and its partitions at {at}, has {end - at} bytes")
            start, at = at + 2, at + 2 + size
            count = _INT32.unpack_from(data, at)[0]
            at += 4
            if count < 0 or at + 4 * count > end:
                raise CodecError(f"an array of {count} does not fit into {end - at} bytes")
            try:
                topic = data[start : start + size].decode()
            except UnicodeDecodeError:
                raise CodecError(f"a string at {start} is not UTF-8") from None
            numbers = [_INT32.unpack_from(data, at)[0]] if count == 1 else _numbers(data, at, count)
            at += 4 * count
            if topic in owned:
                owned[topic] += numbers
            else:
                owned[topic] = numbers
        self._at = at
        return owned

    def end(self) -> None:
        """Nothing may be left."""
        if self.left:
            raise CodecError(f"{self.left} bytes too many")


def _numbers(data: bytes, at: int, count: int) -> list[int]:
    return list(struct.unpack_from(f">{count}i", data, at))


def int32(value: int) -> bytes:
    """A signed 32-bit number."""
    return _INT32.pack(value)


def pack_ownership(owned: Mapping[str, Sequence[int]]) -> bytes:
    """An array of (topic, array of partitions), topics by name, partitions ascending."""
    parts = [_INT32.pack(len(owned))]
    for topic in sorted(owned):
        name = topic.encode()
        numbers = sorted(owned[topic])
        parts += [_INT16.pack(len(name)), name, struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(parts)
