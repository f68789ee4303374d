"""One task's state in this process: its directory, its store, and how far it is."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.checkpoint import Damaged, Position
from kafka_assignors.stateful.state_dir import StateDir, TaskDir
from kafka_assignors.stateful.store import Store
from kafka_assignors.stateful.stores import Stores
from kafka_assignors.stateful.topology import Task

__all__ = ["Changelog", "Copy"]

log = logging.getLogger("kafka_assignors")


@dataclass(frozen=True, slots=True)
class Changelog:
    """The log that a task's state is restored from.

    Attributes:
        at: its partition.
        topic_id: as the cluster knows it; None: not known.
    """

    at: TopicPartition
    topic_id: str | None = None


class Copy:
    """A task's store, opened; what is wrong with it is found here, logged, and begun anew.

    One thread at a time.

    Args:
        task: whose.
        changelog: what it is restored from; None: nothing.
        state_dir: where it lies.
        stores: what opens it.

    Raises:
        StateError: the disk is full, or does not let us.
    """

    def __init__(self, task: Task, changelog: Changelog | None, state_dir: StateDir, stores: Stores) -> None:
        self.task = task
        self.changelog = changelog
        self._stores = stores
        self._dir: TaskDir = state_dir.claim(task)
        self.saved = -1  # offset in the checkpoint
        try:
            self.store: Store = self._open()
        except BaseException:
            self._dir.release()
            raise
        try:
            self._first_checkpoint()
        except BaseException:
            self.drop()
            raise

    def __str__(self) -> str:
        return f"{self.task[0]}_{self.task[1]}"

    @property
    def position(self) -> int:
        """Offset of the next record of the changelog to apply."""
        return self.store.position or 0

    def apply(self, changes: Iterable[tuple[bytes, bytes | None]], position: int) -> None:
        """Apply records of the changelog, up to before that offset."""
        self.store.apply(changes, position)

    def save(self) -> None:
        """Bring it to disk and note how far it is.  Makes files: not after each commit."""
        if self.changelog is None:
            self.store.flush()
            return
        if self.store.position is None or self.store.position == self.saved:
            return
        position = self.store.flush()
        if position is not None:
            self._dir.write_checkpoint({self.changelog.at: Position(position, self.changelog.topic_id)})
            self.saved = position

    def begin_anew(self) -> None:
        """Forget everything: what is there is damaged, or of another log.

        Raises:
            StateError: that cannot be done; it is closed then.
        """
        try:
            self.store.close()
        except StateError as error:  # it is wiped anyway
            log.debug("state of task %s: %s", self, error)
        self._dir.wipe()
        self.store = self._new()
        self._first_checkpoint()

    def close(self) -> None:
        """Save it, if that can be, and let go of it."""
        try:
            self.store.rollback()
            self.save()
        finally:
            try:
                self.store.close()
            finally:
                self._dir.release()

    def drop(self) -> None:
        """Let go of it without a word more to the disk, which may be what is wrong."""
        try:
            self.store.close()
        except Exception as error:  # it is given up anyway
            log.warning("state of task %s: %s", self, error)
        finally:
            self._dir.release()

    def _open(self) -> Store:
        at_least, wrong = self._checked()
        if wrong is None:
            try:
                return self._stores.open(self._dir.store_path, at_least, logged=self.changelog is not None)
            except StateDamagedError as error:
                wrong = str(error)
        log.warning("state of task %s is restored from the beginning: %s", self, wrong)
        self._dir.wipe()
        return self._new()

    def _new(self) -> Store:
        self.saved = -1
        return self._stores.open(self._dir.store_path, logged=self.changelog is not None)

    def _first_checkpoint(self) -> None:
        """Say whose log it is of before there is anything: a store that nobody knows that of is wiped."""
        if self.changelog is not None and self.saved < 0:
            self._dir.write_checkpoint({self.changelog.at: Position(0, self.changelog.topic_id)})
            self.saved = 0

    def _checked(self) -> tuple[int | None, str | None]:
        """The offset the store has to be at, or what is wrong."""
        known = self._dir.read_checkpoint()
        if isinstance(known, Damaged):
            return None, known.reason
        if self.changelog is None:
            return None, None
        if known is None:
            return (
                None,
                "there is no checkpoint, so that nobody knows what it is of" if self._is_there() else None,
            )
        position = known.get(self.changelog.at)
        if position is None:
            return None, f"its checkpoint is of another changelog than {self.changelog.at.topic}"
        ids = {position.topic_id, self.changelog.topic_id} - {None}
        if len(ids) > 1:
            return None, f"topic {self.changelog.at.topic} was deleted and made again"
        self.saved = position.offset
        return position.offset, None

    def _is_there(self) -> bool:
        return self._dir.store_path.exists()
