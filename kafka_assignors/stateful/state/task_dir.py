"""One task's directory, claimed by one user at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_assignors.files import sync_dir
from kafka_assignors.stateful.state import checkpoint
from kafka_assignors.stateful.state.checkpoint import Checkpoint, Damaged
from kafka_assignors.stateful.state.faults import state_errors
from kafka_assignors.wire.stateful.task_section import Task

if TYPE_CHECKING:
    from kafka_assignors.stateful.state.state_dir import StateDir


class TaskDir:
    """One task's directory, claimed in this process until `release`.

    Attributes:
        task: its id.
        path: the directory.
    """

    def __init__(self, task: Task, path: Path, state_dir: StateDir) -> None:
        self.task = task
        self.path = path
        self._state_dir = state_dir

    @property
    def store_path(self) -> Path:
        """The directory for `Stores.open`."""
        return self.path / "store"

    def read_checkpoint(self) -> Checkpoint | Damaged | None:
        """Return the checkpoint; None: there is none.

        If the checkpoint is missing or damaged, wipe the directory before a restore.

        Raises:
            StateError: the file cannot be read.
        """
        return checkpoint.read(self.path / "checkpoint")

    def write_checkpoint(self, positions: Checkpoint) -> None:
        """Replace the checkpoint, after the store was flushed.

        Raises:
            StateError: the write failed; the checkpoint is the old one, or already the new one.
        """
        checkpoint.write(self.path / "checkpoint", positions)

    def confirm_checkpoint(self, confirmed_at: float) -> bool:
        """Set the checkpoint's time: when the copy was last in touch with its changelog, seconds since 1970.

        Returns:
            Whether the time was set.
        """
        try:
            os.utime(self.path / "checkpoint", (confirmed_at, confirmed_at))
        except OSError:
            return False
        return True

    def delete_checkpoint(self) -> None:
        """Delete the checkpoint, if there is one.

        Raises:
            StateError: it failed; the checkpoint may still be there.
        """
        with state_errors(self.path):
            (self.path / "checkpoint").unlink(missing_ok=True)
            sync_dir(self.path)

    def wipe(self) -> None:
        """Replace the directory by an empty one, after the store was closed.

        Raises:
            StateError: it failed; the old state, and its checkpoint, may still be there.
        """
        self.delete_checkpoint()  # first: if the rest fails, state without a checkpoint is not used
        self._state_dir.remove(self.path)
        self._state_dir.make(self.path)

    def release(self) -> None:
        """Release the claim, after the store was closed.  Safe to repeat."""
        self._state_dir.released(self)

    def __enter__(self) -> TaskDir:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
