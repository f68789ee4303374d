"""A copy of a task's state in this process: its directory, its store and its position."""

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
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_LEAST_S = 60.0  # of an open copy a shorter gap does not count: the thread that confirms it may be busy


@dataclass(frozen=True, slots=True)
class Changelog:
    """The changelog of a task.

    Attributes:
        partition: its topic and partition.
        topic_id: id of the topic in the cluster; None: not known.
        keeps_deletes_s: seconds until compaction removes a delete (``delete.retention.ms``); None: not known.
    """

    partition: TopicPartition
    topic_id: str | None = None
    keeps_deletes_s: float | None = None


def offset_in(checkpoint: Checkpoint | Damaged | None, changelog: Changelog) -> int | str:
    """Return the changelog offset of a checkpoint, or the reason why it has none."""
    if isinstance(checkpoint, Damaged):
        return checkpoint.reason
    if checkpoint is None:
        return "there is no checkpoint, so its changelog is unknown"
    position = checkpoint.get(changelog.partition)
    if position is None:
        return f"its checkpoint is of another changelog than {changelog.partition.topic}"
    if len({position.topic_id, changelog.topic_id} - {None}) > 1:
        return f"topic {changelog.partition.topic} was deleted and created again"
    return position.offset


def is_stale(changelog: Changelog, unconfirmed_s: float, least_s: float = 0.0) -> bool:
    """Whether compaction may have removed deletes that a copy has not seen, because it was out of touch."""
    keeps_s = changelog.keeps_deletes_s
    return keeps_s is not None and unconfirmed_s > max(keeps_s, least_s)


class Copy:
    """A task's open store.  Not thread-safe.

    A store that is damaged, or does not match its changelog, is wiped when opened, with a warning.

    Attributes:
        confirmed: its position when it was last in touch with its changelog (see `confirm`).
        in_doubt: whether the copy was wiped because of damage while in use, and has not proved sound since.
            A commit of records processed since then proves it; for a standby, a flush does.

    Raises:
        StateLockedError: the task's directory is in use.
        StateError: the disk is full; the directory cannot be used; or a wipe would delete the only copy of
            the state.
    """

    def __init__(self, task: Task, changelog: Changelog | None, state_dir: StateDir, stores: Stores) -> None:
        self.task = task
        self.changelog = changelog
        self._stores = stores
        self.in_doubt = False
        unconfirmed_s = state_dir.unconfirmed_s(task)
        self._dir: TaskDir = state_dir.claim(task)
        self.checkpointed = -1  # offset in the checkpoint; -1: none
        self._now = state_dir.now
        self._checkpointed_at = self._confirmed_at = self._now() - unconfirmed_s
        self._least_s = 0.0  # until it is confirmed
        try:
            self.store: Store = self._open()
        except BaseException:
            self._dir.release()
            raise
        self.confirmed = max(self.checkpointed, 0)
        try:
            self._first_checkpoint()
        except BaseException:
            self.drop()
            raise

    def __str__(self) -> str:
        return f"{self.task[0]}_{self.task[1]}"

    @property
    def after_wipe(self) -> str:
        """The effect of a wipe, for the log."""
        return "is lost, and starts empty" if self.changelog is None else "is restored from the beginning"

    @property
    def position(self) -> int:
        """Offset of the next record of the changelog to apply."""
        return self.store.position or 0

    @property
    def stale(self) -> bool:
        """Whether the copy may lack deletes that compaction has removed from its changelog.

        A stale copy is usable only if the changelog has nothing newer than ``confirmed``.  A wall clock that
        jumps forward makes a copy stale, too: a machine that was suspended looks the same.
        """
        if self.changelog is None or not self.position:
            return False
        return is_stale(self.changelog, self._now() - self._confirmed_at, self._least_s)

    def confirm(self) -> None:
        """Note that the copy is in touch with its changelog: it reads on, knows the end, or is an owner's."""
        self.confirmed, self._confirmed_at, self._least_s = self.position, self._now(), _LEAST_S

    @property
    def checkpoint_age_s(self) -> float:
        """Seconds since the checkpoint was written or confirmed; without a changelog, since the last flush.

        Any thread may read it.
        """
        return max(0.0, self._now() - self._checkpointed_at)

    def apply(self, changes: Iterable[tuple[bytes, bytes | None]], position: int) -> None:
        """Apply changelog records before ``position``."""
        was_in_touch = not self.stale
        self.store.apply(changes, position)
        if was_in_touch:
            self.confirm()

    def flush(self) -> None:
        """Flush the store and write its checkpoint, or confirm it if the position is the same.

        The file's time is that of the last `confirm`.  Creates files, so do not call it after each commit.
        Does nothing for a stale copy with records that it has read since then.
        """
        if self.changelog is None:
            self.store.flush()
            self._checkpointed_at = self._now()
            return
        if self.stale and self.position != self.confirmed:
            return  # the offset and the age of the checkpoint must not change
        if self.store.position is None:  # the first checkpoint, offset 0, still applies
            self._checkpointed_at = self._now()
            return
        if self.store.position == self.checkpointed:
            if self._dir.confirm_checkpoint(self._confirmed_at):
                self._checkpointed_at = self._now()
            return
        position = self.store.flush()
        if position is not None:
            self._write_checkpoint(self.changelog, position)
            self._dir.confirm_checkpoint(self._confirmed_at)

    def wipe_damaged(self, error: StateDamagedError) -> None:
        """Wipe a copy that was damaged while in use; a second time before any commit is an error.

        Raises:
            StateError: it was damaged twice in a row, or cannot be wiped.  The caller must drop it.
        """
        if self.in_doubt:
            raise StateError(f"state of task {self} was damaged again before a commit: {error}") from error
        self.in_doubt = True
        self.reset()

    def reset(self) -> None:
        """Wipe a copy that is damaged, or does not match its changelog.

        Raises:
            StateError: it cannot be wiped.  The caller must drop it.
        """
        try:
            self.store.close()
        except StateError as error:  # the store is wiped anyway
            log.debug("task %s: cannot close its state: %s", self, error)
        self._dir.wipe()
        self.store = self._new()
        self._first_checkpoint()

    def close(self) -> None:
        """Flush the copy if possible, and release it."""
        try:
            self.store.rollback()
            self.flush()
        finally:
            try:
                self.store.close()
            finally:
                self._dir.release()

    def drop(self) -> None:
        """Release the copy without a new checkpoint, because the disk may be at fault."""
        try:
            self.store.close()
        except Exception as error:  # the copy is given up anyway
            log.warning("task %s: cannot close its state: %s", self, error)
        finally:
            self._dir.release()

    def _open(self) -> Store:
        at_least, wrong = self._check_checkpoint()
        if wrong is None:
            try:
                return self._stores.open(self._dir.store_path, at_least, logged=self.changelog is not None)
            except StateDamagedError as error:
                wrong = str(error)
        self._refuse_if_unlogged()
        log.warning("task %s: state %s: %s", self, self.after_wipe, wrong)
        self._dir.wipe()
        return self._new()

    def _refuse_if_unlogged(self) -> None:
        """Refuse to wipe the only copy of a state: a readable store, not empty, kept without a changelog.

        Such a store has no checkpoint, because `_check_checkpoint` deleted it, and no position, because each
        commit without a changelog removes it.
        """
        if self._dir.read_checkpoint() is not None or not self._dir.store_path.exists():
            return
        try:
            with self._stores.open(self._dir.store_path) as store:
                is_unlogged = store.position is None and next(iter(store.range()), None) is not None
        except StateDamagedError:
            return
        if is_unlogged:
            raise StateError(
                f"task {self} was kept without a changelog, so its new changelog lacks its state: "
                f"keep logged=False, or delete {self._dir.store_path}"
            )

    def _new(self) -> Store:
        self.checkpointed = -1
        return self._stores.open(self._dir.store_path, logged=self.changelog is not None)

    def _first_checkpoint(self) -> None:
        """Write a checkpoint before the first record, because a store without one is wiped."""
        if self.changelog is not None and self.checkpointed < 0:
            self._write_checkpoint(self.changelog, 0)
            self.confirm()

    def _write_checkpoint(self, changelog: Changelog, position: int) -> None:
        self._dir.write_checkpoint({changelog.partition: Position(position, changelog.topic_id)})
        self.checkpointed, self._checkpointed_at = position, self._now()

    def _check_checkpoint(self) -> tuple[int | None, str | None]:
        """Return the offset that the store must have reached, and the reason to wipe it; each may be None."""
        if self.changelog is None:
            self._dir.delete_checkpoint()  # changes will skip the changelog, so its offset is void
            return None, None
        checkpoint = self._dir.read_checkpoint()
        if isinstance(checkpoint, Damaged):
            return None, checkpoint.reason
        if checkpoint is None and not self._dir.store_path.exists():
            return None, None
        offset = offset_in(checkpoint, self.changelog)
        if isinstance(offset, str):
            return None, offset
        self.checkpointed = offset
        return offset, None
