"""One task's directory, in one place's hands at a time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from kafka_assignors.stateful.state import checkpoint
from kafka_assignors.stateful.state.checkpoint import Checkpoint, Damaged
from kafka_assignors.wire.task_section import Task

if TYPE_CHECKING:
    from kafka_assignors.stateful.state.state_dir import StateDir

__all__ = ["TaskDir"]


class TaskDir:
    """One task's directory, claimed: nobody else in this process gets it before `release`.

    Attributes:
        task: whose it is.
        path: the directory.
    """

    def __init__(self, task: Task, path: Path, of: StateDir) -> None:
        self.task = task
        self.path = path
        self._of = of

    @property
    def store_path(self) -> Path:
        """Where `Stores.open` finds or makes the store."""
        return self.path / "store"

    def read_checkpoint(self) -> Checkpoint | Damaged | None:
        """The checkpoint; None: there is none.  If it is not a `Checkpoint`, wipe before you restore.

        Raises:
            StateError: the system does not let us.
        """
        return checkpoint.read(self.path / "checkpoint")

    def write_checkpoint(self, positions: Checkpoint) -> None:
        """Replace the checkpoint, after the store was flushed.

        Raises:
            StateError: it could not be written; the one before is still there.
        """
        checkpoint.write(self.path / "checkpoint", positions)

    def confirm_checkpoint(self) -> None:
        """The store is still where the checkpoint says, and that is all there is: its time is now."""
        with suppress(OSError):  # then it is taken for older than it is
            os.utime(self.path / "checkpoint")

    def wipe(self) -> None:
        """Begin anew with an empty directory; the store has to be closed.

        Raises:
            StateError: it could not be done; then nothing of it is taken for good any more.
        """
        self._of.remove(self.path)
        self._of.make(self.path)

    def release(self) -> None:
        """Let others have it; the store has to be closed.  Releasing twice is no matter."""
        self._of.released(self)

    def __enter__(self) -> TaskDir:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.release()
