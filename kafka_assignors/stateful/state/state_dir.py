"""The directory with an application's state: one process at a time, one directory a task.

==========================================================  ================================================
``<store_dir>/<application>/lock``                          held while a process uses it
``<store_dir>/<application>/process``                       the process id of KIP-441, and the pid
``<store_dir>/<application>/<subtopology>_<partition>/``    one task
``.../checkpoint``, ``.../store/``                          see `checkpoint` and `store`
``<store_dir>/<application>/%removed-...``                  a removed task, being deleted
==========================================================  ================================================

Names are quoted as in URLs: all but ASCII letters, digits, ``_``, ``.``, ``-`` and ``~``.  The modification
time of a task's directory is its last use.  That of a checkpoint is when the copy was last in touch with its
changelog.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote
from uuid import UUID, uuid4

from kafka_assignors.background import Background
from kafka_assignors.errors import (
    StateClosedError,
    StateError,
    StateLockedError,
    needs_extra,
)
from kafka_assignors.files import sync_dir
from kafka_assignors.stateful.state import checkpoint
from kafka_assignors.stateful.state.checkpoint import Checkpoint, Damaged
from kafka_assignors.stateful.state.faults import state_errors
from kafka_assignors.stateful.state.files import delete_directory, read_up_to, write_whole
from kafka_assignors.stateful.state.task_dir import TaskDir
from kafka_assignors.strict_json import read_json
from kafka_assignors.validators import text
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_REMOVED = "%removed-"  # no task's directory has this prefix, because "%" is quoted
_VERSION = 1


class StateDir:
    """The state of one application on this machine, locked until it is closed or the process ends.

    Attributes:
        path: the application's directory.
        process_id: id of this state in the group (KIP-441), created once and kept over restarts.

    Raises:
        StateLockedError: another process or consumer uses it.
        StateError: the directory cannot be used.
        OptionError: the application has no name.
        MissingExtraError: filelock is not installed.
    """

    def __init__(
        self, store_dir: str | os.PathLike[str], application: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        with needs_extra("stateful"):
            import filelock
        text("application", application)
        self.path = Path(store_dir) / _quoted(application)
        self._clock = clock
        self._opened_at = clock()
        self._deleter = Background("kafka-assignors-removal")
        self._guard = threading.Lock()
        self._claimed: dict[Task, TaskDir] = {}
        self._closed = False
        with state_errors(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = filelock.FileLock(self.path / "lock", thread_local=False)
            try:
                self._lock.acquire(timeout=0)
            except filelock.Timeout as error:
                raise StateLockedError(
                    f"{self.path} is in use by {self._holder()}; "
                    "give each consumer on this machine a store_dir of its own"
                ) from error
        try:
            self.process_id = self._identify()
            for entry in self._entries():
                if entry.name.startswith(_REMOVED):
                    self._delete_later(entry)
        except StateError:
            self._deleter.stop()
            self._lock.release()
            raise

    def tasks(self) -> dict[Task, Checkpoint | Damaged | None]:
        """Return the tasks with a directory, and their checkpoints, without opening the stores.

        Raises:
            StateError: a checkpoint or the directory cannot be read.
        """
        self._check_open()
        return {task: checkpoint.read(self._dir(task) / "checkpoint") for task in self._tasks()}

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        return self._clock()

    def unconfirmed_s(self, task: Task) -> float:
        """Return the seconds since a task's copy was in touch with its changelog; 0 without a checkpoint."""
        try:
            return max(0.0, self._clock() - (self._dir(task) / "checkpoint").stat().st_mtime)
        except OSError:
            return 0.0

    def claim(self, task: Task) -> TaskDir:
        """Take a task's directory; creates it if missing.

        Raises:
            StateLockedError: it is claimed already.
            StateError: it cannot be created.
        """
        with self._guard:
            self._check_open()
            if task in self._claimed:
                raise StateLockedError(f"state of task {task[0]}_{task[1]} is in use in this process")
            path = self._dir(task)
            self.make(path)
            self._note_use(path)
            claimed = self._claimed[task] = TaskDir(task, path, self)
        return claimed

    def idle(self, delay_s: float, keep: Collection[Task] = ()) -> list[Task]:
        """Return tasks whose state was unused for ``delay_s`` while this directory was open.

        The time before it was opened does not count: a process that was away reports its old state to the
        group, and may get those tasks.

        Raises:
            StateError: the directory cannot be read.
        """
        self._check_open()
        now = self._clock()
        idle = []
        for task in self._tasks():
            if task in self._claimed or task in keep:
                continue
            with suppress(OSError):  # the directory may be deleted meanwhile
                if now - max(self._dir(task).stat().st_mtime, self._opened_at) >= delay_s:
                    idle.append(task)
        return idle

    def clean(
        self, delay_s: float, keep: Collection[Task] = (), *, among: Collection[Task] | None = None
    ) -> list[Task]:
        """Delete state that was unused for ``delay_s``, and return its tasks; logs failures.

        Each task's directory is renamed at once, and deleted in a background thread.

        Args:
            delay_s: seconds without use before deletion, because a task may come back soon.
            keep: tasks to leave alone, beside claimed ones.
            among: only these tasks; None: all.

        Raises:
            StateError: the directory cannot be read.
        """
        removed = []
        for task in self.idle(delay_s, keep):
            if among is not None and task not in among:
                continue
            with self._guard:
                if task in self._claimed:
                    continue
                try:
                    self._delete_later(self._rename_removed(self._dir(task)))
                except StateError as error:
                    log.warning("task %s_%s: state could not be deleted: %s", *task, error)
                    continue
            removed.append(task)
        return removed

    def close(self, timeout_s: float | None = None) -> None:
        """Unlock the directory.  Close the stores first.  Safe to repeat.

        Waits up to ``timeout_s`` (None: no limit) for a running deletion; the next start deletes the rest.
        """
        with self._guard:
            if self._closed:
                return
            self._closed = True
            claimed = list(self._claimed.values())
        for task_dir in claimed:
            task_dir.release()
        self._deleter.stop()
        self._deleter.join(timeout_s)
        self._lock.release()

    def __enter__(self) -> StateDir:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- for `TaskDir`

    def make(self, path: Path) -> None:
        """Create a task's directory."""
        with state_errors(path):
            path.mkdir(exist_ok=True)
            sync_dir(self.path)

    def remove(self, path: Path) -> None:
        """Delete a task's directory before returning, to free its space for the copy that replaces it."""
        delete_directory(self._rename_removed(path))

    def released(self, claimed: TaskDir) -> None:
        """Note that a task's directory is free, and that it was in use until now."""
        with self._guard:
            if self._claimed.get(claimed.task) is claimed:
                del self._claimed[claimed.task]
                self._note_use(claimed.path)

    def _delete_later(self, path: Path) -> None:
        with suppress(RuntimeError):  # the thread cannot start, so the next start of the member deletes it
            self._deleter.submit(partial(delete_directory, path))

    def _rename_removed(self, path: Path) -> Path:
        """Rename a directory, so that a half-deleted one never counts as state."""
        removed = self.path / f"{_REMOVED}{uuid4().hex}"
        with state_errors(path):
            path.rename(removed)
            try:
                sync_dir(self.path)
            except OSError:
                removed.rename(path)  # the caller keeps the state, so it must still be there
                raise
        return removed

    def _note_use(self, path: Path) -> None:
        now = self._clock()
        with suppress(OSError):  # only the time of deletion depends on it
            os.utime(path, (now, now))

    def _tasks(self) -> list[Task]:
        return sorted(task for entry in self._entries() if (task := _task(entry)) and entry.is_dir())

    def _dir(self, task: Task) -> Path:
        return self.path / f"{_quoted(task[0])}_{task[1]}"

    def _entries(self) -> list[Path]:
        with state_errors(self.path):
            return list(self.path.iterdir())

    def _check_open(self) -> None:
        if self._closed:
            raise StateClosedError(f"{self.path} was closed")

    def _identify(self) -> UUID:
        """Return the id in the file, or a new one; write it with this process's pid, for `_holder`."""
        file = self.path / "process"
        try:
            process_id = UUID(read_json(read_up_to(file, 1000) or b"")["process_id"])
        except (ValueError, TypeError, KeyError, AttributeError):
            process_id = uuid4()
        content = {"version": _VERSION, "process_id": str(process_id), "pid": os.getpid()}
        write_whole(file, json.dumps(content).encode() + b"\n")
        return process_id

    def _holder(self) -> str:
        try:
            return f"process {int(read_json(read_up_to(self.path / 'process', 1000) or b'')['pid'])}"
        except (StateError, ValueError, TypeError, KeyError):
            return "another process"


def _quoted(name: str) -> str:
    """Quote a name for the file system, also ``%``, ``.`` and ``..``."""
    # A file name that is not UTF-8 has surrogates in Python.
    return quote(name, safe="", errors="surrogatepass") if name.strip(".") else name.replace(".", "%2E")


def _task(path: Path) -> Task | None:
    """Return the task of a directory; None: it belongs to no task."""
    name, _, number = path.name.rpartition("_")
    task = (unquote(name), int(number)) if name and number.isascii() and number.isdigit() else None
    return task if task and path.name == f"{_quoted(task[0])}_{task[1]}" else None
