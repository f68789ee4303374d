"""Groups and plans as files: the bytes of subscriptions and assignments, for programs in Python and Java.

A group holds topics with their numbers of partitions, then members with their subscriptions.  A plan holds
members with their assignments.  Numbers are 32 bits, big-endian.  A name follows its length (16 bits), and
bytes follow theirs (32 bits).  All planners read the same history, each in the format of its own protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from bench.problems import Counts, Moment, Plan
from kafka_assignors import CooperativeStickyAssignor, StickyAssignor

GENERATION = 5

# The assignors whose members send the history: Java reads ours, kafka-python's sticky reads only its own.
ASSIGNORS: Mapping[str, type[Any]] = {
    "sticky": StickyAssignor,
    "cooperative": CooperativeStickyAssignor,
    "kafka-python": StickyPartitionAssignor,
}


class Senders:
    """Writes groups.  A member with the same subscription in two phases is encoded once."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], tuple[list[str], bytes]] = {}

    def write(self, path: Path, kind: str, moment: Moment) -> None:
        """Write a group to a file, with the subscription that each member sends for its owned partitions."""
        sent = {member: self._sends(kind, moment, member) for member in moment.subscriptions}
        with path.open("wb") as file:
            file.write(struct.pack(">i", len(moment.counts)))
            for topic, count in moment.counts.items():
                _write_name(file, topic)
                file.write(struct.pack(">i", count))
            _write_members(file, sent)

    def _sends(self, kind: str, moment: Moment, member: str) -> bytes:
        topics = moment.subscriptions[member]
        before, sent = self._sent.get((kind, member), (None, b""))
        if topics != before:
            assignor = ASSIGNORS[kind]()
            if (owned := moment.owned.get(member)) is not None:
                # All phases after the first have one generation, so a member's history is the same in each.
                assignor.on_assignment(ConsumerProtocolAssignment(0, sorted(owned.items()), b""), GENERATION)
            sent = bytes(assignor.metadata(topics).encode())
            self._sent[kind, member] = topics, sent
        return sent


def read_group(path: Path) -> tuple[Counts, dict[str, bytes]]:
    """Return the topics' numbers of partitions, and every member's subscription."""
    with path.open("rb") as file:
        counts = {_read_name(file): _read_number(file) for _ in range(_read_number(file))}
        return counts, _read_members(file)


def write_plan(path: Path, assignments: Mapping[str, bytes]) -> None:
    with path.open("wb") as file:
        _write_members(file, assignments)


def read_plan(path: Path) -> Plan:
    """Return member -> topic -> partitions."""
    with path.open("rb") as file:
        assignments = _read_members(file)
    return {member: _assigned(data) for member, data in assignments.items()}


def _assigned(data: bytes) -> dict[str, list[int]]:
    """Read an assignment of any version.  A million partitions take 1 s; kafka-python takes 8 s."""
    (topics,), position = struct.unpack_from(">i", data, 2), 6
    assigned: dict[str, list[int]] = {}
    for _ in range(topics):
        (length,) = struct.unpack_from(">H", data, position)
        topic = data[position + 2 : position + 2 + length].decode("ascii")
        (count,) = struct.unpack_from(">i", data, position + 2 + length)
        position += 6 + length
        assigned[topic] = list(struct.unpack_from(f">{count}i", data, position))
        position += 4 * count
    return assigned


def _write_members(file: BinaryIO, members: Mapping[str, bytes]) -> None:
    file.write(struct.pack(">i", len(members)))
    for member, data in members.items():
        _write_name(file, member)
        file.write(struct.pack(">i", len(data)))
        file.write(data)


def _read_members(file: BinaryIO) -> dict[str, bytes]:
    return {_read_name(file): file.read(_read_number(file)) for _ in range(_read_number(file))}


def _write_name(file: BinaryIO, name: str) -> None:
    data = name.encode("ascii")
    file.write(struct.pack(">H", len(data)) + data)


def _read_name(file: BinaryIO) -> str:
    (length,) = struct.unpack(">H", file.read(2))
    return file.read(length).decode("ascii")


def _read_number(file: BinaryIO) -> int:
    (number,) = struct.unpack(">i", file.read(4))
    return int(number)
