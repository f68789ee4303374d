"""A member's event log: a line for each event, on disk, so that it survives a ``kill -9``.

Times are ``time.monotonic_ns``, which on Linux is one clock for all processes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class EventKind(Enum):
    """The type of an event."""

    READ = "read"  # records, in the order of reading
    COMMIT = "commit"  # offsets that are about to be sent
    COMMITTED = "committed"  # offsets that the broker has; of stateful members
    ASSIGNED = "assigned"  # new partitions; for an eager consumer, all its partitions
    OWNED = "owned"  # all partitions that the leader assigned in this generation
    REVOKED = "revoked"
    LOST = "lost"
    CONFIRMED = "confirmed"  # the last heartbeat that the broker accepted was sent; precedes LOST


class Position(NamedTuple):
    """A record, a committed position, or (offset 0) a partition."""

    topic: str
    partition: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the log.

    Attributes:
        at: time (ns).
        kind: its type.
        positions: the records, offsets or partitions of the event.
        generation: of the group; -1 for types without one.
    """

    at: int
    kind: EventKind
    positions: tuple[Position, ...] = ()
    generation: int = -1


@dataclass(frozen=True, slots=True)
class EventLog:
    """All events of one member process."""

    member: str
    events: tuple[Event, ...]


class EventWriter:
    """Appends a process's events to its file."""

    def __init__(self, path: str | Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(
        self,
        kind: EventKind,
        positions: Iterable[tuple[str, int, int]] = (),
        generation: int = -1,
        *,
        at: int | None = None,
    ) -> None:
        """Append an event, of now by default; the kernel has it when this returns: a kill cannot lose it."""
        at = time.monotonic_ns() if at is None else at
        line = json.dumps([at, kind.value, [[*position] for position in positions], generation])
        os.write(self._file, f"{line}\n".encode())


def read(path: Path) -> EventLog:
    """Return the events written so far, without a last line that a kill cut off."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return EventLog(path.stem, tuple(_entry(*json.loads(line)) for line in lines))


def _entry(at: int, kind: str, positions: list[tuple[str, int, int]], generation: int) -> Event:
    return Event(at, EventKind(kind), tuple(Position(*position) for position in positions), generation)
