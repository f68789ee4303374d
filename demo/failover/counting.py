"""Pure: the application of the failover, which counts the flights of each line, and keeps logbooks.

A line is a carrier and a destination.  There is a logbook of each plane and of each flight number.

A record may be processed again after a kill (at least once).  Its changes may have reached the changelog in
part, so repeats are recognised key by key: each value has the last offset that it includes.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka.consumer.fetcher import ConsumerRecord

    from kafka_assignors.stateful import Store

LINE, PLANE, NUMBER = b"l:", b"p:", b"n:"
LOGBOOK = 40  # flights kept in a logbook, the last ones: about 7 KB

_COUNT = struct.Struct(">qqq")
_LAST = struct.Struct(">q")


class LineCount(NamedTuple):
    """The count of a line's records."""

    times: int = 0  # records counted, each as often as it was processed
    doubles: int = 0  # of these, records counted before
    last: int = -1  # the highest offset counted; -1: none

    def counted(self, offset: int) -> LineCount:
        """Return the count with one more record; an offset that does not ascend was counted before."""
        again = offset <= self.last
        return LineCount(self.times + 1, self.doubles + again, max(self.last, offset))

    def packed(self) -> bytes:
        """Return the value for the store."""
        return _COUNT.pack(*self)

    @classmethod
    def unpacked(cls, value: bytes | None) -> LineCount:
        """Read a value of the store; None: no record yet."""
        return cls() if value is None else cls(*_COUNT.unpack(value))


def line_of(key: bytes, value: bytes) -> bytes:
    """Return the line of a flight: its carrier and destination."""
    return str(json.loads(value)["carrier"]).encode() + b" " + key


def count_flight(record: ConsumerRecord, store: Store) -> None:
    """Process one flight: the record's key is the destination, its value the flight as JSON."""
    flight = json.loads(record.value)
    line = LINE + line_of(record.key, record.value)
    store.put(line, LineCount.unpacked(store.get(line)).counted(record.offset).packed())
    number = f"{flight['carrier']} {flight['flight']}"
    for logbook in (PLANE + str(flight["tailnum"]).encode(), NUMBER + number.encode()):
        store.put(logbook, _entered(store.get(logbook), record.offset, record.value))


def entries_of(logbook: bytes) -> list[bytes]:
    """Return the flights in a logbook, the latest last."""
    return logbook[_LAST.size :].split(b"\n")


def _entered(logbook: bytes | None, offset: int, flight: bytes) -> bytes:
    """Return the logbook with one more flight; a repeat changes nothing."""
    if logbook is None:
        return _LAST.pack(offset) + flight
    if offset <= _LAST.unpack_from(logbook)[0]:
        return logbook
    entries = [*entries_of(logbook), flight][-LOGBOOK:]
    return _LAST.pack(offset) + b"\n".join(entries)
