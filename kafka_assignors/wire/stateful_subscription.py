"""User data of a member of the strategy ``stateful``: its state, and what it does with it.

Of every version: int16 version, int16 the latest version the member supports, 16 bytes the id of its process
(which outlives the process: it lies beside the state).  Then, from version 1 on: int32 generation of the
claims, int32 counter of probes, a table of subtopologies, sections of active tasks, of standby tasks, and
of lags (`task_section`).  Version 2 has two strings behind that: endpoint and rack, empty if there are
none.

The shape is that of Kafka Streams' SubscriptionInfo (KIP-441), the bytes are our own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION
from kafka_assignors.wire import task_section
from kafka_assignors.wire.primitives import Reader
from kafka_assignors.wire.stateful_version import LATEST_VERSION, Newer, checked
from kafka_assignors.wire.task_section import Task

__all__ = ["MOST_OTHERS", "Subscription", "decode", "encode"]

MOST_OTHERS = 1_000
"""Lags of tasks the member has state of, but does not hold: 5 KB.  State that was left behind is of use where
it is recent, and the broker keeps all members' user data in one message, of a megabyte in most clusters."""

_HEAD = struct.Struct(">hh16s")
_CLAIM = struct.Struct(">ii")
_LONGEST = 255  # bytes of an endpoint, and of a rack
_COUNTER = 2**31


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member says of itself.  A claim, to be checked against the topology and the other members.

    Attributes:
        process_id: of its state directory.
        actives: tasks it processes.
        standbys: tasks it keeps a copy of; the leader need not tell warm-ups from standbys.
        lags: records each copy is behind its changelog, ``MOST_LAG`` where nobody knows; a task without an
            entry has no state here.  Of tasks that are neither active nor standby, the ``MOST_OTHERS`` that
            are least behind are sent.
        generation: the actives and standbys were assigned in; ``NO_GENERATION``: in none yet.
        probe: counts up with each probing rebalance.  A broker takes a join with the same bytes for nothing
            new.
        endpoint: ``host:port`` where the application can be asked for its state; empty: nowhere.
        rack: standbys go to others; empty: not known.
        latest_supported: the newest version the member reads and writes.
    """

    process_id: UUID
    actives: tuple[Task, ...] = ()
    standbys: tuple[Task, ...] = ()
    lags: Mapping[Task, int] = field(default_factory=dict)
    generation: int = NO_GENERATION
    probe: int = 0
    endpoint: str = ""
    rack: str = ""
    latest_supported: int = LATEST_VERSION


def encode(told: Subscription, version: int = LATEST_VERSION) -> bytes:
    """The bytes; a version before 2 leaves out endpoint and rack.

    Args:
        told: what to say; tasks in any order.
        version: what the leader asked for (`Assignment.common_version`).

    Raises:
        CodecError: a version there is not, or a value that no member has (a negative partition or lag).
    """
    _known(version, told.latest_supported)
    lags = _worth_telling(told)
    table, ids = task_section.pack_subtopologies(told.actives, told.standbys, lags)
    parts = [
        _HEAD.pack(version, told.latest_supported, told.process_id.bytes),
        _CLAIM.pack(told.generation, told.probe % _COUNTER),
        table,
        task_section.pack_tasks(told.actives, ids),
        task_section.pack_tasks(told.standbys, ids),
        task_section.pack_lags(lags, ids),
    ]
    if version >= 2:
        parts += [task_section.text(told.endpoint, _LONGEST), task_section.text(told.rack, _LONGEST)]
    return b"".join(parts)


def decode(data: bytes, latest: int = LATEST_VERSION) -> Subscription | Newer:
    """What a member told, tasks in order; or the little that can be known of what a newer release wrote.

    Args:
        data: user data of a subscription.
        latest: the version to read up to; an older one acts as an older release.

    Raises:
        CodecError: anything else; too short, too long, bytes left over.
    """
    try:
        return _read(Reader(data), latest)
    except CodecError as error:
        raise CodecError(f"stateful user data: {error}") from None


def _read(reader: Reader, latest: int) -> Subscription | Newer:
    version, supported = reader.int16(), reader.int16()
    process_id = UUID(bytes=reader.raw(16))
    checked(version, supported)
    if version > latest:
        return Newer(version, supported, process_id)
    generation, probe = reader.int32(), reader.int32()
    ids = task_section.read_subtopologies(reader)
    told = Subscription(
        process_id=process_id,
        generation=generation,
        probe=probe,
        actives=task_section.read_tasks(reader, ids),
        standbys=task_section.read_tasks(reader, ids),
        lags=task_section.read_lags(reader, ids),
        endpoint=reader.string() if version >= 2 else "",
        rack=reader.string() if version >= 2 else "",
        latest_supported=supported,
    )
    reader.end()
    if probe < 0 or len(told.endpoint.encode()) > _LONGEST or len(told.rack.encode()) > _LONGEST:
        raise CodecError("a negative counter, or an endpoint or a rack that is too long")
    return told


def _worth_telling(told: Subscription) -> Mapping[Task, int]:
    """The lags of all tasks the member holds, and of others on its disk those that are least behind."""
    if len(told.lags) <= MOST_OTHERS:
        return told.lags
    held = {*told.actives, *told.standbys}
    others = sorted((lag, task) for task, lag in told.lags.items() if task not in held)[:MOST_OTHERS]
    return {task: lag for task, lag in told.lags.items() if task in held} | {
        task: lag for lag, task in others
    }


def _known(version: int, latest: int) -> None:
    if not 1 <= version <= min(latest, LATEST_VERSION):
        raise CodecError(f"version {version}, know 1 to {min(latest, LATEST_VERSION)}")
