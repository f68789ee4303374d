"""Files that are whole or absent, also after a crash of the process or the machine."""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

from kafka_assignors.stateful.state.faults import state_error

log = logging.getLogger("kafka_assignors")


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file: write a second one, sync it, rename it, and sync the directory.

    Raises:
        StateError: the write failed; the old file is still there.
    """
    new_path = path.with_name(path.name + ".new")
    try:
        with new_path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new_path.replace(path)
        sync_dir(path.parent)
    except OSError as error:
        with suppress(OSError):
            new_path.unlink()
        raise state_error(error, path) from error


def read_up_to(path: Path, most: int) -> bytes | None:
    """Read up to ``most`` bytes and one more; None if there is no file.

    Raises:
        StateError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise state_error(error, path) from error


def delete(path: Path) -> None:
    """Delete a directory; logs a failure."""
    try:
        shutil.rmtree(path)
    except OSError as error:  # it belongs to no task any more, and the next start tries again
        log.warning("%s could not be deleted: %s", path, error.strerror)


def sync_dir(path: Path) -> None:
    """Sync a directory's names to disk; does nothing on Windows, which cannot."""
    if os.name == "nt":
        return
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
