"""Deletes directories in a thread of its own, because gigabytes take their time."""

from __future__ import annotations

import logging
import shutil
import threading
from pathlib import Path
from queue import SimpleQueue

log = logging.getLogger("kafka_assignors")


class DirectoryDeleter:
    """Deletes directories one after the other.  The first deletion starts the thread."""

    def __init__(self) -> None:
        self._paths: SimpleQueue[Path | None] = SimpleQueue()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def delete(self, path: Path) -> None:
        """Queue a directory for deletion."""
        self._paths.put(path)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafka-assignors-removal", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Wait for the current deletion and drop the queue."""
        self._stop.set()
        self._paths.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (path := self._paths.get()) is not None and not self._stop.is_set():
            delete(path)


def delete(path: Path) -> None:
    """Delete a directory now; log a failure."""
    try:
        shutil.rmtree(path)
    except OSError as error:  # it belongs to no task any more, and the next start tries again
        log.warning("%s could not be deleted: %s", path, error.strerror)
