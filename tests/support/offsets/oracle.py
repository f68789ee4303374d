"""Decodes records of ``__consumer_offsets`` one by one, in plain Python.  Spark's decoder must agree.

Written from Kafka's schemas, with nothing of the product in it; slow, and strict about every byte.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

OTHER = {3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23}
LATEST_MS = 253_402_300_799_999


class CorruptError(Exception):
    """The record does not match its schema."""


@dataclass(frozen=True)
class Commit:
    """The content of a record; ``commit_ms`` is None and ``offset`` -1 for a tombstone."""

    group: str
    topic: str
    partition: int
    offset: int
    commit_ms: int | None


class Bytes:
    """The unread bytes."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.left):
            raise CorruptError
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def number(self, kind: str) -> int:
        value: int = struct.unpack(f">{kind}", self.take(struct.calcsize(f">{kind}")))[0]
        return value

    def varint(self) -> int:
        value = 0
        for i in range(3):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                return value
        raise CorruptError

    def text(self, length: int) -> str:
        if length > 0x7FFF:
            raise CorruptError
        try:
            return self.take(length).decode("utf-8", "strict")
        except UnicodeDecodeError as error:
            raise CorruptError from error

    def tags(self) -> None:
        for _ in range(self.varint()):
            tag, length = self.varint(), self.varint()
            if tag == 0 and length != 16:
                raise CorruptError
            self.take(length)

    def end(self) -> None:
        if self.left:
            raise CorruptError


def decode(key: bytes | None, value: bytes | None) -> Commit | str:
    """Return a commit, or the kind of another record: ``group`` or ``other``.

    Raises:
        CorruptError: the record does not match its schema.
    """
    if key is None:
        raise CorruptError
    reader = Bytes(key)
    kind = reader.number("h")
    if kind == 2:
        return "group"
    if kind in OTHER:
        return "other"
    if kind not in (0, 1):
        raise CorruptError
    group, topic = (reader.text(reader.number("h")) for _ in range(2))
    partition = reader.number("i")
    reader.end()
    if not group or not topic or partition < 0:
        raise CorruptError
    if value is None:
        return Commit(group, topic, partition, -1, None)
    return Commit(group, topic, partition, *_value(Bytes(value)))


def _value(reader: Bytes) -> tuple[int, int]:
    version = reader.number("h")
    if not 0 <= version <= 4:
        raise CorruptError
    offset = reader.number("q")
    if version >= 3:
        reader.number("i")
    reader.text(reader.varint() - 1 if version >= 4 else reader.number("h"))
    commit_ms = reader.number("q")
    if version == 1:
        reader.number("q")
    if version >= 4:
        reader.tags()
    reader.end()
    if offset < -1 or not 0 <= commit_ms <= LATEST_MS:
        raise CorruptError
    return offset, commit_ms
