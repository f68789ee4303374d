"""Reads, writes and deletes files of the state, with errors of our own."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from kafka_assignors.files import atomic_write
from kafka_assignors.stateful.state.faults import state_errors

log = logging.getLogger("kafka_assignors")


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file atomically and on disk: a crash of the machine leaves the old file or the new one.

    Raises:
        StateError: the write failed; the file is the old one, or already the new one.
    """
    with state_errors(path):
        atomic_write(path, data, sync=True)


def read_up_to(path: Path, most: int) -> bytes | None:
    """Read at most ``most + 1`` bytes, so that a longer file is noticed; None if there is no file."""
    with state_errors(path):
        try:
            with path.open("rb") as file:
                return file.read(most + 1)
        except FileNotFoundError:
            return None


def delete_directory(path: Path) -> None:
    """Delete a directory; logs a failure."""
    try:
        shutil.rmtree(path)
    except OSError as error:  # it belongs to no task any more, and the next start tries again
        log.warning("%s could not be deleted: %s", path, error.strerror)
