"""One task's state in this process: its directory, its store, and how far it is."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.state.checkpoint import Checkpoint, Damaged, Position
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.stateful.state.stores import Stores
from kafka_assignors.stateful.state.task_dir import TaskDir
from kafka_assignors.stateful.topology import Task

__all__ = ["Changelog", "Copy", "is_stale", "offset_in"]

log = logging.getLogger("kafka_assignors")


@dataclass(frozen=True, slots=True)
class Changelog:
    """The log that a task's state is restored from.

    Attributes:
        at: its partition.
        topic_id: as the cluster knows it; None: not known.
        keeps_deletes_s: for how long it still has that a key was deleted (``delete.retention.ms``); None: not
            known.
    """

    at: TopicPartition
    topic_id: str | None = None
    keeps_deletes_s: float | None = None


def offset_in(known: Checkpoint | Damaged | None, changelog: Changelog) -> int | str:
    """Up to where of a changelog a copy is by its checkpoint, or why nobody can say that."""
    if isinstance(known, Damaged):
        return known.reason
    if known is None:
        return "there is no checkpoint, so that nobody knows what it is of"
    position = known.get(changelog.at)
    if position is None:
        return f"its checkpoint is of another changelog than {changelog.at.topic}"
    if len({position.topic_id, changelog.topic_id} - {None}) > 1:
        return f"topic {changelog.at.topic} was deleted and made again"
    return position.offset


def is_stale(task: Task, changelog: Changelog, state_dir: StateDir) -> bool:
    """Whether a copy lay there for so long that its changelog may have forgotten which keys were deleted."""
    keeps_s = changelog.keeps_deletes_s
    return keeps_s is not None and state_dir.unconfirmed_s(task) > keeps_s


class Copy:
    """A task's store, opened; what is wrong with it is found here, logged, and begun anew.

    One thread at a time.

    Args:
        task: whose.
        changelog: what it is restored from; None: nothing.
        state_dir: where it lies.
        stores: what opens it.

    Attributes:
        stale: whether it is of use only if its changelog has nothing more: deletes may be missing there.
        in_doubt: whether it was wiped as it was damaged, and has been of no use since: no record that was
            processed with it is committed.

    Raises:
        StateError: the disk is full, or does not let us.
    """

    def __init__(self, task: Task, changelog: Changelog | None, state_dir: StateDir, stores: Stores) -> None:
        self.task = task
        self.changelog = changelog
        self._stores = stores
        self.in_doubt = False
        self.stale = changelog is not None and is_stale(task, changelog, state_dir)
        self._dir: TaskDir = state_dir.claim(task)
        self.saved = -1  # offset in the checkpoint
        try:
            self.store: Store = self._open()
        except BaseException:
            self._dir.release()
            raise
        self.stale = self.stale and self.position > 0
        try:
            self._first_checkpoint()
        except BaseException:
            self.drop()
            raise

    def __str__(self) -> str:
        return f"{self.task[0]}_{self.task[1]}"

    @property
    def begins(self) -> str:
        """What happens to it when it is wiped, in words for the log."""
        return "is lost, and begins empty" if self.changelog is None else "is restored from the beginning"

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
        if self.stale or self.store.position is None:
            return  # the checkpoint shall stay as old as it is
        if self.store.position == self.saved:
            self._dir.confirm_checkpoint()
            return
        position = self.store.flush()
        if position is not None:
            self._dir.write_checkpoint({self.changelog.at: Position(position, self.changelog.topic_id)})
            self.saved = position

    def wipe_damaged(self, error: StateDamagedError) -> None:
        """Forget everything, as it turned out to be damaged in use; twice in a row is too often.

        Raises:
            StateError: what came in its place is found damaged, too, before it was of any use; or it cannot
                be done.  It is closed then, or to be dropped.
        """
        if self.in_doubt:
            raise StateError(
                f"state of task {self} was restored, and before it was of any use this came again: {error}"
            ) from error
        self.in_doubt = True
        self.begin_anew()

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
        self.stale = False
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
        log.warning("state of task %s %s: %s", self, self.begins, wrong)
        self._dir.wipe()
        self.stale = False
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
        if self.changelog is None or (known is None and not self._dir.store_path.exists()):
            return None, None
        found = offset_in(known, self.changelog)
        if isinstance(found, str):
            return None, found
        self.saved = found
        return found, None
