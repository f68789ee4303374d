"""Active tasks: their copies and their uncommitted work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.stateful.duties import Duties
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.wire.stateful.task_section import Task

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
