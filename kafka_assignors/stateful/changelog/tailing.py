"""The steps of the changelog reader's thread, which applies records to copies and measures their lags."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import LogTruncationError

from kafka_assignors.assignor.coordinator_access.consumer import drop_exhausted_batch, topic_id
from kafka_assignors.errors import StateError
from kafka_assignors.stateful.changelog.end_offsets import EndOffsets
from kafka_assignors.stateful.changelog.progress import RestoreProgress
from kafka_assignors.stateful.changelog.rate_limit import RateLimit
from kafka_assignors.stateful.changelog.tailed_copies import TailedCopies
from kafka_assignors.stateful.changelog.tailed_copy import TailedCopy, portions
from kafka_assignors.stateful.state.closed_copies import ClosedCopy
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_FLUSH_EVERY_S = 30.0  # between two flushes of a copy
_ENDS_EVERY_S = 1.0  # between two refreshes of known end offsets
_SETTLE_EVERY_S = 0.1  # between two checks whether the copies that tasks wait for are restored
_POSITIONS = 10  # positions read in a turn; kafka-python walks over all partitions for each


class Tailing:
    """Copies, and the consumer that reads their changelogs.  Used by one thread.

    Attributes:
        kept: the copies that this thread owns, and the lags of all copies.
        closed_copies: copies on disk that no thread has open; only their lags are measured.
        applied: records applied to all copies.
        applied_to: task -> records applied to its copy.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        ends: EndOffsets,
        rate_limit: RateLimit,
        clock: Callable[[], float],
        *,
        on_restored: Callable[[Copy, object], None],
        on_failed: Callable[[Task, StateError], None],
    ) -> None:
        self._consumer: Any = consumer
        self._ends = ends
        self._rate_limit = rate_limit
        self._clock = clock
        self._on_restored = on_restored
        self._closed_lags: dict[Task, int] = {}
        self._ends_asked_at = clock() - _ENDS_EVERY_S
        self._settled_at = clock() - _SETTLE_EVERY_S
        self.closed_copies: Mapping[Task, ClosedCopy] = {}
        self.applied = 0
        self.applied_to: dict[Task, int] = {}
        self._progress = RestoreProgress(self.applied_to, clock)
        self.kept = TailedCopies(consumer, self._progress, on_failed)

    def begin(self, copy: Copy, waiter: object) -> None:
        """Begin to bring a copy with a changelog up to date."""
        if copy.changelog is None:
            raise ValueError(f"task {copy} has no changelog")
        lag = self.kept.lags.get(copy.task) if copy.position else None  # measured while it was closed
        tailed = TailedCopy(copy, copy.changelog, waiter, lag, self._clock())
        self._track_restore(tailed, was_standby=False)
        self.kept.add(tailed)

    def set_waiter(self, task: Task, waiter: object) -> None:
        """Set the waiter of a copy; None: a standby or warm-up."""
        if tailed := self.kept.get(task):
            tailed.waiter, tailed.end = waiter, None  # the changelog may have grown
            self._track_restore(tailed, was_standby=True)

    def read(self) -> bool:
        """Apply fetched records; return False if there are no copies.

        Raises:
            KafkaError: the cluster does not answer.
            Exception: a copy failed.  Records of the other copies are applied, and the changelog of the
                failed copy is read again from its position.
        """
        if not self.kept:
            return False
        self._pause_standbys()
        drop_exhausted_batch(self._consumer)
        failed: Exception | None = None
        by_partition = {tailed.partition: tailed for tailed in self.kept}
        for partition, records in self._consumer.poll(_POLL_MS).items():
            if (tailed := by_partition.get(partition)) is None:
                continue
            try:
                self._apply(tailed, records)
            except Exception as error:  # the consumer is past records that are not applied
                failed = error
                self.kept.seek(tailed, tailed.copy.position)
        if failed is not None:
            raise failed
        self._flush_one()
        return True

    def update_lags(self) -> bool:
        """Update lags, and return restored copies to their waiters.

        Does so every second, or every 0.1 s while a task waits.

        Returns:
            Whether it asked for end offsets: every second, or at once if the end for a copy is missing.
        """
        is_due = self._clock() - self._ends_asked_at >= _ENDS_EVERY_S or any(
            tailed.end is None and not self._ends.is_silent(tailed.partition) for tailed in self.kept
        )
        if is_due:
            self._ends_asked_at = self._clock()
            self._update_ends()
        has_waiter = any(tailed.waiter is not None for tailed in self.kept)
        if is_due or (has_waiter and self._clock() - self._settled_at >= _SETTLE_EVERY_S):
            self._settle()
        return is_due

    def reposition(self) -> None:
        """Seek each copy to its position, if the first and the end offset of its changelog are known.

        A copy beyond the end is wiped and restored.  A copy before the first offset continues there.
        """
        by_partition = {tailed.partition: tailed for tailed in self.kept}
        begins, ends = self._ends.first(by_partition), self._ends.last(by_partition)
        for partition in begins.keys() & ends.keys():
            tailed = by_partition[partition]
            position = tailed.copy.position
            if position > ends[partition]:
                self._restart_after_loss(tailed, ends[partition])
                position = 0
            if position < begins[partition]:
                log.error(
                    "changelog %s-%d has lost records %d to %d: task %s goes on without them",
                    partition.topic,
                    partition.partition,
                    position,
                    begins[partition] - 1,
                    tailed.copy,
                )
                position = begins[partition]
            self.kept.seek(tailed, position)

    def on_truncation(self, error: LogTruncationError) -> None:
        """Restart each copy beyond the offset at which its changelog diverged, also if that is unknown."""
        for partition, divergent in error.divergent_offsets.items():
            tailed = next((tailed for tailed in self.kept if tailed.partition == partition), None)
            if tailed is None:
                continue
            position = tailed.copy.position
            if divergent is None or divergent.offset < position:
                why = "it was created again, or an out-of-sync replica became leader"
                self.kept.restart(
                    tailed, f"differs before offset {position}, the position of the copy: {why}"
                )
            self.kept.seek(tailed, tailed.copy.position)

    # --- steps

    def _track_restore(self, tailed: TailedCopy, *, was_standby: bool) -> None:
        if tailed.waiter is None:
            self._progress.end(tailed.copy.task)
        else:
            self._progress.begin(tailed.copy, was_standby=was_standby)

    def _pause_standbys(self) -> None:
        """Pause standbys and warm-ups beyond their rate, or while a task waits for its state."""
        must_pause = set()
        if self._rate_limit.exhausted() or any(
            # A pause would not help a task whose changelog does not answer.
            tailed.waiter is not None and not self._ends.is_silent(tailed.partition)
            for tailed in self.kept
        ):
            must_pause = {tailed.partition for tailed in self.kept if tailed.waiter is None}
        paused = self._consumer.paused()
        if to_pause := must_pause - paused:
            self._consumer.pause(*to_pause)
        if to_resume := paused - must_pause:
            self._consumer.resume(*to_resume)

    def _apply(self, tailed: TailedCopy, records: Iterable[Any]) -> None:
        tailed.heard = True
        for portion, size in portions(records):
            if tailed.waiter is None:
                self._rate_limit.took(size)
            changes = [(record.key, record.value) for record in portion if record.key]
            before = tailed.copy.store
            self.kept.guard(tailed, partial(tailed.copy.apply, changes, portion[-1].offset + 1))
            if tailed not in self.kept or tailed.copy.store is not before:
                return  # the copy was given up, or was wiped and restarts
            self.applied += len(changes)
            task = tailed.copy.task
            self.applied_to[task] = self.applied_to.get(task, 0) + len(changes)

    def _update_ends(self) -> None:
        closed = self.closed_copies
        partitions = {task: KafkaPartition(*copy.changelog.partition) for task, copy in closed.items()}
        ends = self._ends.last({*partitions.values(), *(tailed.partition for tailed in self.kept)})
        known = {task: lag for task, lag in self._closed_lags.items() if task in closed}
        self._closed_lags = known | {
            task: _lag(copy, ends[partitions[task]])
            for task, copy in closed.items()
            if partitions[task] in ends
        }
        for tailed in list(self.kept):
            if (end := ends.get(tailed.partition)) is None:
                continue
            if self._restart_in_new_topic(tailed):
                continue  # the end may be that of the old topic
            if end < tailed.copy.position:
                self._restart_after_loss(tailed, end)
                continue  # the copy gets its end in the next update, or was given up if its restart failed
            if tailed.copy.stale and end > tailed.copy.confirmed:
                self.kept.restart(
                    tailed, "may have compacted deletes away since the copy was last in touch with it"
                )
                continue
            tailed.copy.confirm()
            # The end for a waiting task stays fixed, because the former owner has stopped writing; a lower
            # end means lost records.
            if tailed.end is None or tailed.waiter is None or end < tailed.end:
                tailed.end = end

    def _restart_in_new_topic(self, tailed: TailedCopy) -> bool:
        """Restart a copy whose changelog was deleted and created again; return whether it was."""
        changelog, current = tailed.copy.changelog, topic_id(self._consumer, tailed.partition.topic)
        if changelog is None or current is None or changelog.topic_id in {None, current}:
            return False
        tailed.copy.changelog = replace(changelog, topic_id=current)
        self.kept.restart(tailed, "was deleted and created again")
        return True

    def _restart_after_loss(self, tailed: TailedCopy, end: int) -> None:
        ends_at = f"ends at offset {end}, before {tailed.copy.position}, the position of the copy"
        self.kept.restart(tailed, f"{ends_at}: it was truncated or created again")

    def _settle(self) -> None:
        """Update lags, and return the copies that have reached the end to their waiters."""
        self._settled_at = self._clock()
        self._read_positions()
        lags = {task: lag for task, lag in self._closed_lags.items() if task in self.closed_copies}
        for tailed in list(self.kept):
            if tailed.end is not None:
                tailed.lag = max(0, tailed.end - tailed.position)
                self._progress.note_lag(tailed, tailed.lag)
                if tailed.waiter is not None and tailed.lag == 0 and not tailed.copy.stale:
                    self._arrived(tailed, tailed.end)
            if tailed.lag is not None:
                lags[tailed.copy.task] = tailed.lag
        self.kept.lags = lags
        self._progress.write()

    def _read_positions(self) -> None:
        """Read the consumer's position of some copies that are behind.

        Copies without new records come first: compaction may have removed the rest of their changelogs.
        """
        behind = [tailed for tailed in self.kept if tailed.end is not None and tailed.position < tailed.end]
        for tailed in sorted(behind, key=lambda tailed: (tailed.heard, tailed.asked_at))[:_POSITIONS]:
            tailed.asked_at = self._clock()
            # With a longer timeout, a partition without a leader would hold up the thread.
            tailed.passed = self._consumer.position(tailed.partition, timeout_ms=0) or 0
        for tailed in self.kept:
            tailed.heard = False

    def _arrived(self, tailed: TailedCopy, end: int) -> None:
        before = tailed.copy.store
        if end > tailed.copy.position:
            self.kept.guard(tailed, lambda: tailed.copy.apply((), end))
        if tailed in self.kept and tailed.copy.store is before:
            self._progress.arrived(tailed)
            self.kept.take_out(tailed.copy.task)
            self._on_restored(tailed.copy, tailed.waiter)

    def _flush_one(self) -> None:
        """Flush the copy that was flushed longest ago, if it is due."""
        now = self._clock()
        tailed = min(self.kept, key=lambda tailed: tailed.flushed_at, default=None)
        if tailed is not None and now - tailed.flushed_at >= _FLUSH_EVERY_S:
            tailed.flushed_at = now
            self.kept.guard(tailed, partial(_flush, tailed))


def _flush(tailed: TailedCopy) -> None:
    tailed.copy.flush()
    if tailed.waiter is None:  # after a flush, the copy of a standby is sound
        tailed.copy.in_doubt = False


def _lag(copy: ClosedCopy, end: int) -> int:
    """Return the records a closed copy lacks; the whole changelog if it would be wiped."""
    lag = end - copy.position
    return end if lag < 0 or (copy.stale and lag) else lag
