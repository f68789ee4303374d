"""Making safe what was processed, in the one order that loses nothing: changelogs, stores, offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import CommitFailedError, KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.adapter.consumer_side import confirmed_s_ago, session_timeout_s
from kafka_assignors.errors import ChangelogUnreachableError
from kafka_assignors.stateful.changelog_writer import ChangelogWriter
from kafka_assignors.stateful.tasks import ActiveTask, StoreFailedError, commit_tasks

__all__ = ["PATIENCE", "Commits"]

log = logging.getLogger("kafka_assignors")

PATIENCE = 0.5
"""Of the session timeout: how old the last sign of membership may be, and for how long is written then."""

_COMMIT_MS = 5_000
_LOOK_S = 0.01


class Commits:
    """Commits a member's tasks.  One thread at a time.

    Args:
        consumer: the member.
        writer: with a patience of ``PATIENCE`` session timeouts.
    """

    def __init__(self, consumer: KafkaConsumer, writer: ChangelogWriter) -> None:
        self._consumer: Any = consumer
        self._writer = writer
        self._limit_s = PATIENCE * session_timeout_s(consumer)
        self._member_at = float("-inf")
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {}  # safe, and not committed yet

    def commit(self, actives: Iterable[ActiveTask], wait_s: float = 0.0) -> bool:
        """Make safe what these tasks did; what does not work now is kept, to be tried again.

        Nothing is written by who may be no member any more: its tasks may be another's already.

        Args:
            actives: all tasks that are ours.
            wait_s: how long to wait for a sign that we are still a member.

        Returns:
            Whether all is safe and committed.

        Raises:
            StateError: a store cannot be written; what is safe in the changelogs is committed.
            ChangelogError: a changelog refuses what is written to it.
        """
        actives = list(actives)
        if not self._offsets and not any(one.done for one in actives):
            return True
        if not self._is_member(wait_s):
            return False
        try:
            self._offsets |= commit_tasks(actives, self._writer, self._is_member)
        except ChangelogUnreachableError as error:
            log.warning("%s; trying again", error)
            return False
        except StoreFailedError as failed:
            self._offsets |= failed.offsets
            self._commit_offsets(actives)
            raise failed.reason from failed
        return self._commit_offsets(actives)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """These are not ours any more: what was not committed of them is others' to do."""
        for at in partitions:
            self._offsets.pop(at, None)

    def _is_member(self, wait_s: float = 0.0) -> bool:
        """Whether the group's coordinator has heard of us so recently that our tasks are still ours."""
        until = time.monotonic() + wait_s
        while True:
            heard = confirmed_s_ago(self._consumer)
            if heard is not None and min(heard, time.monotonic() - self._member_at) < self._limit_s:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK_S)

    def _commit_offsets(self, actives: Collection[ActiveTask]) -> bool:
        if not self._offsets:
            return True
        asked_at = time.monotonic()
        try:
            self._consumer.commit(self._offsets, timeout_ms=_COMMIT_MS)
        except CommitFailedError as error:
            log.warning("offsets are not committed, the group went on without us: %s", error)
            return False
        except KafkaError as error:
            log.warning("offsets cannot be committed: %s; trying again", error)
            return False
        self._member_at = asked_at
        self._offsets.clear()
        for active in actives:
            active.prove()
        return True
