"""Commits in the order that loses nothing: the application's output, changelogs, stores, offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import CommitFailedError, KafkaError, RebalanceInProgressError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.assignor.coordinator_access.consumer import member_id_of
from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError, StateDamagedError, StateError
from kafka_assignors.stateful.changelog.writer import ChangelogWriter, WrittenRange
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.repair import LastValues, Repair
from kafka_assignors.stateful.runtime.tasks import ActiveTask
from kafka_assignors.stateful.shutdown import Shutdown
from kafka_assignors.stateful.state.copy import Copy

log = logging.getLogger("kafka_assignors")

BeforeCommit = Callable[[Mapping[TopicPartition, OffsetAndMetadata], float], object]

_COMMIT_S = 5.0  # timeout of an offset commit
_REBALANCED = (CommitFailedError, RebalanceInProgressError)


@dataclass(slots=True)
class CommitResult:
    """The result of a commit.

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


class Commits:
    """Commits a member's tasks.  Not thread-safe."""

    def __init__(
        self,
        consumer: KafkaConsumer,
        writer: ChangelogWriter,
        lease: Lease,
        shutdown: Shutdown | None = None,
        before_commit: BeforeCommit | None = None,
        *,
        read: LastValues,
    ) -> None:
        self._before_commit = before_commit
        self._repair = Repair(read, writer, lease)
        self._shutdown = shutdown or Shutdown()
        self._consumer: Any = consumer
        self._writer = writer
        self._lease = lease
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {}  # of written changes, not committed yet

    def commit(self, actives: Iterable[ActiveTask], wait_s: float = 0.0) -> CommitResult:
        """Commit the work of these tasks.

        Writes nothing if this member may have left the group, because other members may own its tasks.

        Raises:
            Exception: from ``before_commit``, except for retriable errors of Kafka.
            StateError: a store failed, but is not damaged.  If its changes are in the changelog, their
                offsets are committed, or kept for the next attempt.
            ChangelogError: a changelog refuses a record.
            KafkaError: the group refuses the offsets for good.  `CommitFailedError`: this consumer has a new
                member id, and no listener callback reported the loss.
        """
        actives = list(actives)
        has_work = self._offsets or any(active.done for active in actives)
        needs_repair = any(active.unproven is not None for active in actives)
        if not has_work:
            if needs_repair and self._may_write(actives, wait_s):
                return self._repair_changelogs(actives, CommitResult())
            return CommitResult(is_complete=True)
        if not self._may_write(actives, wait_s) or not self._run_before_commit(actives, wait_s):
            return CommitResult()
        try:
            result = _commit_stores(actives, self._writer, self._lease.is_valid)
        except ChangelogUnreachableError as error:
            log.warning("commit: %s; trying again", error)
            return CommitResult()
        self._offsets |= result.offsets
        if not self._commit_offsets():
            return _unless_failed(result)
        return self._repair_changelogs(actives, result)

    def _repair_changelogs(self, actives: Iterable[ActiveTask], result: CommitResult) -> CommitResult:
        """Repair changelogs for ``Lease.patience_s`` at most; the next commit repairs the rest."""
        until = time.monotonic() + self._lease.patience_s

        def left_s() -> float:
            return self._shutdown.to_commit_s(until - time.monotonic())

        for active in actives:
            if active.unproven is not None and left_s() > 0:
                result.note(active, self._repair.finish(active, left_s))
        result.is_complete = True
        return _unless_failed(result)

    def _may_write(self, actives: list[ActiveTask], wait_s: float) -> bool:
        return self._lease.is_valid(wait_s) and self._is_same_member(actives)

    def _run_before_commit(self, actives: list[ActiveTask], wait_s: float) -> bool:
        """Call ``before_commit``, if there is one; return whether the commit may go on."""
        if self._before_commit is None:
            return True
        offsets = dict(self._offsets)
        for active in actives:
            offsets |= active.done
        try:
            self._before_commit(offsets, self._shutdown.to_commit_s(self._lease.patience_s))
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("commit: before_commit raised %s; trying again", error)
            return False
        return self._may_write(actives, wait_s)  # the call may have outlasted the membership

    def _is_same_member(self, actives: Iterable[ActiveTask]) -> bool:
        """Whether these tasks were assigned to the current member id; False if the consumer has no member id.

        A lost membership normally ends its tasks.  If kafka-python missed a callback, the group would accept
        our offsets although other members may have processed since.

        Raises:
            CommitFailedError: a task was assigned to another member id.
        """
        member_id = member_id_of(self._consumer)
        others = sorted(
            f"{active.task[0]}_{active.task[1]}" for active in actives if active.member_id != member_id
        )
        if member_id and others:
            raise CommitFailedError(
                f"{', '.join(others)}: assigned to an earlier member id of this consumer, so other members "
                "may have processed their records since: restart this member"
            )
        return bool(member_id)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop uncommitted offsets of revoked partitions."""
        for partition in partitions:
            self._offsets.pop(partition, None)

    def _commit_offsets(self) -> bool:
        if not self._offsets:
            return True
        sent_at = time.monotonic()
        timeout_ms = round(1000 * self._shutdown.to_commit_s(_COMMIT_S))
        try:
            # A copy, because a commit that timed out may still be waiting to be sent.
            self._consumer.commit(dict(self._offsets), timeout_ms=max(1, timeout_ms))
        except _REBALANCED as error:
            # The offsets are committed after the join, or the next owner processes the records again.
            log.warning("commit: the group refuses offsets until this member has joined again: %s", error)
            return False
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("commit: offsets cannot be committed: %s; trying again", error)
            return False
        self._lease.renew(sent_at)
        self._offsets.clear()
        return True


def _commit_stores(
    tasks: Iterable[ActiveTask], writer: ChangelogWriter, allowed: Callable[[], bool]
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


def _unless_failed(result: CommitResult) -> CommitResult:
    """Return the result of a commit, or raise its error."""
    if result.failed is not None:
        for active, error in result.damaged.items():
            log.error("task %s_%d: %s", *active.task, error)
        raise result.failed
    return result
