"""User data of a subscription of the strategy ``stateful``: a member's tasks, and the lag of its state.

Every version begins with int16 version, int16 the latest version the member supports, and 16 bytes process id
(stored beside the state, so that the id survives restarts).  Version 1: int32 generation of the claims, int32
counter of probing rebalances, a table of subtopologies, sections of active tasks, of standby tasks, and of
lags (`task_section`).  Version 2 adds two strings: endpoint and rack, empty if there is none.

The fields follow Kafka Streams' SubscriptionInfo (KIP-441); the bytes are our own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION
from kafka_assignors.wire.primitives import Reader, named
from kafka_assignors.wire.stateful import task_section
from kafka_assignors.wire.stateful.owners_section import LONGEST_ENDPOINT
from kafka_assignors.wire.stateful.task_section import Task
from kafka_assignors.wire.stateful.version import LATEST_VERSION, NewerHeader, check_header

MOST_OTHERS = 1_000
"""Maximum number of lags a member sends for tasks other than its active tasks and standbys: 2 to 9 KB.

State of such a task is useful only if it is recent, so the least lags are sent.  The broker keeps all
members' user data in one record, limited to a megabyte in most clusters.
"""

LONGEST_RACK = 255
"""Maximum bytes of a rack."""

_HEAD = struct.Struct(">hh16s")
_CLAIM = struct.Struct(">ii")
_COUNTER = 2**31  # the counter of probing rebalances wraps around at this number


@dataclass(frozen=True, slots=True)
class Subscription:
    """A member's own description.  Check its claims against the topology and the other members.

    Attributes:
        process_id: the id of the member's state directory.
        actives: tasks it processes.
        standbys: tasks it keeps a copy of, including warm-ups.
        lags: records that each copy is behind its changelog, ``MOST_LAG`` if unknown.  A task without an
            entry has no state here.  Of the tasks that are neither active nor standby, only the
            ``MOST_OTHERS`` with the least lag are sent.
        generation: the generation that assigned the actives and standbys; ``NO_GENERATION``: none yet.
        probe: incremented for each probing rebalance, because a broker starts no rebalance when a follower
            joins with unchanged bytes.
        endpoint: ``host:port`` where the application serves its state; empty: none.
        rack: the rack it runs in, to place standbys in other racks; empty: unknown.
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


def encode(subscription: Subscription, version: int = LATEST_VERSION) -> bytes:
    """Encode in the version the leader asked for (``common_version``); version 1 omits endpoint and rack."""
    latest = min(subscription.latest_supported, LATEST_VERSION)
    if not 1 <= version <= latest:
        raise CodecError(f"version {version} cannot be written, only 1 to {latest}")
    lags = _lags_to_send(subscription)
    table, ids = task_section.pack_subtopologies(subscription.actives, subscription.standbys, lags)
    parts = [
        _HEAD.pack(version, subscription.latest_supported, subscription.process_id.bytes),
        _CLAIM.pack(subscription.generation, subscription.probe % _COUNTER),
        table,
        task_section.pack_tasks(subscription.actives, ids),
        task_section.pack_tasks(subscription.standbys, ids),
        task_section.pack_lags(lags, ids),
    ]
    if version >= 2:
        parts += [
            task_section.pack_text(subscription.endpoint, LONGEST_ENDPOINT),
            task_section.pack_text(subscription.rack, LONGEST_RACK),
        ]
    return b"".join(parts)


@named("stateful user data")
def decode(data: bytes) -> Subscription | NewerHeader:
    """Decode a subscription, with its tasks sorted.  Of a version newer than ours, decode only the header."""
    reader = Reader(data)
    version, supported = reader.int16(), reader.int16()
    process_id = UUID(bytes=reader.raw(16))
    check_header(version, supported)
    if version > LATEST_VERSION:
        return NewerHeader(version, supported, process_id)
    generation, probe = reader.int32(), reader.int32()
    ids = task_section.read_subtopologies(reader)
    subscription = Subscription(
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
    if (
        probe < 0
        or len(subscription.endpoint.encode()) > LONGEST_ENDPOINT
        or len(subscription.rack.encode()) > LONGEST_RACK
    ):
        raise CodecError("a negative counter, or an endpoint or a rack that is too long")
    return subscription


def _lags_to_send(subscription: Subscription) -> Mapping[Task, int]:
    """Return the lags of active and standby tasks, and the least of the others."""
    lags = subscription.lags
    if len(lags) <= MOST_OTHERS:
        return lags
    owned = {*subscription.actives, *subscription.standbys}
    others = sorted((lag, task) for task, lag in lags.items() if task not in owned)[:MOST_OTHERS]
    return {task: lag for task, lag in lags.items() if task in owned} | {task: lag for lag, task in others}
