"""The directory with an application's state: one process at a time, a directory for each task.

==========================================================  ================================================
``<store_dir>/<application>/lock``                          held while a process uses it
``<store_dir>/<application>/process``                       the id of the process, which outlives it; its pid
``<store_dir>/<application>/<subtopology>_<partition>/``    one task
``.../checkpoint``, ``.../store/``                          see `checkpoint` and `store`
``<store_dir>/<application>/%removed-...``                  was a task, is being deleted
==========================================================  ================================================

Names are quoted as in URLs where a file cannot be called so.  A directory's time of change is when its task
was last in use.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote
from uuid import UUID, uuid4

from kafka_assignors.errors import (
    MissingExtraError,
    OptionError,
    StateClosedError,
    StateError,
    StateLockedError,
)
from kafka_assignors.stateful.state import checkpoint
from kafka_assignors.stateful.state.checkpoint import Checkpoint, Damaged
from kafka_assignors.stateful.state.faults import state_error
from kafka_assignors.stateful.state.files import read_up_to, sync_dir, write_whole
from kafka_assignors.stateful.state.removal import Removal, delete
from kafka_assignors.stateful.state.task_dir import TaskDir
from kafka_assignors.wire.task_section import Task

__all__ = ["StateDir"]

log = logging.getLogger("kafka_assignors")

_REMOVED = "%removed-"  # no task's: "%" is quoted
_VERSION = 1


class StateDir:
    """The state of one application on this machine, locked until it is closed (or the process ends).

    Args:
        store_dir: made if it is not there.
        application: the group; each has a directory of its own.
        clock: seconds since 1970.

    Attributes:
        path: the application's directory.
        process_id: made once; the same after a restart, so that the group knows whose state this is
            (KIP-441).

    Raises:
        StateLockedError: another process uses it, or another consumer of this one.
        StateError: the system does not let us.
        OptionError: an application without a name.
        MissingExtraError: filelock is not installed.
    """

    def __init__(
        self, store_dir: str | os.PathLike[str], application: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        try:
            import filelock
        except ImportError as error:
            raise MissingExtraError("stateful", "filelock") from error
        if not application:
            raise OptionError("application", "an empty name")
        self.path = Path(store_dir) / _quoted(application)
        self._clock = clock
        self._since = clock()
        self._removal = Removal()
        self._guard = threading.Lock()
        self._claimed: dict[Task, TaskDir] = {}
        self._closed = False
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = filelock.FileLock(self.path / "lock", thread_local=False)
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise StateLockedError(
                f"{self.path} is in use by {self._holder()}; "
                "give each consumer of this machine its own store_dir"
            ) from error
        except OSError as error:
            raise state_error(error, self.path) from error
        try:
            self.process_id = self._identify()
            for left in self._entries():
                if left.name.startswith(_REMOVED):
                    self._removal.delete(left)
        except StateError:
            self._removal.close()
            self._lock.release()
            raise

    def tasks(self) -> dict[Task, Checkpoint | Damaged | None]:
        """The tasks that have a directory, and their checkpoints: how far each copy is, without opening it.

        Raises:
            StateError: the system does not let us.
        """
        self._check_open()
        return {task: checkpoint.read(self._dir(task) / "checkpoint") for task in self._tasks()}

    def unconfirmed_s(self, task: Task) -> float:
        """Seconds since a task's checkpoint was written or confirmed; 0 if there is none."""
        try:
            return max(0.0, self._clock() - (self._dir(task) / "checkpoint").stat().st_mtime)
        except OSError:
            return 0.0

    def claim(self, task: Task) -> TaskDir:
        """Take a task's directory, made if it is not there.

        Raises:
            StateLockedError: somebody in this process has it.
            StateError: the system does not let us.
        """
        with self._guard:
            self._check_open()
            if task in self._claimed:
                raise StateLockedError(f"state of task {task[0]}_{task[1]} is in use in this process")
            path = self._dir(task)
            self.make(path)
            self._used(path)
            claimed = self._claimed[task] = TaskDir(task, path, self)
        return claimed

    def idle(self, delay_s: float, keep: Collection[Task] = ()) -> list[Task]:
        """Tasks whose state nobody used for so long, and not since this directory was opened.

        A process that was away for a while has told its group of that state, and may be given the tasks.

        Raises:
            StateError: the directory cannot be read.
        """
        self._check_open()
        now = self._clock()
        found = []
        for task in self._tasks():
            if task in self._claimed or task in keep:
                continue
            with suppress(OSError):  # somebody else's doing: gone is gone
                if now - max(self._dir(task).stat().st_mtime, self._since) >= delay_s:
                    found.append(task)
        return found

    def clean(
        self, delay_s: float, keep: Collection[Task] = (), *, among: Collection[Task] | None = None
    ) -> list[Task]:
        """Delete state that nobody used for so long, and say whose.  What cannot be deleted is logged.

        It is out of the way at once, and deleted by a thread aside.

        Args:
            delay_s: a task may come back: its state is worth keeping for a while.
            keep: tasks to leave alone; those claimed are, in any case.
            among: only of these; None: of all.

        Raises:
            StateError: the directory cannot be read.
        """
        gone = []
        for task in self.idle(delay_s, keep):
            if among is not None and task not in among:
                continue
            with self._guard:
                if task in self._claimed:
                    continue
                try:
                    self._removal.delete(self._put_aside(self._dir(task)))
                except StateError as error:
                    log.warning("state of task %s_%s could not be deleted: %s", *task, error)
                    continue
            gone.append(task)
        return gone

    def close(self) -> None:
        """Unlock it: stores have to be closed.  Closing twice is no matter."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            claimed = list(self._claimed.values())
        for each in claimed:
            each.release()
        self._removal.close()
        self._lock.release()

    def __enter__(self) -> StateDir:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    # --- for `TaskDir`

    def make(self, path: Path) -> None:
        """Make a task's directory, on disk."""
        try:
            path.mkdir(exist_ok=True)
            sync_dir(self.path)
        except OSError as error:
            raise state_error(error, path) from error

    def remove(self, path: Path) -> None:
        """Delete a task's directory now: there is room for what comes in its place."""
        delete(self._put_aside(path))

    def released(self, claimed: TaskDir) -> None:
        """Note that it is free, and since when."""
        with self._guard:
            if self._claimed.get(claimed.task) is claimed:
                del self._claimed[claimed.task]
                self._used(claimed.path)

    def _put_aside(self, path: Path) -> Path:
        """Rename it, so that half of it is never taken for state."""
        aside = self.path / f"{_REMOVED}{uuid4().hex}"
        try:
            path.rename(aside)
            sync_dir(self.path)
        except OSError as error:
            raise state_error(error, path) from error
        return aside

    def _used(self, path: Path) -> None:
        now = self._clock()
        with suppress(OSError):  # it is about when to delete it; the system's own time will do
            os.utime(path, (now, now))

    def _tasks(self) -> list[Task]:
        return sorted(task for entry in self._entries() if (task := _task(entry)) and entry.is_dir())

    def _dir(self, task: Task) -> Path:
        return self.path / f"{_quoted(task[0])}_{task[1]}"

    def _entries(self) -> list[Path]:
        try:
            return list(self.path.iterdir())
        except OSError as error:
            raise state_error(error, self.path) from error

    def _check_open(self) -> None:
        if self._closed:
            raise StateClosedError(f"{self.path} was closed")

    def _identify(self) -> UUID:
        """The id in the file, or a new one; and who we are, for others to see."""
        file = self.path / "process"
        try:
            process_id = UUID(json.loads(read_up_to(file, 1000) or b"")["process_id"])
        except (ValueError, TypeError, KeyError, AttributeError):
            process_id = uuid4()
        told = {"version": _VERSION, "process_id": str(process_id), "pid": os.getpid()}
        write_whole(file, json.dumps(told).encode() + b"\n")
        return process_id

    def _holder(self) -> str:
        try:
            return f"process {int(json.loads(read_up_to(self.path / 'process', 1000) or b'')['pid'])}"
        except (StateError, ValueError, TypeError, KeyError):
            return "another process"


def _quoted(name: str) -> str:
    """A name as a file can be called, also ``.`` and ``..``; with no ``%`` of its own."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def _task(path: Path) -> Task | None:
    """Whose directory that is; None: no task's."""
    name, _, number = path.name.rpartition("_")
    task = (unquote(name), int(number)) if name and number.isascii() and number.isdigit() else None
    return task if task and path.name == f"{_quoted(task[0])}_{task[1]}" else None
