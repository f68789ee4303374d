"""Section of assignment user data: the endpoint of each active task.  Every member gets all of it.

The section is an int32 number of bytes (0: no owners), and that many bytes compressed with zlib:

- uint16 number of endpoints, then the endpoints;
- uint16 number of subtopologies, then of each its id and its int32 number of partitions;
- for each partition of each subtopology, the number of its owner's endpoint, from 1; 0: no owner.  The number
  is a uint8, or a uint16 if there are more than 255 endpoints.

The broker keeps all members' assignments in one record, limited to a megabyte in most clusters.  With 10,000
tasks on 100 endpoints the section takes less than 1 KB for a group's first plan.  If owners are random, it
takes 9 KB, which is too much for 100 members.  `owners_if_small_enough` omits a section that is too large.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import MAX_INFLATED, Reader, inflated, int32, sized
from kafka_assignors.wire.stateful.task_section import LONGEST_ID, MOST_TASKS, Task, pack_text

LONGEST_ENDPOINT = 255
"""Maximum bytes of an endpoint."""

MOST_BYTES = 400_000
"""Limit of this section for all members together; the members' tasks need the rest of the group's record."""

NO_OWNERS = int32(0)
"""The section without any owner."""

_UINT16 = struct.Struct(">H")
_MOST = 2**16 - 1  # endpoints, and subtopologies


def owners_if_small_enough(section: bytes, members: int) -> bytes:
    """Return the section, or ``NO_OWNERS`` if it would make the group's record too large.

    Without owners, members cannot look up a task's endpoint.  A group whose record is too large cannot
    rebalance at all.
    """
    return section if len(section) * members <= MOST_BYTES else NO_OWNERS


def pack_owners(owners: Mapping[str, Iterable[Task]]) -> bytes:
    """Encode the section, once for all members.

    Args:
        owners: endpoint -> its active tasks.
    """
    endpoints = sorted(owners)
    if not endpoints:
        return NO_OWNERS
    if len(endpoints) > _MOST or not endpoints[0]:
        raise CodecError("owners: too many endpoints, or an empty one")
    endpoint_of: dict[str, dict[int, int]] = {}
    for number, endpoint in enumerate(endpoints, 1):
        for name, partition in owners[endpoint]:
            endpoint_of.setdefault(name, {})[partition] = number
    sizes = {name: max(endpoint_of[name]) + 1 for name in sorted(endpoint_of)}
    if len(sizes) > _MOST:
        raise CodecError(f"owners: {len(sizes)} subtopologies, more than {_MOST}")
    if sum(sizes.values()) > MOST_TASKS or any(min(partitions) < 0 for partitions in endpoint_of.values()):
        raise CodecError(f"owners: a negative partition, or more than {MOST_TASKS} partitions")
    parts = [
        _UINT16.pack(len(endpoints)),
        *(pack_text(endpoint, LONGEST_ENDPOINT) for endpoint in endpoints),
        _UINT16.pack(len(sizes)),
        *(pack_text(name, LONGEST_ID) + int32(size) for name, size in sizes.items()),
    ]
    for name, size in sizes.items():
        column = np.zeros(size, _number_type(len(endpoints)))
        column[list(endpoint_of[name])] = list(endpoint_of[name].values())
        parts.append(column.tobytes())
    if len(raw := b"".join(parts)) > MAX_INFLATED:
        raise CodecError(f"owners: {len(raw)} bytes, more than {MAX_INFLATED}")
    return sized(zlib.compress(raw))


def read_owners(reader: Reader) -> dict[str, tuple[Task, ...]]:
    """Read the section: endpoint -> its active tasks, by subtopology and partition."""
    if not (packed := reader.sized()):
        return {}
    inside = Reader(inflated(packed, "owners"))
    (count,) = inside.array(1, "H")
    endpoints = [inside.string() for _ in range(count)]
    if not count or len(set(endpoints)) != count or not all(endpoints):
        raise CodecError("owners: no endpoints, or an empty or duplicate one")
    sizes: dict[str, int] = {}
    left = MOST_TASKS
    for _ in range(inside.array(1, "H")[0]):
        name, size = inside.string(), inside.int32()
        if name in sizes or not 0 < size <= left:
            raise CodecError(f"owners: {size} partitions, expected 1 to {left}; or a duplicate subtopology")
        sizes[name] = size
        left -= size
    owners: dict[str, list[Task]] = {endpoint: [] for endpoint in endpoints}
    lists: list[list[Task]] = [[], *owners.values()]
    dtype = _number_type(count)
    for name, size in sizes.items():
        numbers = np.frombuffer(inside.raw(size * dtype.itemsize), dtype)
        if (largest := int(numbers.max())) > count:
            raise CodecError(f"owners: endpoint number {largest}, but there are {count} endpoints")
        for partition, number in enumerate(numbers.tolist()):
            lists[number].append((name, partition))
    inside.end()
    return {endpoint: tuple(tasks) for endpoint, tasks in owners.items()}


def _number_type(endpoints: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype("u1" if endpoints < 256 else ">u2")
