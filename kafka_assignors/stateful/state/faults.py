"""What the system and the store's library raise, as errors that say in a line what to do."""

from __future__ import annotations

import errno
import os

from kafka_assignors.errors import (
    StateDamagedError,
    StateDeniedError,
    StateError,
    StateFullError,
    StateLockedError,
)

__all__ = ["state_error", "store_error"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_LOCKED = {errno.EAGAIN, errno.ENOLCK}
_OTHER = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}
_LONGEST = 300
_DAMAGE = ("Corruption", "IO error", "NotFound")
"""What RocksDB says of data that it once could use."""


def state_error(error: OSError, where: object) -> StateError:
    """Sort an error of the system; ``where`` is the file or directory that was wanted."""
    return _sorted(error.errno, str(where), error.strerror or type(error).__name__)


def store_error(error: Exception, where: object, *, logged: bool = True, in_use: bool = False) -> StateError:
    """Sort an error of the store's library: its exceptions have no types, the text is all there is.

    RocksDB ends the text of what the system said with the system's words; what it says itself (corruption,
    files that are missing or do not belong together) means that the store is not what was written.  It is
    wiped then, and restored; where there is no changelog (``logged``), only if the text says corruption, and
    not of a file that is gone: what is wiped is lost, and others are of what somebody may be able to mend.

    A store that could be opened is ``in_use``.  A text that is not known tells nothing about it then: it may
    be about what was asked for, which would be asked again of a store that was restored, for ever.
    """
    text = " ".join(str(error).split())
    corrupt = text.startswith("Corruption")
    if not corrupt:
        for number in (*_FULL, *_DENIED, *_LOCKED, *_OTHER):
            if os.strerror(number) in text:
                return _sorted(number, str(where), os.strerror(number))
        if "lock hold by current process" in text:
            return _sorted(errno.ENOLCK, str(where), "")
    says = text[:_LONGEST]
    if in_use and not text.startswith(_DAMAGE):
        return StateError(f"cannot use {where}: {says}")
    if logged:
        return StateDamagedError(f"the store {where} is damaged and has to be restored: {says}")
    if corrupt and "IO error" not in text:
        return StateDamagedError(
            f"the store {where} is damaged, has no changelog, and its state is lost: {says}"
        )
    return StateError(
        f"cannot use {where}: {says}; it has no changelog to be restored from, so it is left as it is: "
        "mend it, or delete it to begin without state"
    )


def _sorted(number: int | None, where: str, says: str) -> StateError:
    if number in _FULL:
        return StateFullError(f"no room for state in {where}: {says}; make room, then start again")
    if number in _DENIED:
        return StateDeniedError(f"not allowed to use {where}: {says}")
    if number in _LOCKED:
        return StateLockedError(f"{where} is in use")
    return StateError(f"cannot use {where}: {says}")
