"""Files that are there whole or not at all, whatever ends the process or the machine in between."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kafka_assignors.stateful.state.faults import state_error

__all__ = ["read_up_to", "sync_dir", "write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file: beside it, on disk, renamed, and the name on disk, too.

    Raises:
        StateError: it could not be written; what was there before still is.
    """
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_dir(path.parent)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise state_error(error, path) from error


def read_up_to(path: Path, most: int) -> bytes | None:
    """Read a file, but not more than ``most`` bytes and one; None if there is none.

    Raises:
        StateError: there is one, and it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise state_error(error, path) from error


def sync_dir(path: Path) -> None:
    """Bring a directory's names to disk, where the system can (Windows does without)."""
    if os.name == "nt":
        return
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
