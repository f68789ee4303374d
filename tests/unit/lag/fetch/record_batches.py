"""Batches of records as a broker stores them, and the markers of transactions."""

from __future__ import annotations

import struct

from kafka.record.memory_records import MemoryRecordsBuilder

ATTRIBUTES = 21  # where a batch has them


def batch(
    *times: int, at: int = 0, codec: int = 0, size: int = 10, magic: int = 2, producer: int = -1
) -> bytes:
    """Records of these timestamps from offset ``at``; with a producer, in a transaction."""
    builder = MemoryRecordsBuilder(
        magic,
        codec,
        10_000_000,
        offset=0,
        transactional=producer >= 0,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
    )
    for timestamp in times:
        builder.append(timestamp=timestamp, key=None, value=b"x" * size)
    builder.close()
    data = bytearray(builder.buffer())
    struct.pack_into(">q", data, 0, at)
    return bytes(data)


def marker(at: int, producer: int, *, commit: bool) -> bytes:
    """The end of a transaction."""
    builder = MemoryRecordsBuilder(
        2, 0, 1000, transactional=True, producer_id=producer, producer_epoch=0, base_sequence=0
    )
    builder.append(timestamp=1, key=struct.pack(">hh", 0, commit), value=b"\0" * 6)
    builder.close()
    data = bytearray(builder.buffer())
    struct.pack_into(">q", data, 0, at)
    data[ATTRIBUTES + 1] |= 0x20
    return bytes(data)
