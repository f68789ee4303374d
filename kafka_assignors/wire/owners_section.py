"""Our own section for which task is active where: small, because every member is sent the whole of it.

int32 how many bytes follow (0: none), then, compressed (zlib): uint16 how many endpoints, the endpoints;
uint16 how many subtopologies, and of each its id and int32 how many partitions; for each partition of each
subtopology the number of its owner's endpoint, counted from 1, 0 for none, in uint8, or in uint16 if there
are more than 255 endpoints.

The broker keeps what all members are sent in one message, of a megabyte in most clusters.  10,000 tasks on
100 endpoints take 9 KB a member in no order at all (8.3 KB is what cannot be helped), and less than 1 KB as
a first plan deals them; see `affordable`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import Reader, int32
from kafka_assignors.wire.task_section import LONGEST_ID, MOST_TASKS, Task, text

__all__ = ["LONGEST_ENDPOINT", "MOST_BYTES", "NO_OWNERS", "affordable", "pack_owners", "read_owners"]

LONGEST_ENDPOINT = 255
"""Bytes."""

MOST_BYTES = 400_000
"""Of all members' owners together; the rest of the message is for what they cannot do without."""

NO_OWNERS = int32(0)
"""The section, when no member has an endpoint."""

_UINT16 = struct.Struct(">H")
_MOST = 2**16 - 1
_MOST_INFLATED = 4 * 1024 * 1024  # bytes: endpoints and ids of a large group, and all its tasks


def affordable(section: bytes, members: int) -> bytes:
    """Take the section for so many members, or none of it if the group's message would grow too large.

    Without it nobody can be asked where a task is; with too much of it the group could not rebalance at all.
    """
    return section if len(section) * members <= MOST_BYTES else NO_OWNERS


def pack_owners(owners: Mapping[str, Iterable[Task]]) -> bytes:
    """Write the section: once, for all members.

    Args:
        owners: endpoint -> the tasks that are active there.

    Raises:
        CodecError: an endpoint that is empty or too long, too many of them, or partitions that there cannot
            be or that are more than ``MOST_TASKS``.
    """
    endpoints = sorted(owners)
    if not endpoints:
        return NO_OWNERS
    if len(endpoints) > _MOST or not endpoints[0]:
        raise CodecError("too many endpoints, or one that is empty")
    found: dict[str, dict[int, int]] = {}
    for number, endpoint in enumerate(endpoints, 1):
        for name, partition in owners[endpoint]:
            found.setdefault(name, {})[partition] = number
    sizes = {name: max(found[name]) + 1 for name in sorted(found)}
    if sum(sizes.values()) > MOST_TASKS or any(min(numbers) < 0 for numbers in found.values()):
        raise CodecError(f"owners: a negative partition, or more than {MOST_TASKS} partitions")
    parts = [
        _UINT16.pack(len(endpoints)),
        *(text(endpoint, LONGEST_ENDPOINT) for endpoint in endpoints),
        _UINT16.pack(len(sizes)),
        *(text(name, LONGEST_ID) + int32(size) for name, size in sizes.items()),
    ]
    for name, size in sizes.items():
        column = np.zeros(size, _kind(len(endpoints)))
        column[list(found[name])] = list(found[name].values())
        parts.append(column.tobytes())
    if len(raw := b"".join(parts)) > _MOST_INFLATED:
        raise CodecError(f"owners: {len(raw)} bytes, more than {_MOST_INFLATED}")
    packed = zlib.compress(raw)
    return int32(len(packed)) + packed


def read_owners(reader: Reader) -> dict[str, tuple[Task, ...]]:
    """Endpoint -> the tasks that are active there, by subtopology and partition.

    Raises:
        CodecError: something that `pack_owners` does not write; or too short.
    """
    if not (length := reader.int32()):
        return {}
    inside = Reader(_inflated(reader.raw(length)))
    (count,) = inside.array(1, "H")
    endpoints = [inside.string() for _ in range(count)]
    if not count or len(set(endpoints)) != count or not all(endpoints):
        raise CodecError("owners: an endpoint that is empty, or there twice; or none")
    sizes: dict[str, int] = {}
    left = MOST_TASKS
    for _ in range(inside.array(1, "H")[0]):
        name, size = inside.string(), inside.int32()
        if name in sizes or not 0 < size <= left:
            raise CodecError(f"owners: {size} partitions, expected 1 to {left}; or a subtopology twice")
        sizes[name] = size
        left -= size
    owners: dict[str, list[Task]] = {endpoint: [] for endpoint in endpoints}
    lists: list[list[Task]] = [[], *owners.values()]
    kind = _kind(count)
    for name, size in sizes.items():
        numbers = np.frombuffer(inside.raw(size * kind.itemsize), kind)
        if (largest := int(numbers.max())) > count:
            raise CodecError(f"owners: endpoint {largest} of {count}")
        for partition, number in enumerate(numbers.tolist()):
            lists[number].append((name, partition))
    inside.end()
    return {endpoint: tuple(tasks) for endpoint, tasks in owners.items()}


def _kind(endpoints: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype("u1" if endpoints < 256 else ">u2")


def _inflated(packed: bytes) -> bytes:
    """What was compressed; never more is made of it than there can be."""
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(packed, _MOST_INFLATED)
    except zlib.error as error:
        raise CodecError(f"owners: {error}") from None
    if not inflater.eof or inflater.unused_data:
        raise CodecError("owners: cut off, too large, or bytes left over")
    return raw
