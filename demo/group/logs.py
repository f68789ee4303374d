"""Event logs: one JSON object a line for each event of a process, append only.

Every line reaches the operating system before the process goes on, and usually in a single write, so
``kill -9`` loses no earlier line.  Times are nanoseconds of ``time.monotonic_ns()``, which is one clock for
all processes of a machine.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from kafka_assignors.errors import KafkaAssignorsError

NS = 1e9

Event = Literal[
    "started",  # member: the process is up; note = its pid
    "joined",  # member: it sees a new generation; partitions = all it owns now
    "assigned",  # member, from the rebalance listener
    "revoked",  # member, from the rebalance listener
    "lost",  # member, from the rebalance listener: membership was lost, so others may own these already
    "opened",  # member: warmed up for a gained partition, from `began` to `t`
    "done",  # member: processed offsets first..last of one partition by `t`; their batch began at `began`
    "uncommitted",  # member: a commit was refused and will be tried again; note = why
    "left",  # member: closed cleanly
    "sent",  # driver: the broker acknowledged offsets first..last of one partition
    "join",  # driver: a step of the churn, partitions empty, note = the member
    "leave",
    "kill",
    "replay",  # driver: the replay begins; every time of its results counts from here
    "sent_all",  # driver: all is sent; note, in a replay = how late a record was sent, at most, in ms
    "go",  # driver: the members, who own all partitions, may begin to work off the backlog
    "end",  # driver: everything is drained, or note = why not; later entries are not measured
    # Of the failover, beside "started", "done", "left", "sent", "join", "kill" and "end":
    "state",  # member: it processes `partitions` now; note = "probing" while a better plan waits for copies
    "warmups",  # member: partitions it builds copies of
    "standbys",  # member: partitions it keeps copies of; last = the largest lag of a copy, -1: not known
    "restored",  # member: last = changelog records that it has applied to its copy of one partition
    "probe",  # member: it asks for a probing rebalance
    "act",  # driver: members start; note = "cold" or "warm"
    "calm",  # driver: nothing happens to the group until the next event
    "changelog",  # driver: last = end offset of one changelog partition, before the next event
    "settled",  # driver: the group has settled after the event, or note = why not
    "counted",  # driver: the first flights are counted; note = bytes of the changelog
]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a log; which fields are set depends on the event."""

    t: int  # ns; the event's time, or its end
    event: Event
    partitions: tuple[int, ...] = ()
    first: int = -1  # offset
    last: int = -1  # offset, inclusive
    began: int = 0  # ns; 0 for an instant
    generation: int = -1
    note: str = ""


_DECODER = msgspec.json.Decoder(Entry)


@dataclass(frozen=True, slots=True)
class RunLogs:
    """All logs of one run."""

    partitions: int
    consumers: int  # members at the start
    driver: Sequence[Entry]
    members: Mapping[str, Sequence[Entry]]  # by member; in the failover ``ACT/MEMBER``

    def driver_entry(self, event: Event) -> Entry:
        """Return the driver's first entry of ``event``."""
        first = next((entry for entry in self.driver if entry.event == event), None)
        if first is None:
            raise KafkaAssignorsError(f"the run has no {event!r} in its log: it was not finished")
        return first


def encode(entry: Entry) -> bytes:
    """Write the fields that differ from their default, as one line."""
    return msgspec.json.encode(entry) + b"\n"


def decode(line: bytes) -> Entry:
    """Read one line."""
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError as error:
        raise KafkaAssignorsError(f"not a line of an event log: {line[:80]!r}") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError, such as a full disk, into a KafkaAssignorsError of one line that names the file."""
    try:
        yield
    except OSError as error:
        raise KafkaAssignorsError(
            f"cannot write {error.filename or path}: {error.strerror or error}"
        ) from error


class LogWriter:
    """Appends entries to one file, unbuffered; may be used from several threads of one process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._failure: KafkaAssignorsError | None = None
        with writing(path):
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, entry: Entry) -> None:
        """Append one entry.

        A disk that fills up may store only the beginning of a line.  Nothing may follow that, so all writes
        after a failure raise its error.
        """
        line = encode(entry)
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                with writing(self._path):
                    while line:
                        line = line[os.write(self._fd, line) :]
            except KafkaAssignorsError as error:
                self._failure = error
                raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class LogTail:
    """Reads new lines of a log, which may not exist yet; a line still being written waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[Entry]:
        """Yield the new entries."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield decode(line)


def read_log(path: Path) -> list[Entry]:
    """Read a whole log; a missing file is an empty one."""
    return list(LogTail(path).read())
