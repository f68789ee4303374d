"""The checkpoint beside a store: the changelog offset up to which the store is on disk.

The file has two lines of text: a JSON object ``{"version": 1, "positions": [[topic, partition, offset, topic
id or null], ...]}``, and the CRC-32 of the first line as eight hexadecimal digits.  The checkpoint is written
after the store was flushed, so the store is at the checkpoint or beyond.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.state.files import read_up_to, write_whole
from kafka_assignors.strict_json import read_json

VERSION = 1
MAX_BYTES = 1024 * 1024
_MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a copy in its changelog.

    Attributes:
        offset: of the next record to apply.
        topic_id: the id of the changelog topic, which changes when it is deleted and created again; None:
            not known.
    """

    offset: int
    topic_id: str | None = None


Checkpoint = Mapping[TopicPartition, Position]
"""Changelog partition -> position of the copy on disk."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """An unreadable checkpoint: the state must be restored from the beginning.

    Attributes:
        reason: one line for the log.
    """

    reason: str


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint; after a crash it is the new one or the old one."""
    positions = [
        [*partition, position.offset, position.topic_id] for partition, position in sorted(checkpoint.items())
    ]
    line = json.dumps({"version": VERSION, "positions": positions}, separators=(",", ":")).encode()
    write_whole(path, b"%s\n%08x\n" % (line, zlib.crc32(line)))


def read(path: Path) -> Checkpoint | Damaged | None:
    """Read a checkpoint; None if there is none."""
    data = read_up_to(path, MAX_BYTES)
    if data is None:
        return None
    if len(data) > MAX_BYTES:
        return Damaged(f"{path}: more than {MAX_BYTES} bytes")
    line, _, rest = data.partition(b"\n")
    if rest != b"%08x\n" % zlib.crc32(line):
        return Damaged(f"{path}: truncated, or changed after it was written")
    try:
        return _positions(read_json(line.decode()))
    except (ValueError, TypeError) as error:
        return Damaged(f"{path}: {error}"[:300])


def _positions(content: Any) -> Checkpoint:
    version = content.get("version") if isinstance(content, dict) else None
    if version != VERSION:
        raise ValueError(f"version {version!r}, expected {VERSION}")
    positions: dict[TopicPartition, Position] = {}
    for entry in content.get("positions"):
        match entry:
            case [str(topic), int(partition), int(offset), str() | None as topic_id] if (
                0 <= partition <= _MOST
                and 0 <= offset <= _MOST
                and bool not in {type(partition), type(offset)}
            ):
                positions[TopicPartition(topic, partition)] = Position(offset, topic_id)
            case _:
                raise ValueError("an invalid position")
    return positions
