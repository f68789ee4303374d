"""Records of ``__consumer_offsets`` packed by hand, field by field as Kafka's schemas have them."""

from __future__ import annotations

import struct

NOW_MS = 1_763_800_000_123


def text(value: str) -> bytes:
    """A string: 2 bytes of length, then UTF-8."""
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def varint(value: int) -> bytes:
    """An unsigned varint: 7 bits a byte, the lowest first, the top bit marks that more bytes follow."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def commit_key(group: str, topic: str, partition: int, kind: int = 1) -> bytes:
    """Return an ``OffsetCommitKey``; the legacy kind 0 differs in its number only."""
    return struct.pack(">h", kind) + text(group) + text(topic) + struct.pack(">i", partition)


def commit_value(
    offset: int,
    *,
    version: int = 4,
    metadata: str = "",
    commit_ms: int = NOW_MS,
    epoch: int = -1,
    tags: tuple[tuple[int, bytes], ...] = (),
) -> bytes:
    """``OffsetCommitValue`` of any version; ``tags`` are for version 4."""
    data = struct.pack(">hq", version, offset)
    if version >= 3:
        data += struct.pack(">i", epoch)
    data += varint(len(metadata.encode()) + 1) + metadata.encode() if version >= 4 else text(metadata)
    data += struct.pack(">q", commit_ms)
    if version == 1:
        data += struct.pack(">q", commit_ms + 86_400_000)
    if version >= 4:
        data += varint(len(tags)) + b"".join(varint(tag) + varint(len(x)) + x for tag, x in tags)
    return data
