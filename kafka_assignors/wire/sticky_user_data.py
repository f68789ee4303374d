"""User data of the ``sticky`` strategy: the partitions a member owned, and their generation.

The Java client's ``StickyAssignor`` (schema v1) writes an array of (topic, partitions) and then the
generation; v0 has no generation.  kafka-python 3.0 writes a 2-byte version before the same bytes, which
Java cannot read.  We write Java's bytes and read all three forms.
"""

from __future__ import annotations

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION, Ownership
from kafka_assignors.wire.primitives import Reader, int32, pack_ownership

_KAFKA_PYTHON_VERSION = 1


def encode(owned: Ownership, generation: int) -> bytes:
    """Encode Java's v1 bytes."""
    return pack_ownership(owned) + int32(generation)


def decode(data: bytes) -> tuple[Ownership, int]:
    """Decode the partitions owned, and their generation (``NO_GENERATION`` in v0).

    Java's form has no version field, but the forms do not overlap: a 4-byte count that starts with
    kafka-python's ``0001`` would be 65,536 topics or more, which do not fit into a group's record.
    """
    try:
        return _java(Reader(data))
    except CodecError as error:
        prefixed = Reader(data)
        if prefixed.left < 2 or prefixed.int16() != _KAFKA_PYTHON_VERSION:
            raise CodecError(f"sticky user data: {error}") from None
        try:
            return _java(prefixed)
        except CodecError as with_prefix:
            raise CodecError(f"sticky user data: {with_prefix}") from None


def _java(reader: Reader) -> tuple[Ownership, int]:
    owned = reader.ownership()
    generation = reader.int32() if reader.left else NO_GENERATION
    reader.end()
    return owned, generation
