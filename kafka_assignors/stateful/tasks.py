"""The tasks a member processes: their copies, what of them is done, and making that safe."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.errors import StateError
from kafka_assignors.stateful.changelog_writer import ChangelogWriter
from kafka_assignors.stateful.copy import Copy
from kafka_assignors.stateful.topology import Task

__all__ = ["ActiveTask", "Process", "StoreFailedError", "commit_tasks"]

log = logging.getLogger("kafka_assignors")

Process = Callable[[ConsumerRecord, Any], object]


@dataclass(slots=True)
class ActiveTask:
    """One task that is ours to process.

    Attributes:
        task: which.
        process: called with each record and the store.
        partitions: its source partitions.
        copy: its state; None: it has none, or it is being restored.
        ready: whether it may be processed.
        began: source partition -> offset of the first record processed since the last commit.
        done: source partition -> what is to be committed.
    """

    task: Task
    process: Process
    partitions: frozenset[TopicPartition] = frozenset()
    copy: Copy | None = None
    ready: bool = False
    began: dict[TopicPartition, int] = field(default_factory=dict)
    done: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)

    def take(self, at: TopicPartition, record: ConsumerRecord) -> None:
        """Process one record."""
        self.began.setdefault(at, record.offset)
        self.process(record, None if self.copy is None else self.copy.store)
        self.done[at] = OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)

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


def commit_tasks(
    tasks: Iterable[ActiveTask], writer: ChangelogWriter
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Make safe what was processed: changelogs, then stores; offsets are the caller's to commit, after that.

    Returns:
        The offsets to commit.

    Raises:
        ChangelogError: not all is in the changelogs; nothing changed, and it can be tried again.
        StoreFailedError: a store could not be written.  All is in the changelogs, so its offsets may be
            committed: they are in the error.
    """
    some = [one for one in tasks if one.done]
    changes = {
        one.copy.changelog.at: one.copy.store.uncommitted
        for one in some
        if one.copy is not None and one.copy.changelog is not None and one.copy.store.uncommitted
    }
    ends = writer.write(changes) if changes else {}
    offsets: dict[TopicPartition, OffsetAndMetadata] = {}
    failed: StateError | None = None
    for one in some:
        offsets |= one.done
        if one.copy is not None:
            try:
                at = None if one.copy.changelog is None else one.copy.changelog.at
                one.copy.store.commit(None if at is None else ends.get(at))
            except StateError as error:
                failed = failed or error
        one.began.clear()
        one.done.clear()
    if failed is not None:
        raise StoreFailedError(failed, offsets)
    return offsets


class StoreFailedError(Exception):
    """A store could not be written, after its changes were safe in the changelog.

    Attributes:
        reason: what happened.
        offsets: that may be committed all the same.
    """

    def __init__(self, reason: StateError, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        super().__init__(str(reason))
        self.reason = reason
        self.offsets = offsets
