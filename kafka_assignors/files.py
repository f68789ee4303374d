"""Files that are whole or absent."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def atomic_write(path: Path, data: bytes, *, sync: bool = False, new_path: Path | None = None) -> None:
    """Replace a file: write a second one beside it, and rename that.

    Readers find the old content or the new one, also after a crash of this process.

    Args:
        path: the file; its directory exists.
        data: the new content.
        sync: force the content and the new name to disk before returning, so that a crash of the machine
            leaves a whole file, too.  Takes milliseconds.
        new_path: the second file.  By default ``<path>.new``, so only one process may write ``path`` at a
            time, and the next write overwrites a second file that a crash left.

    Raises:
        OSError: the write failed, and the old file is still there; or only forcing the new name to disk
            failed, and the new file is there.
    """
    new_path = path.with_name(f"{path.name}.new") if new_path is None else new_path
    try:
        with new_path.open("wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        new_path.replace(path)
        if sync:
            sync_dir(path.parent)
    except BaseException:
        with suppress(OSError):
            new_path.unlink()
        raise


def sync_dir(path: Path) -> None:
    """Sync a directory's names to disk; does nothing on Windows, which cannot."""
    if os.name == "nt":
        return
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
