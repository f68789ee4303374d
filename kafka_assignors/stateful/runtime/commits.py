"""Commits in the one order that loses nothing: the application's own output, changelogs, stores, offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import CommitFailedError, KafkaError, RebalanceInProgressError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.assignor.coordinator_access import member_id_of
from kafka_assignors.errors import ChangelogUnreachableError, StateDamagedError
from kafka_assignors.stateful.changelog.writer import ChangelogWriter
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.tasks import ActiveTask, Stored, commit_tasks

__all__ = ["BeforeCommit", "Commits", "Committed"]

log = logging.getLogger("kafka_assignors")

BeforeCommit = Callable[[Mapping[TopicPartition, OffsetAndMetadata], float], object]

_COMMIT_S = 5.0
_GONE_ON = (CommitFailedError, RebalanceInProgressError)


@dataclass(frozen=True, slots=True)
class Committed:
    """What came of a commit.

    Attributes:
        done: whether all is safe and committed; what is not is kept, to be tried again.
        damaged: tasks whose store cannot be written, and why.
    """

    done: bool
    damaged: Mapping[ActiveTask, StateDamagedError] = field(default_factory=dict)


class Commits:
    """Commits a member's tasks.  One thread at a time.

    Args:
        consumer: the member.
        writer: with the patience of the lease.
        lease: what is written under.
        ending: when the member ends, offsets are committed in what is left of it.
        before_commit: see ``RuntimeOptions``.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        writer: ChangelogWriter,
        lease: Lease,
        ending: Ending | None = None,
        before_commit: BeforeCommit | None = None,
    ) -> None:
        self._before_commit = before_commit
        self._ending = ending or Ending()
        self._consumer: Any = consumer
        self._writer = writer
        self._lease = lease
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {}  # safe, and not committed yet

    def commit(self, actives: Iterable[ActiveTask], wait_s: float = 0.0) -> Committed:
        """Make safe what these tasks did.

        Nothing is written by who may be no member any more: its tasks may be another's already.

        Args:
            actives: all tasks that are ours.
            wait_s: how long to wait for a sign that we are still a member.

        Raises:
            Exception: whatever ``before_commit`` raised, but for retriable errors of Kafka.
            StateError: a store cannot be written; what is safe in the changelogs is committed.
            ChangelogError: a changelog refuses what is written to it.
            KafkaError: the group refuses offsets, and will go on to.  `CommitFailedError`: it has forgotten
                us since a task began, and nobody said so.
        """
        actives = list(actives)
        if not self._offsets and not any(one.done for one in actives):
            return Committed(True)
        if not self._may_write(actives, wait_s) or not self._is_output_safe(actives, wait_s):
            return Committed(False)
        try:
            stored = commit_tasks(actives, self._writer, self._lease.holds)
        except ChangelogUnreachableError as error:
            log.warning("%s; trying again", error)
            return Committed(False)
        self._offsets |= stored.offsets
        if not self._commit_offsets():
            return self._outcome(stored, done=False)
        for active in actives:
            stored.note(active, active.prove())
        return self._outcome(stored, done=True)

    def _may_write(self, actives: list[ActiveTask], wait_s: float) -> bool:
        return self._lease.holds(wait_s) and self._is_who_began(actives)

    def _is_output_safe(self, actives: list[ActiveTask], wait_s: float) -> bool:
        """Have the application flush its own output; whether the commit may go on."""
        if self._before_commit is None:
            return True
        offsets = self._offsets | {at: end for active in actives for at, end in active.done.items()}
        try:
            self._before_commit(offsets, self._ending.to_commit_s(self._lease.patience_s))
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("nothing is committed, as before_commit raised %s; trying again", error)
            return False
        return self._may_write(actives, wait_s)  # the call may have outlasted the membership

    def _is_who_began(self, actives: Iterable[ActiveTask]) -> bool:
        """Whether we are the member now that these were given to; False: we are none.

        That a membership is lost is told, and its tasks end with it.  If ever it were not, the group would
        take offsets of the member that we are now for what others have had since.

        Raises:
            CommitFailedError: we are another one.
        """
        now = member_id_of(self._consumer)
        strange = sorted(f"{one.task[0]}_{one.task[1]}" for one in actives if one.member_id != now)
        if now and strange:
            raise CommitFailedError(
                f"{', '.join(strange)}: given to another member of the group than we are now, and others may "
                "have gone on since: start this one again"
            )
        return bool(now)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """These are not ours any more: what was not committed of them is others' to do."""
        for at in partitions:
            self._offsets.pop(at, None)

    def _outcome(self, stored: Stored, *, done: bool) -> Committed:
        if stored.failed is not None:
            raise stored.failed
        return Committed(done, stored.damaged)

    def _commit_offsets(self) -> bool:
        if not self._offsets:
            return True
        asked_at = time.monotonic()
        timeout_ms = round(1000 * self._ending.to_commit_s(_COMMIT_S))
        try:
            self._consumer.commit(self._offsets, timeout_ms=max(1, timeout_ms))
        except _GONE_ON as error:
            log.warning("offsets are not committed, the group went on without us: %s", error)
            return False
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("offsets cannot be committed: %s; trying again", error)
            return False
        self._lease.renew(asked_at)
        self._offsets.clear()
        return True
