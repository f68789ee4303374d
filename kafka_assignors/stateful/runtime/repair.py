"""Writes values again after other records have replaced them in the changelog.

No broker fences an ordinary producer.  The system may stop a process between the check of its lease and a
write.  When the process continues, its old records may arrive after newer ones of the next owner.  A failed
write may also arrive after its changes were undone.  In both cases the owner's next write begins at a higher
offset than expected, or has other records in between.  Then the owner compares the changelog from the
expected offset on with its store, because a restore takes the last value of each key.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError, StateError
from kafka_assignors.lag.fetch.link import NO_ROOM, make_client
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.changelog.writer import ChangelogWriter
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.tasks import ActiveTask
from kafka_assignors.stateful.state.copy import Copy

log = logging.getLogger("kafka_assignors")

LastValues = Callable[[TopicPartition, int, int, Callable[[], float]], Mapping[bytes, bytes | None]]
"""Partition, first offset, end, seconds left -> the last value of each key; see `last_values`."""

_POLL_MS = 100
_CONNECT_S = 5.0  # limit of the wait for a connection, which cannot be cut short


class Repair:
    """Compares changelogs with the owner's stores, and writes the store's values again where they differ."""

    def __init__(self, read: LastValues, writer: ChangelogWriter, lease: Lease) -> None:
        self._read = read
        self._writer = writer
        self._lease = lease

    def finish(self, active: ActiveTask, left_s: Callable[[], float]) -> StateError | ChangelogError | None:
        """Write replaced values again, and move the store's position past the compared records.

        Call it after the group has accepted this member's offsets, which proves that it owns the task.
        ``active.unproven`` stays set if the cluster does not answer, or if other records came in between
        again; call it again after the next commit.

        Returns:
            The error of the store, or of a changelog that refuses a record; None: there is none.
        """
        copy, end = active.copy, active.unproven
        if copy is None or copy.changelog is None or end is None:
            return None
        partition = copy.changelog.partition
        try:
            if replaced := self._replaced(copy, partition, end, left_s):
                log.warning(
                    "task %s: a former owner or a failed write replaced %d values in changelog %s-%d: "
                    "writing them again",
                    copy,
                    len(replaced),
                    partition.topic,
                    partition.partition,
                )
                written = self._writer.write({partition: replaced}, self._lease.is_valid, left_s())[partition]
                active.unproven = written.end
                if not written.follows(end):
                    return None  # other records came in between again: the next commit repairs them
                end = written.end
            copy.apply((), end)
            active.unproven = None
        except (KafkaError, ChangelogUnreachableError, *NO_ROOM) as error:
            log.warning("task %s: cannot repair its changelog now: %s; trying again", copy, error)
        except (StateError, ChangelogError) as error:
            return error
        return None

    def _replaced(
        self, copy: Copy, partition: TopicPartition, end: int, left_s: Callable[[], float]
    ) -> dict[bytes, bytes | None]:
        """Return the store's value of each key whose last value in the changelog differs."""
        logged = self._read(partition, copy.position, end, left_s)
        values = {key: copy.store.get(key) for key in logged}
        return {key: value for key, value in values.items() if value != logged[key]}


def last_values(
    client: Mapping[str, Any],
    partition: TopicPartition,
    first: int,
    end: int,
    left_s: Callable[[], float],
) -> dict[bytes, bytes | None]:
    """Return the last value of each key from offset ``first`` to before ``end``; None: deleted.

    Connects, so call it rarely.

    Raises:
        KafkaError: the cluster refuses, or ``left_s`` returned 0 before it answered.
    """
    changelog = KafkaPartition(*partition)
    values: dict[bytes, bytes | None] = {}
    consumer = make_client(  # without topic creation, else a deleted changelog would come back
        KafkaConsumer,
        **{**client, "bootstrap_timeout_ms": max(1, round(1000 * min(_CONNECT_S, left_s())))},
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",  # retention may have removed the first records
    )
    try:
        consumer.assign([changelog])
        consumer.seek(changelog, first)
        # The position also passes records that compaction removed, which a poll does not return.
        while (consumer.position(changelog, timeout_ms=0) or 0) < end:
            if left_s() <= 0:
                raise KafkaTimeoutError(f"{partition.topic}-{partition.partition} was not read in time")
            for record in consumer.poll(_POLL_MS).get(changelog, ()):
                if record.offset < end and record.key:
                    values[record.key] = record.value
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    return values
