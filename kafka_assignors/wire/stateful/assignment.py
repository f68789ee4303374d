"""User data of an assignment of the strategy ``stateful``: a member's active, standby and warm-up tasks.

Every version begins with two int16: the version, and the version that members should join with from now on.
Version 1: int64 time of the next probing rebalance (milliseconds since 1970, 0: none), a table of
subtopologies, sections of active tasks, of standby tasks and of warm-up tasks (`task_section`).  Version 2
adds the owners (`owners_section`).

The fields follow Kafka Streams' AssignmentInfo (KIP-441); the bytes are our own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import Reader, named
from kafka_assignors.wire.stateful import task_section
from kafka_assignors.wire.stateful.owners_section import pack_owners, read_owners
from kafka_assignors.wire.stateful.task_section import Task
from kafka_assignors.wire.stateful.version import LATEST_VERSION, NewerHeader, check_header

_HEAD = struct.Struct(">hhq")


@dataclass(frozen=True, slots=True)
class TaskAssignment:
    """The leader's assignment of one member.

    Attributes:
        actives: tasks to process.
        standbys: tasks to keep a copy of.
        warmups: tasks to build a copy of, because they will move to this member.
        next_probe_ms: when this member requests a probing rebalance, milliseconds since 1970; 0: never.
        owners: endpoint -> its active tasks, for members with an endpoint.
        common_version: the version that all members should join with from now on.  A member that supports
            only lower ones joins with its latest.
    """

    actives: tuple[Task, ...] = ()
    standbys: tuple[Task, ...] = ()
    warmups: tuple[Task, ...] = ()
    next_probe_ms: int = 0
    owners: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    common_version: int = LATEST_VERSION


def encode(assignment: TaskAssignment, packed_owners: bytes | None = None) -> bytes:
    """Encode in the version that all members can read (``common_version``); version 1 omits the owners.

    ``packed_owners`` is the section of the owners, encoded once for all members; None: encode
    ``assignment.owners``.
    """
    version = assignment.common_version
    if not 1 <= version <= LATEST_VERSION:
        raise CodecError(f"version {version} cannot be written: this release writes 1 to {LATEST_VERSION}")
    if not 0 <= assignment.next_probe_ms < 2**63:
        raise CodecError(f"next_probe_ms is {assignment.next_probe_ms}: it must be from 0 to 2**63 - 1")
    actives, standbys, warmups = assignment.actives, assignment.standbys, assignment.warmups
    table, ids = task_section.pack_subtopologies(actives, standbys, warmups)
    parts = [
        _HEAD.pack(version, version, assignment.next_probe_ms),
        table,
        task_section.pack_tasks(actives, ids),
        task_section.pack_tasks(standbys, ids),
        task_section.pack_tasks(warmups, ids),
    ]
    if version >= 2:
        parts.append(pack_owners(assignment.owners) if packed_owners is None else packed_owners)
    return b"".join(parts)


@named("stateful assignment")
def decode(data: bytes) -> TaskAssignment | NewerHeader:
    """Decode an assignment, with its tasks sorted.  Of a version newer than ours, decode only the header."""
    reader = Reader(data)
    version, common = reader.int16(), reader.int16()
    check_header(version, common)
    if version > LATEST_VERSION:
        return NewerHeader(version, common)
    if (next_probe_ms := reader.int64()) < 0:
        raise CodecError(f"next_probe_ms is {next_probe_ms}: it must be 0 or more")
    ids = task_section.read_subtopologies(reader)
    assignment = TaskAssignment(
        actives=task_section.read_tasks(reader, ids),
        standbys=task_section.read_tasks(reader, ids),
        warmups=task_section.read_tasks(reader, ids),
        next_probe_ms=next_probe_ms,
        owners=read_owners(reader) if version >= 2 else {},
        common_version=common,
    )
    reader.end()
    return assignment
