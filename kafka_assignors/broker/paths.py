"""Directories for files that outlive a process, and the lock on such a file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_assignors.errors import BrokerError


def _dir(own: str, xdg: str, fallback: str) -> Path:
    # The XDG specification ignores relative paths in its variables.
    if value := os.environ.get(own):
        return expanded(value)
    base = Path(os.environ.get(xdg) or "")
    return (base if base.is_absolute() else expanded(f"~/{fallback}")) / "kafka-assignors"


def expanded(path: str | Path) -> Path:
    """Return a path as absolute, with ``~`` and ``~user`` expanded.

    Raises:
        BrokerError: there is no such user, or the process has no home directory.
    """
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise BrokerError(f"cannot find the directory {path}: {error}") from error


def cache_dir() -> Path:
    """Directory of files that can be fetched again: ``$KAFKA_ASSIGNORS_CACHE``, else the user's XDG cache."""
    return _dir("KAFKA_ASSIGNORS_CACHE", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """Directory of the running broker's state: ``$KAFKA_ASSIGNORS_STATE``, else the user's XDG state."""
    return _dir("KAFKA_ASSIGNORS_STATE", "XDG_STATE_HOME", ".local/state")


@contextmanager
def locked_file(path: Path, *, wait: bool) -> Iterator[int | None]:
    """Lock a file until this block and all processes that inherited the descriptor have ended.

    The kernel releases the lock with the last copy of the descriptor, also after ``kill -9``.  ``filelock``
    cannot be shared with child processes: at the end of this block it would unlock the file for all of them.

    Args:
        path: the file, created if missing.
        wait: wait for the lock if another process holds it.

    Yields:
        The descriptor; None: another process holds the lock (never with ``wait``).

    Raises:
        OSError: the file cannot be opened.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            is_locked = False
        else:
            is_locked = True
        yield file.fileno() if is_locked else None
