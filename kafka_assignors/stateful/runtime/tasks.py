"""The tasks a member processes: their copies, what of them is done, and making that safe."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.stateful.changelog.writer import ChangelogWriter, Written
from kafka_assignors.stateful.duties import Duties
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.stateful.topology import Task

__all__ = ["ActiveTask", "Process", "Stored", "Work", "commit_tasks"]

log = logging.getLogger("kafka_assignors")

Process = Callable[[ConsumerRecord, Any], object]


@dataclass(slots=True, eq=False)
class ActiveTask:
    """One task that is ours to process, from when it is assigned until it is given back.

    Attributes:
        task: which.
        process: called with each record and the store.
        member_id: as whom we have it.
        partitions: its source partitions.
        copy: its state; None: it has none, or it is being restored.
        ready: whether it may be processed.
        flowing: whether its records come: its partitions are not paused.
        unproven: offset of the changelog up to where its store is, if the task is still ours.
        began: source partition -> offset of the first record processed since the last commit.
        done: source partition -> what is to be committed.
    """

    task: Task
    process: Process
    member_id: str
    partitions: frozenset[TopicPartition] = frozenset()
    copy: Copy | None = None
    ready: bool = False
    flowing: bool = False
    unproven: int | None = None
    began: dict[TopicPartition, int] = field(default_factory=dict)
    done: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)

    def take(self, record: ConsumerRecord) -> None:
        """Process one record.

        Raises:
            Exception: whatever the callback raised; nothing of that record is kept.
        """
        at = TopicPartition(record.topic, record.partition)
        store = None if self.copy is None else self.copy.store
        if store is not None:
            store.begin_record()
        try:
            self.process(record, store)
        except BaseException:
            if store is not None:
                store.undo_record()
            raise
        self.began.setdefault(at, record.offset)
        self.done[at] = OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)

    def prove(self) -> StateError | None:
        """The group has taken our offsets, so what is in the changelog is ours to pass over.

        Returns:
            What is wrong with the store, if it cannot.
        """
        end, self.unproven = self.unproven, None
        if end is not None and self.copy is not None:
            try:
                self.copy.apply((), end)
            except StateError as error:
                return error
        return None

    @property
    def uncommitted_bytes(self) -> int:
        """Memory that changes take."""
        return 0 if self.copy is None else self.copy.store.uncommitted_bytes

    def undo(self) -> dict[TopicPartition, int]:
        """Drop what was done since the last commit; returns where to go on from."""
        if self.copy is not None:
            self.copy.store.rollback()
        began = dict(self.began)
        self.began.clear()
        self.done.clear()
        return began


@dataclass(slots=True)
class Work:
    """What a member has to do.

    Attributes:
        duties: what the leader told last.
        actives: the tasks whose partitions are ours.
    """

    duties: Duties = field(default_factory=Duties)
    actives: dict[Task, ActiveTask] = field(default_factory=dict)

    @property
    def copies(self) -> set[Task]:
        """Tasks of which a copy is to be kept here, beside what is processed."""
        return {*self.duties.standbys, *self.duties.warmups} - self.actives.keys()


@dataclass(slots=True)
class Stored:
    """What came of writing what was processed.

    Attributes:
        offsets: what may be committed: of a store that could not be written, what is safe in its changelog.
        damaged: tasks whose store is not what was written, and why.
        failed: why another store could not be written; None: there is none.
    """

    offsets: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    damaged: dict[ActiveTask, StateDamagedError] = field(default_factory=dict)
    failed: StateError | None = None

    def note(self, active: ActiveTask, error: StateError | None) -> None:
        """Something was done to a task's store, and that went wrong."""
        if isinstance(error, StateDamagedError):
            active.unproven = None
            self.damaged[active] = error
        else:
            self.failed = self.failed or error


def commit_tasks(
    tasks: Iterable[ActiveTask], writer: ChangelogWriter, allowed: Callable[[], bool] = lambda: True
) -> Stored:
    """Make safe what was processed: changelogs, then stores; offsets are the caller's to commit, after that.

    Args:
        tasks: whose.
        writer: of changelogs.
        allowed: see ``ChangelogWriter.write``.

    Raises:
        ChangelogError: not all is in the changelogs; nothing changed here, and it can be tried again.
    """
    some = [one for one in tasks if one.done]
    changes = {
        one.copy.changelog.at: one.copy.store.uncommitted
        for one in some
        if one.copy is not None and one.copy.changelog is not None and one.copy.store.uncommitted
    }
    written = writer.write(changes, allowed) if changes else {}
    stored = Stored()
    for one in some:
        error = None if one.copy is None else _stored(one, one.copy, _of(one.copy, written))
        stored.note(one, error)
        if error is None or (one.copy is not None and one.copy.changelog is not None):
            stored.offsets |= one.done
            one.began.clear()
            one.done.clear()
    return stored


def _of(copy: Copy, written: Mapping[TopicPartition, Written]) -> Written | None:
    return None if copy.changelog is None else written.get(copy.changelog.at)


def _stored(one: ActiveTask, copy: Copy, written: Written | None) -> StateError | None:
    """Commit a store whose changes are in its changelog; returns what went wrong."""
    position = None if written is None else written.end
    if written is not None and written.end <= copy.position:
        log.error(
            "task %s wrote offset %d of its changelog after %d: the topic was made again while in use, and "
            "has nothing of what was before: stop the group and restore it, or let the state begin anew",
            *(copy, written.end - 1, copy.position - 1),
        )
    elif written is not None and not written.follows(copy.position):
        # Somebody wrote before us.  It was an attempt of ours that failed halfway, unless the task is
        # another's by now: then the store must not pass over what that one wrote.  The commit of offsets
        # tells which.
        one.unproven, position = written.end, None
    try:
        copy.store.commit(position)
    except StateError as error:
        return error
    return None
