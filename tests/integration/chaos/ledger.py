"""What a member did, on disk line by line, so that it outlives a ``kill -9``.

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


class Kind(Enum):
    """What an entry reports."""

    READ = "read"  # the records at these offsets, in this order
    COMMIT = "commit"  # about to be sent, with these offsets
    ASSIGNED = "assigned"  # new partitions; an eager consumer names all it has
    OWNED = "owned"  # all partitions, as the leader assigned them in this generation
    REVOKED = "revoked"
    LOST = "lost"


class Place(NamedTuple):
    """A record, a committed position, or (offset 0) a partition."""

    topic: str
    partition: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One line.

    Attributes:
        at: when (ns).
        kind: what it reports.
        places: what it is about.
        generation: of the group; -1 where it does not matter.
    """

    at: int
    kind: Kind
    places: tuple[Place, ...] = ()
    generation: int = -1


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that one process of a member wrote."""

    member: str
    entries: tuple[Entry, ...]


class Writer:
    """Appends a process's entries to its file."""

    def __init__(self, path: str | Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, kind: Kind, places: Iterable[tuple[str, int, int]] = (), generation: int = -1) -> None:
        """Append an entry; it is in the kernel's hands when this returns."""
        line = json.dumps([time.monotonic_ns(), kind.value, [[*place] for place in places], generation])
        os.write(self._file, f"{line}\n".encode())


def read(path: Path) -> Ledger:
    """Return what was written up to now; a line that a kill cut off does not count."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return Ledger(path.stem, tuple(_entry(*json.loads(line)) for line in lines))


def _entry(at: int, kind: str, places: list[tuple[str, int, int]], generation: int) -> Entry:
    return Entry(at, Kind(kind), tuple(Place(*place) for place in places), generation)
