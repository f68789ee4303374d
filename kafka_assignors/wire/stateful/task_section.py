"""Sections of tasks, and of the lags of tasks, in the user data of the strategy ``stateful``.

A task is (id of its subtopology, number of its partition).  A table of subtopologies comes first: uint16
number of ids, then the ids.  Sections refer to its order.  A section has these columns:

- the number of tasks of each subtopology in the table;
- the partitions of each subtopology, as differences from the previous partition (the first: from 0);
- in a section of lags only, the lag (records) of each task.

A column is a uint8, the width of its numbers in bytes, and then the numbers.  The width is 1, 2, 4 or 8, the
least that holds the largest number.  An empty section is the single byte 0.  With a thousand tasks in a
section, each takes about a byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from operator import sub

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import WIDTHS, Reader, narrowest, string

Task = tuple[str, int]
"""Id of the subtopology, number of the partition."""

MOST_TASKS = 100_000
"""Limit of one section.  A task takes a byte on the wire and 100 in memory; limiting bytes is not enough."""

LONGEST_ID = 249
"""Maximum bytes of a subtopology's id, as of a topic's name."""

_MOST_SUBTOPOLOGIES = 2**16 - 1
_MOST_PARTITION = 2**31 - 1
MOST_LAG = 2**63 - 1
"""Largest lag (records); also the lag of a copy whose lag is unknown."""
_NOTHING = b"\0"
_UINT16 = struct.Struct(">H")


def pack_text(value: str, most: int) -> bytes:
    """Encode a string of at most ``most`` bytes."""
    try:
        packed = string(value) if len(value) <= most else b""
    except UnicodeEncodeError:  # a lone surrogate; Python decodes an invalid byte to one (surrogateescape)
        packed = b""
    if not 0 < len(packed) <= most + 2:  # two bytes are the length
        raise CodecError(f"not valid text, or longer than {most} bytes: {value[:50]!r}")
    return packed


def pack_subtopologies(*sections: Iterable[Task]) -> tuple[bytes, list[str]]:
    """Encode the table of the subtopologies of all these tasks; return it, and the ids in its order."""
    ids = sorted({task[0] for section in sections for task in section})
    if len(ids) > _MOST_SUBTOPOLOGIES:
        raise CodecError(f"{len(ids)} subtopologies, more than {_MOST_SUBTOPOLOGIES}")
    if ids and not ids[0]:
        raise CodecError("a subtopology without an id")
    return b"".join([_UINT16.pack(len(ids)), *(pack_text(name, LONGEST_ID) for name in ids)]), ids


def read_subtopologies(reader: Reader) -> list[str]:
    """Read the ids of a table of subtopologies, sorted."""
    (count,) = reader.array(1, "H")
    ids = [reader.string() for _ in range(count)]
    if ids != sorted(set(ids)):
        raise CodecError("subtopologies that are not sorted, or one twice")
    if not all(ids) or any(len(name.encode()) > LONGEST_ID for name in ids):
        raise CodecError(f"the id of a subtopology is empty, or longer than {LONGEST_ID} bytes")
    return ids


def pack_tasks(tasks: Iterable[Task], ids: Sequence[str]) -> bytes:
    """Encode a section of tasks; ``ids`` are those of the table, in its order."""
    return _section(_by_subtopology(tasks, ids))


def read_tasks(reader: Reader, ids: Sequence[str]) -> tuple[Task, ...]:
    """Read a section of distinct tasks, in the table's order, then by partition."""
    if not (size := reader.uint8()):
        return ()
    counts = _column(reader, size, len(ids))
    if (total := sum(counts)) > MOST_TASKS:
        raise CodecError(f"more than {MOST_TASKS} tasks")
    steps = _column(reader, reader.uint8(), total)
    tasks: list[Task] = []
    start = 0
    for name, count in zip(ids, counts, strict=True):
        if not count:
            continue
        block = steps[start : start + count]
        start += count
        if 0 in block[1:]:
            raise CodecError("a duplicate task")
        tasks += zip(repeat(name), accumulate(block))
        if tasks[-1][1] > _MOST_PARTITION:
            raise CodecError(f"partition {tasks[-1][1]} is out of range")
    return tuple(tasks)


def pack_lags(lags: Mapping[Task, int], ids: Sequence[str]) -> bytes:
    """Encode a section of lags (records)."""
    if not lags:
        return _NOTHING
    numbers = _by_subtopology(lags, ids)
    values = [lags[name, partition] for name, partitions in numbers.items() for partition in partitions]
    if min(values) < 0:
        raise CodecError("a negative lag")
    return _section(numbers) + _packed([min(value, MOST_LAG) for value in values])


def read_lags(reader: Reader, ids: Sequence[str]) -> dict[Task, int]:
    """Read a section of lags (records)."""
    if not (tasks := read_tasks(reader, ids)):
        return {}
    values = _column(reader, reader.uint8(), len(tasks), widest=8)
    if min(values) < 0:
        raise CodecError("a negative lag")
    return dict(zip(tasks, values, strict=True))


def _by_subtopology(tasks: Iterable[Task], ids: Sequence[str]) -> dict[str, list[int]]:
    """Return the partitions of each subtopology of the table, ascending."""
    partitions_of: dict[str, set[int]] = {name: set() for name in ids}
    for name, partition in tasks:
        partitions_of[name].add(partition)
    numbers = {name: sorted(partitions) for name, partitions in partitions_of.items()}
    if sum(map(len, numbers.values())) > MOST_TASKS:
        raise CodecError(f"more than {MOST_TASKS} tasks")
    if any(p and not 0 <= p[0] <= p[-1] <= _MOST_PARTITION for p in numbers.values()):
        raise CodecError("a partition out of range")
    return numbers


def _section(numbers: Mapping[str, Sequence[int]]) -> bytes:
    if not any(numbers.values()):
        return _NOTHING
    steps: list[int] = []
    for partitions in numbers.values():
        steps += map(sub, partitions, [0, *partitions])
    return _packed([len(partitions) for partitions in numbers.values()]) + _packed(steps)


def _packed(numbers: Sequence[int]) -> bytes:
    """Encode a column of at least one number."""
    size = narrowest(max(numbers))
    return struct.pack(f">B{len(numbers)}{WIDTHS[size]}", size, *numbers)


def _column(reader: Reader, size: int, count: int, widest: int = 4) -> Sequence[int]:
    """Read ``count`` numbers of ``size`` bytes.  The caller refuses negative ones (of 8 bytes)."""
    if size == 1:
        return reader.raw(count)
    if (code := WIDTHS.get(size)) is None or size > widest:
        raise CodecError("numbers of an unknown width")
    return reader.array(count, code)
