"""Our own sections for tasks: numbers of partitions, by subtopology, and what is known of each.

A task is (id of its subtopology, number of its partition).  A table of the subtopologies comes first: uint16
how many, then their ids.  A section has three columns: how many tasks each subtopology of the table has, and,
one subtopology after the other, the steps from partition to partition, in each from 0 on; of lags (records)
one for each step.  A column is uint8 bytes of a number, and the numbers, as narrow as its largest allows; 0
bytes in the first column: no tasks at all, and the section ends.  So one of a thousand tasks takes a byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from operator import sub

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import Reader, string

__all__ = [
    "LONGEST_ID",
    "MOST_LAG",
    "MOST_TASKS",
    "Task",
    "pack_lags",
    "pack_subtopologies",
    "pack_tasks",
    "read_lags",
    "read_subtopologies",
    "read_tasks",
    "text",
]

Task = tuple[str, int]
"""Id of its subtopology, number of its partition."""

MOST_TASKS = 100_000
"""In one section; a task is a byte on the wire and a hundred in memory, so bytes alone are no bound."""

LONGEST_ID = 249
"""Bytes of a subtopology's id: as of a topic's name."""

_MOST_SUBTOPOLOGIES = 2**16 - 1
_MOST_PARTITION = 2**31 - 1
MOST_LAG = 2**63 - 1
"""And of a copy of which nobody knows how much it lacks."""
_CODES = {1: "B", 2: "H", 4: "I", 8: "q"}
_NOTHING = b"\0"
_UINT16 = struct.Struct(">H")


def text(value: str, most: int) -> bytes:
    """A string of at most ``most`` bytes.

    Raises:
        CodecError: it is longer, or cannot be sent.
    """
    try:
        packed = string(value) if len(value) <= most else b""
    except UnicodeEncodeError:  # half a surrogate pair: the system's way to say that bytes are no text
        packed = b""
    if not 0 < len(packed) <= most + 2:
        raise CodecError(f"no text, or of more than {most} bytes: {value[:50]!r}")
    return packed


def pack_subtopologies(*sections: Iterable[Task]) -> tuple[bytes, list[str]]:
    """Write the table of the subtopologies of all these tasks; it comes with their ids in its order.

    Raises:
        CodecError: too many, or an id that is empty or too long.
    """
    ids = sorted({task[0] for section in sections for task in section})
    if len(ids) > _MOST_SUBTOPOLOGIES:
        raise CodecError(f"{len(ids)} subtopologies, more than {_MOST_SUBTOPOLOGIES}")
    if ids and not ids[0]:
        raise CodecError("a subtopology without an id")
    return b"".join([_UINT16.pack(len(ids)), *(text(name, LONGEST_ID) for name in ids)]), ids


def read_subtopologies(reader: Reader) -> list[str]:
    """Their ids, in the table's order.

    Raises:
        CodecError: one that is empty, too long, or there twice; or too short.
    """
    (count,) = reader.array(1, "H")
    ids = [reader.string() for _ in range(count)]
    if len(set(ids)) != count:
        raise CodecError("a subtopology that is there twice")
    if not all(ids) or any(len(name.encode()) > LONGEST_ID for name in ids):
        raise CodecError(f"an id of a subtopology that is empty, or has more than {LONGEST_ID} bytes")
    return ids


def pack_tasks(tasks: Iterable[Task], ids: Sequence[str]) -> bytes:
    """Write a section of tasks; ``ids`` are those of the table.

    Raises:
        CodecError: more than ``MOST_TASKS``, or a partition that there cannot be.
    """
    return _section(_by_subtopology(tasks, ids))


def read_tasks(reader: Reader, ids: Sequence[str]) -> tuple[Task, ...]:
    """The tasks of the next section, in the table's order, then by partition; none is there twice.

    Raises:
        CodecError: more than ``MOST_TASKS``, numbers of a width there is not, a partition twice or beyond
            what there can be; or too short.
    """
    if not (size := reader.uint8()):
        return ()
    counts = _column(reader, size, len(ids))
    if (total := sum(counts)) > MOST_TASKS:
        raise CodecError(f"more than {MOST_TASKS} tasks")
    steps = _column(reader, reader.uint8(), total)
    tasks: list[Task] = []
    at = 0
    for name, count in zip(ids, counts, strict=True):
        if not count:
            continue
        block = steps[at : at + count]
        at += count
        if 0 in block[1:]:
            raise CodecError("a task that is there twice")
        tasks += zip(repeat(name), accumulate(block))
        if tasks[-1][1] > _MOST_PARTITION:
            raise CodecError(f"partition {tasks[-1][1]}")
    return tuple(tasks)


def pack_lags(lags: Mapping[Task, int], ids: Sequence[str]) -> bytes:
    """Write a section of lags (records).

    Raises:
        CodecError: more than ``MOST_TASKS``, a negative lag, or a partition that there cannot be.
    """
    if not lags:
        return _NOTHING
    numbers = _by_subtopology(lags, ids)
    values = [lags[name, partition] for name, partitions in numbers.items() for partition in partitions]
    if min(values) < 0:
        raise CodecError("a negative lag")
    return _section(numbers) + _packed([min(value, MOST_LAG) for value in values])


def read_lags(reader: Reader, ids: Sequence[str]) -> dict[Task, int]:
    """The lags (records) of the next section.

    Raises:
        CodecError: as `read_tasks`; or a negative lag.
    """
    if not (tasks := read_tasks(reader, ids)):
        return {}
    values = _column(reader, reader.uint8(), len(tasks), widest=8)
    if min(values) < 0:
        raise CodecError("a negative lag")
    return dict(zip(tasks, values, strict=True))


def _by_subtopology(tasks: Iterable[Task], ids: Sequence[str]) -> dict[str, list[int]]:
    """Partitions of each subtopology of the table, ascending."""
    found: dict[str, set[int]] = {name: set() for name in ids}
    for name, partition in tasks:
        found[name].add(partition)
    numbers = {name: sorted(partitions) for name, partitions in found.items()}
    if sum(map(len, numbers.values())) > MOST_TASKS:
        raise CodecError(f"more than {MOST_TASKS} tasks")
    if any(p and not 0 <= p[0] <= p[-1] <= _MOST_PARTITION for p in numbers.values()):
        raise CodecError("a partition that there cannot be")
    return numbers


def _section(numbers: Mapping[str, Sequence[int]]) -> bytes:
    if not any(numbers.values()):
        return _NOTHING
    steps: list[int] = []
    for partitions in numbers.values():
        steps += partitions[:1]
        steps += map(sub, partitions[1:], partitions)
    return _packed([len(partitions) for partitions in numbers.values()]) + _packed(steps)


def _packed(numbers: Sequence[int]) -> bytes:
    """A column of at least one number."""
    largest = max(numbers)
    size = next(size for size in _CODES if largest < 2 ** (8 * size))
    return struct.pack(f">B{len(numbers)}{_CODES[size]}", size, *numbers)


def _column(reader: Reader, size: int, count: int, widest: int = 4) -> Sequence[int]:
    """So many numbers of that size; those of 8 bytes may be negative."""
    if size == 1:
        return reader.raw(count)
    if (code := _CODES.get(size)) is None or size > widest:
        raise CodecError("numbers of a width there is not")
    return reader.array(count, code)
