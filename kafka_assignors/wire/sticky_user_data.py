"""User data of the ``sticky`` strategy: what a member owned, and since which generation.

The Java client's ``StickyAssignor`` (schema v1) writes an array of (topic, partitions) and then the
generation; v0 has no generation.  kafka-python up to 3.0 writes the same behind a 2-byte version, which Java
cannot read.  We write Java's bytes and read all three.
"""

from __future__ import annotations

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION, Ownership
from kafka_assignors.wire.primitives import Reader, int32, pack_ownership

__all__ = ["decode", "encode"]

_KAFKA_PYTHON_VERSION = 1


def encode(owned: Ownership, generation: int) -> bytes:
    """Java's v1 bytes."""
    return pack_ownership(owned) + int32(generation)


def decode(data: bytes) -> tuple[Ownership, int]:
    """What was owned, and in which generation (``NO_GENERATION`` in v0).

    The forms cannot be told by a version field, as Java's has none.  They do not overlap: a 4-byte count that
    starts with kafka-python's ``0001`` would be 65,536 topics or more, which the bytes behind it cannot hold
    in any group that fits into a message.

    Raises:
        CodecError: neither form, or bytes left over.
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
