"""Pure: the application: flights counted by carrier and by destination, and logbooks of planes and lines.

A record may be done again after a kill (at least once).  Each value says up to which offset of the task's
partition it has counted, so a record that is done again is known to be: exactly, key by key, as what one
record changed may have reached the changelog in part.
"""

from __future__ import annotations

import json
import struct
from typing import NamedTuple, Protocol

CARRIER, DESTINATION, PLANE, LINE = b"c:", b"d:", b"p:", b"l:"
LOGBOOK = 40
"""Flights in a logbook, the last ones: some 7 KB."""

_COUNTER = struct.Struct(">qqq")
_LAST = struct.Struct(">q")


class Store(Protocol):
    """What is needed of a task's store."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""

    def put(self, key: bytes, value: bytes) -> None:
        """Set it."""


class Record(Protocol):
    """What is needed of a record; its key is the destination, its value a flight as JSON."""

    @property
    def key(self) -> bytes:
        """The destination."""

    @property
    def value(self) -> bytes:
        """The flight."""

    @property
    def partition(self) -> int:
        """Where it is from: the task."""

    @property
    def offset(self) -> int:
        """In its partition."""


class Counter(NamedTuple):
    """How often something came.

    Attributes:
        times: records counted, each as often as it was done.
        doubles: of these, how many had been counted here before.
        last: the highest offset counted; -1: none.
    """

    times: int = 0
    doubles: int = 0
    last: int = -1

    def counted(self, offset: int) -> Counter:
        """With one more record: offsets ascend, so one that does not was here before."""
        again = offset <= self.last
        return Counter(self.times + 1, self.doubles + again, max(self.last, offset))

    def packed(self) -> bytes:
        """As a value of the store."""
        return _COUNTER.pack(*self)

    @classmethod
    def unpacked(cls, value: bytes | None) -> Counter:
        """Out of the store; None: nothing yet."""
        return cls() if value is None else cls(*_COUNTER.unpack(value))


def count_flight(record: Record, store: Store) -> None:
    """Process one flight."""
    flight = json.loads(record.value)
    carrier = str(flight["carrier"]).encode()
    for counter in (CARRIER + carrier, DESTINATION + record.key):
        before = Counter.unpacked(store.get(counter))
        store.put(counter, before.counted(record.offset).packed())
    line = carrier + b" " + str(flight["flight"]).encode()
    for logbook in (PLANE + str(flight["tailnum"]).encode(), LINE + line):
        store.put(logbook, _entered(store.get(logbook), record))


def entries_of(logbook: bytes) -> list[bytes]:
    """The flights in a logbook, the latest last."""
    return logbook[_LAST.size :].split(b"\n")


def _entered(logbook: bytes | None, record: Record) -> bytes:
    """A logbook with one more flight; one that is in it already changes nothing."""
    if logbook is None:
        return _LAST.pack(record.offset) + record.value
    if record.offset <= _LAST.unpack_from(logbook)[0]:
        return logbook
    entries = [*entries_of(logbook), record.value][-LOGBOOK:]
    return _LAST.pack(record.offset) + b"\n".join(entries)
