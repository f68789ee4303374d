"""Active tasks: their copies, their uncommitted work, and the write of changelogs and stores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.errors import ChangelogError, StateDamagedError, StateError
from kafka_assignors.stateful.changelog.writer import ChangelogWriter, WrittenRange
from kafka_assignors.stateful.duties import Duties
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

Process = Callable[[ConsumerRecord, Any], object]


@dataclass(slots=True, eq=False)
class ActiveTask:
    """A task this member owns, from assignment until it is given up.

    Attributes:
        task: its id.
        process: called with each record and the store.
        member_id: this member's id when the task was assigned.
        partitions: its source partitions.
        copy: its state; None: it has none, or the copy is being restored.
        ready: whether it may process records.
        flowing: whether its partitions are fetched, not paused.
        unproven: changelog offset after this member's last write, if other records are between the store's
            position and that offset.  `Repair` moves the position there after the next accepted commit.
            None: no such records.
        flushed_at: when `FlushSchedule` last flushed its store, or first saw it open; infinite before.
        began: source partition -> offset of the first record since the last commit.
        done: source partition -> offset to commit.
        has_processed: whether it has processed records since the last ``undo``.
    """

    task: Task
    process: Process
    member_id: str
    partitions: frozenset[TopicPartition] = frozenset()
    copy: Copy | None = None
    ready: bool = False
    flowing: bool = False
    unproven: int | None = None
    flushed_at: float = float("inf")
    began: dict[TopicPartition, int] = field(default_factory=dict)
    done: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    has_processed: bool = False

    def take(self, record: ConsumerRecord) -> None:
        """Process one record.

        Raises:
            Exception: from the callback; no change of that record is kept.
        """
        partition = TopicPartition(record.topic, record.partition)
        store = None if self.copy is None else self.copy.store
        if store is not None:
            store.begin_record()
        try:
            self.process(record, store)
        except BaseException:
            if store is not None:
                store.undo_record()
            raise
        self.began.setdefault(partition, record.offset)
        self.done[partition] = OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)
        self.has_processed = True

    @property
    def uncommitted_bytes(self) -> int:
        """Memory of uncommitted changes, approximate."""
        return 0 if self.copy is None else self.copy.store.uncommitted_bytes

    def undo(self) -> dict[TopicPartition, int]:
        """Drop the work since the last commit; return the offsets to process again from."""
        if self.copy is not None:
            self.copy.store.rollback()
        began = dict(self.began)
        self.began.clear()
        self.done.clear()
        self.has_processed = False
        return began


@dataclass(slots=True)
class MemberTasks:
    """The tasks of a member."""

    duties: Duties = field(default_factory=Duties)  # the last ones from the leader
    actives: dict[Task, ActiveTask] = field(default_factory=dict)  # this member owns their partitions

    @property
    def is_proven(self) -> bool:
        """Whether no active task has an ``unproven`` offset."""
        return all(active.unproven is None for active in self.actives.values())

    @property
    def standby_tasks(self) -> set[Task]:
        """The tasks of standbys and warm-ups, without active ones.  Any thread may read it."""
        duties = self.duties
        return {*duties.standbys, *duties.warmups} - self.actives.copy().keys()


@dataclass(slots=True)
class CommitResult:
    """The result of a commit, which `commit_tasks` begins and `Commits` completes.

    Attributes:
        offsets: the offsets to commit, including those of a task whose store failed after its changes were
            written to the changelog.
        damaged: tasks with a damaged store, and the error, which is not raised.
        failed: the first other error of a store or its changelog; None: there is none.
        is_complete: whether all work is committed, except that of damaged stores without a changelog; if not,
            the next attempt commits it.
    """

    offsets: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    damaged: dict[ActiveTask, StateDamagedError] = field(default_factory=dict)
    failed: StateError | ChangelogError | None = None
    is_complete: bool = False

    def note(self, active: ActiveTask, error: StateError | ChangelogError | None) -> None:
        """Add the error of a task's store or changelog; None: no error."""
        if error is None:
            return
        active.unproven = None  # store or changelog may lack changes, so the position must not move
        if isinstance(error, StateDamagedError):
            self.damaged[active] = error
        elif self.failed is None:
            self.failed = error
        else:  # only the first can be raised
            log.error("task %s_%d: %s", *active.task, error)


def commit_tasks(
    tasks: Iterable[ActiveTask], writer: ChangelogWriter, allowed: Callable[[], bool] = lambda: True
) -> CommitResult:
    """Write the changelogs and then the stores of tasks.  The caller commits the offsets after that.

    Raises:
        ChangelogError: some changes are not in the changelogs; stores are unchanged, and a retry is safe.
    """
    worked = [active for active in tasks if active.done]
    changes = {
        active.copy.changelog.partition: active.copy.store.uncommitted
        for active in worked
        if active.copy is not None and active.copy.changelog is not None and active.copy.store.uncommitted
    }
    written = writer.write(changes, allowed) if changes else {}
    result = CommitResult()
    for active in worked:
        error = None if active.copy is None else _commit_store(active, active.copy, written)
        result.note(active, error)
        if error is None or (active.copy is not None and active.copy.changelog is not None):
            result.offsets |= active.done
            active.began.clear()
            active.done.clear()
    return result


def _commit_store(
    active: ActiveTask, copy: Copy, ranges: Mapping[TopicPartition, WrittenRange]
) -> StateError | None:
    """Commit a store after the write of its changelog, if it has one; return the error."""
    written = None if copy.changelog is None else ranges.get(copy.changelog.partition)
    position = None if written is None else written.end
    if written is not None:
        active.unproven = None  # drops an earlier write's end: a truncated changelog may end before it
        if written.first < copy.position:
            log.error(
                "task %s: wrote changelog offset %d after %d, so the topic was created again or truncated "
                "while in use, and has lost changes: stop the group and restore the topic, "
                "or delete the state",
                copy,
                written.first,
                copy.position - 1,
            )
        elif not written.follows(copy.position):
            # Other records came before or between ours: from a failed attempt of this member, a former owner
            # or a new owner.  The position must not move past a new owner's records.  If there is a new
            # owner, the offset commit fails.
            active.unproven, position = written.end, None
    try:
        copy.store.commit(position)
    except StateError as error:
        return error
    copy.confirm()
    return None
