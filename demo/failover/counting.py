"""Pure: the application of the failover, which counts the flights of each line, and keeps logbooks.

A line is a carrier and a destination.  There is a logbook of each plane and of each flight number.

A record may be processed again after a kill (at least once).  Its changes may have reached the changelog in
part, so repeats are recognised key by key: each value has the last offset that it includes.
"""

from __future__ import annotations

import json
import struct
from typing import NamedTuple, Protocol

LINE, PLANE, NUMBER = b"l:", b"p:", b"n:"
LOGBOOK = 40
"""The last flights are kept in a logbook: about 7 KB."""

_COUNTER = struct.Struct(">qqq")
_LAST = struct.Struct(">q")


class Store(Protocol):
    """The part of a task's store that is used."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""

    def put(self, key: bytes, value: bytes) -> None:
        """Set it."""


class Record(Protocol):
    """The part of a record that is used; its key is the destination, its value a flight as JSON."""

    key: bytes
    value: bytes
    partition: int  # the task
    offset: int


class Counter(NamedTuple):
    """A count of records."""

    times: int = 0  # records counted, each as often as it was processed
    doubles: int = 0  # of these, records counted before
    last: int = -1  # the highest offset counted; -1: none

    def counted(self, offset: int) -> Counter:
        """Return the count with one more record; an offset that does not ascend was counted before."""
        again = offset <= self.last
        return Counter(self.times + 1, self.doubles + again, max(self.last, offset))

    def packed(self) -> bytes:
        """Return the value for the store."""
        return _COUNTER.pack(*self)

    @classmethod
    def unpacked(cls, value: bytes | None) -> Counter:
        """Read a value of the store; None: no record yet."""
        return cls() if value is None else cls(*_COUNTER.unpack(value))


def line_of(key: bytes, value: bytes) -> bytes:
    """Return the line of a flight: its carrier and destination."""
    return str(json.loads(value)["carrier"]).encode() + b" " + key


def count_flight(record: Record, store: Store) -> None:
    """Process one flight."""
    flight = json.loads(record.value)
    line = LINE + line_of(record.key, record.value)
    store.put(line, Counter.unpacked(store.get(line)).counted(record.offset).packed())
    number = f"{flight['carrier']} {flight['flight']}"
    for logbook in (PLANE + str(flight["tailnum"]).encode(), NUMBER + number.encode()):
        store.put(logbook, _entered(store.get(logbook), record))


def entries_of(logbook: bytes) -> list[bytes]:
    """Return the flights in a logbook, the latest last."""
    return logbook[_LAST.size :].split(b"\n")


def _entered(logbook: bytes | None, record: Record) -> bytes:
    """Return the logbook with one more flight; a repeat changes nothing."""
    if logbook is None:
        return _LAST.pack(record.offset) + record.value
    if record.offset <= _LAST.unpack_from(logbook)[0]:
        return logbook
    entries = [*entries_of(logbook), record.value][-LOGBOOK:]
    return _LAST.pack(record.offset) + b"\n".join(entries)
