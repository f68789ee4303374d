"""User data of an assignment of the strategy ``stateful``: which tasks to run, to keep and to warm up.

Of every version: int16 version, int16 the version members are asked to join with from now on.  Then, from
version 1 on: int64 time of the next probe (milliseconds since 1970, 0: none), a table of subtopologies,
sections of active tasks, of standby tasks and of warm-up tasks (`task_section`).  Version 2 has the owners
behind that (`owners_section`).

The shape is that of Kafka Streams' AssignmentInfo (KIP-441), the bytes are our own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_assignors.errors import CodecError
from kafka_assignors.wire import task_section
from kafka_assignors.wire.owners_section import pack_owners, read_owners
from kafka_assignors.wire.primitives import Reader
from kafka_assignors.wire.stateful_version import LATEST_VERSION, Newer, checked
from kafka_assignors.wire.task_section import Task

__all__ = ["Assignment", "decode", "encode"]

_HEAD = struct.Struct(">hhq")


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader tells one member.

    Attributes:
        actives: tasks to process.
        standbys: tasks to keep a copy of.
        warmups: tasks to build a copy of: they shall move here.
        next_probe_ms: when to join again, milliseconds since 1970; 0: not of one's own accord.
        owners: endpoint -> the tasks that are active there, of members that have an endpoint.
        common_version: the version to join with from now on, or the latest the member supports if that is
            less.
    """

    actives: tuple[Task, ...] = ()
    standbys: tuple[Task, ...] = ()
    warmups: tuple[Task, ...] = ()
    next_probe_ms: int = 0
    owners: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    common_version: int = LATEST_VERSION


def encode(told: Assignment, owners: bytes | None = None) -> bytes:
    """The bytes, in the version all members can read (``told.common_version``); 1 leaves out the owners.

    Args:
        told: what to say; tasks in any order.
        owners: ``pack_owners(told.owners)``, made once for all members; None: it is made here.

    Raises:
        CodecError: a version there is not, or a value that there cannot be (a negative partition or time).
    """
    version = told.common_version
    if not 1 <= version <= LATEST_VERSION:
        raise CodecError(f"version {version}, know 1 to {LATEST_VERSION}")
    if not 0 <= told.next_probe_ms < 2**63:
        raise CodecError(f"a next probe at {told.next_probe_ms} ms")
    table, ids = task_section.pack_subtopologies(told.actives, told.standbys, told.warmups)
    parts = [
        _HEAD.pack(version, version, told.next_probe_ms),
        table,
        task_section.pack_tasks(told.actives, ids),
        task_section.pack_tasks(told.standbys, ids),
        task_section.pack_tasks(told.warmups, ids),
    ]
    if version >= 2:
        parts.append(pack_owners(told.owners) if owners is None else owners)
    return b"".join(parts)


def decode(data: bytes, latest: int = LATEST_VERSION) -> Assignment | Newer:
    """What the leader told, tasks in order; or how far a newer leader asks to come down.

    Args:
        data: user data of an assignment.
        latest: the version to read up to; an older one acts as an older release.

    Raises:
        CodecError: anything else; too short, too long, bytes left over.
    """
    try:
        return _read(Reader(data), latest)
    except CodecError as error:
        raise CodecError(f"stateful assignment: {error}") from None


def _read(reader: Reader, latest: int) -> Assignment | Newer:
    version, common = reader.int16(), reader.int16()
    checked(version, common)
    if version > latest:
        return Newer(version, common)
    if (next_probe_ms := reader.int64()) < 0:
        raise CodecError(f"a next probe at {next_probe_ms} ms")
    ids = task_section.read_subtopologies(reader)
    told = Assignment(
        actives=task_section.read_tasks(reader, ids),
        standbys=task_section.read_tasks(reader, ids),
        warmups=task_section.read_tasks(reader, ids),
        next_probe_ms=next_probe_ms,
        owners=read_owners(reader) if version >= 2 else {},
        common_version=common,
    )
    reader.end()
    return told
