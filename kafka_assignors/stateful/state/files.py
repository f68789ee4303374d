"""Reads, writes and deletes files of the state, with errors of our own."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from kafka_assignors.files import atomic_write
from kafka_assignors.stateful.state.faults import state_error

log = logging.getLogger("kafka_assignors")


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file atomically and on disk: a crash of the machine leaves the old file or the new one.

    Raises:
        StateError: the write failed; the file is the old one, or already the new one.
    """
    try:
        atomic_write(path, data, sync=True)
    except OSError as error:
        raise state_error(error, path) from error


def read_up_to(path: Path, most: int) -> bytes | None:
    """Read at most ``most + 1`` bytes, so that a longer file is noticed; None if there is no file."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise state_error(error, path) from error


def delete_directory(path: Path) -> None:
    """Delete a directory; logs a failure."""
    try:
        shutil.rmtree(path)
    except OSError as error:  # it belongs to no task any more, and the next start tries again
        log.warning("%s could not be deleted: %s", path, error.strerror)
