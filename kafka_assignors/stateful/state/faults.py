"""Turns errors of the system and of the store's library into our own, with messages of one line."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_assignors.errors import (
    StateDamagedError,
    StateDeniedError,
    StateError,
    StateFullError,
    StateLockedError,
)

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_LOCKED = {errno.EAGAIN}
_OTHER = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOLCK}
_LONGEST = 300  # characters of an error's text
_DAMAGE = ("Corruption", "IO error", "NotFound")
"""Beginnings of RocksDB's texts about damaged data."""


@contextmanager
def state_errors(where: object) -> Iterator[None]:
    """Turn errors of the system into ours during the block; ``where`` is the file or directory."""
    try:
        yield
    except OSError as error:
        raise _error_of(error.errno, str(where), error.strerror or type(error).__name__) from error


def store_error(error: Exception, where: object, *, logged: bool = True, in_use: bool = False) -> StateError:
    """Turn an error of the store's library into ours by its text, because the library has no error types.

    RocksDB appends the system's words to a system error.  RocksDB's own words (corruption, files that are
    missing or do not belong together) mean a damaged store, which is wiped and restored.  A wipe of a store
    without a changelog (not ``logged``) loses its state, and an operator may be able to repair a fault.  So
    such a store is wiped only for corruption that is not about a missing file.

    An unknown text about an open store (``in_use``) does not mean damage: it may be about the request, which
    would fail again on a restored store, forever.
    """
    text = " ".join(str(error).split())
    is_corrupt = text.startswith("Corruption")
    if not is_corrupt:
        if "lock hold by current process" in text:  # followed by the words of ENOLCK
            return _error_of(errno.EAGAIN, str(where), "")
        for number in (*_FULL, *_DENIED, *_LOCKED, *_OTHER):
            if os.strerror(number) in text:
                return _error_of(number, str(where), os.strerror(number))
    detail = text[:_LONGEST]
    if in_use and not text.startswith(_DAMAGE):
        return StateError(f"cannot use {where}: {detail}")
    if logged:
        return StateDamagedError(f"the store {where} is damaged and must be restored: {detail}")
    if is_corrupt and "IO error" not in text:
        return StateDamagedError(
            f"the store {where} is damaged, has no changelog, and its state is lost: {detail}"
        )
    return StateError(
        f"cannot use {where}: {detail}; it has no changelog, so it is left as it is: "
        "repair it, or delete it to start without state"
    )


def _error_of(number: int | None, where: str, detail: str) -> StateError:
    if number in _FULL:
        return StateFullError(f"no room for state in {where}: {detail}; free some space, then start again")
    if number in _DENIED:
        return StateDeniedError(f"not allowed to use {where}: {detail}")
    if number in _LOCKED:
        return StateLockedError(f"{where} is in use")
    return StateError(f"cannot use {where}: {detail}")
