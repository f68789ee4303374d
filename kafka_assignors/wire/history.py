"""Our section for the partitions a member owned: version, generation, array of (topic, partitions)."""

from __future__ import annotations

import struct

from kafka_assignors.plan.model import Ownership
from kafka_assignors.wire.primitives import Reader, named, pack_ownership

_VERSION = 0
_HEAD = struct.Struct(">hi")


def encode(owned: Ownership, generation: int) -> bytes:
    """Encode version 0: int16 version, int32 generation, the partitions owned in it."""
    return _HEAD.pack(_VERSION, generation) + pack_ownership(owned)


@named("history")
def decode(data: bytes) -> tuple[Ownership, int]:
    """Decode the partitions owned, and their generation."""
    reader = Reader(data)
    owned, generation = read(reader)
    reader.end()
    return owned, generation


def read(reader: Reader) -> tuple[Ownership, int]:
    """Read the section from a longer format."""
    reader.version(_VERSION)
    generation = reader.int32()
    return reader.ownership(), generation
