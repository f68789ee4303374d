"""Brings copies up to date in the background: restores what is to be processed, tails what stands by.

A thread with a consumer of its own.  A copy belongs to this thread from ``keep`` until ``give_back``, or
until ``restored`` hands it out: so a store is never used by two threads.

Memory: what one fetch brings (``fetch_max_bytes``).  Rate: what stands by waits when it has had more than
``standby_bytes_per_s``; what is to be processed does not.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition
from kafka.errors import KafkaError, OffsetOutOfRangeError

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.stateful.copy import Changelog, Copy
from kafka_assignors.stateful.pace import Pace
from kafka_assignors.stateful.topology import Task

__all__ = ["ChangelogReader"]

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_SAVE_EVERY_S = 30.0
_AGAIN_S = 1.0  # after an error of the cluster
_ENDS_EVERY_S = 1.0


class _Tailed:
    """A copy in this thread's hands."""

    __slots__ = ("at", "copy", "end", "restoring")

    def __init__(self, copy: Copy, *, restoring: bool) -> None:
        assert copy.changelog is not None  # noqa: S101  # there is nothing to read for one without
        self.copy = copy
        self.at = TheirPartition(*copy.changelog.at)
        self.restoring = restoring
        self.end: int | None = None  # of the changelog, when last looked at


class ChangelogReader:
    """Keeps copies up to date.

    Args:
        client: how to reach the cluster, as kafka-python's clients take it.
        standby_bytes_per_s: how fast what stands by may be read; None: as fast as it comes.
        fetch_max_bytes: of one fetch.
        clock: seconds.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        *,
        standby_bytes_per_s: int | None = None,
        fetch_max_bytes: int = 8 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer = KafkaConsumer(
            **client,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_bytes=fetch_max_bytes,
            max_partition_fetch_bytes=min(fetch_max_bytes, 1024 * 1024),
            max_poll_records=10_000,
        )
        self._clock = clock
        self._pace = Pace(standby_bytes_per_s, clock)
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._kept: dict[Task, _Tailed] = {}
        self._restored: SimpleQueue[Copy] = SimpleQueue()
        self._failed: SimpleQueue[tuple[Task, StateError]] = SimpleQueue()
        self.resting: Mapping[Task, tuple[Changelog, int]] = {}
        self._lags: Mapping[Task, int] = {}
        self._looked = threading.Event()
        self._at_rest: dict[Task, int] = {}
        self._saved_at = clock()
        self._ends_at = clock() - _ENDS_EVERY_S
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="kafka-assignors-changelog-reader", daemon=True
        )
        self._thread.start()

    # --- for the thread that processes

    def keep(self, copy: Copy, *, restoring: bool) -> None:
        """Bring a copy up to date: until it is restored, or for good.  It is this reader's until then."""
        self._orders.put(lambda: self._begin(copy, restoring=restoring))

    def restore(self, task: Task) -> None:
        """What stood by is to be processed: finish it and hand it out."""

        def order() -> None:
            if tailed := self._kept.get(task):
                tailed.restoring, tailed.end = True, None

        self._orders.put(order)

    def give_back(self, task: Task) -> Copy | None:
        """Take a copy out of this reader's hands; None: it has none, or has handed it out already."""
        done, found = threading.Event(), []

        def order() -> None:
            if tailed := self._kept.pop(task, None):
                self._assign()
                found.append(tailed.copy)
            done.set()

        self._orders.put(order)
        while not done.wait(1.0):
            if not self._thread.is_alive():
                return None
        return found[0] if found else None

    def restored(self) -> list[Copy]:
        """Copies that are up to date now and were to be handed out."""
        return _drained(self._restored)

    def failed(self) -> list[tuple[Task, StateError]]:
        """Copies that had to be given up, and why; they are closed."""
        return _drained(self._failed)

    @property
    def lags(self) -> Mapping[Task, int]:
        """Task -> records its copy lacks, of the copies in this reader's hands and of those that rest.

        Those (``resting``: on disk, up to that offset of that changelog) are nobody's to read at the moment.
        """
        return self._lags

    def look(self, timeout_s: float) -> bool:
        """Wait until lags were looked at anew; whether they were."""
        self._looked.clear()
        return self._looked.wait(timeout_s)

    def close(self) -> list[Copy]:
        """End the thread; the copies it had, saved as far as they are, for the caller to close."""
        self._stop.set()
        self._thread.join()
        self._consumer.close(autocommit=False)
        return [*(tailed.copy for tailed in self._kept.values()), *self.restored()]

    # --- the thread

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._turn()
            except OffsetOutOfRangeError as error:
                self._reposition(error)
            except KafkaError as error:
                log.warning("changelogs cannot be read: %s; trying again", error)
                self._stop.wait(_AGAIN_S)
            except Exception:
                log.exception("reading changelogs failed; trying again")
                self._stop.wait(_AGAIN_S)

    def _turn(self) -> None:
        for order in _drained(self._orders):
            order()
        if self._kept:
            self._hold_back()
            for at, records in self._consumer.poll(_POLL_MS).items():
                self._apply(at, records)
        else:
            self._stop.wait(_POLL_MS / 1000)
        self._look_at_ends()
        if self._clock() - self._saved_at >= _SAVE_EVERY_S:
            self._saved_at = self._clock()
            for tailed in list(self._kept.values()):
                self._guarded(tailed, tailed.copy.save)

    def _begin(self, copy: Copy, *, restoring: bool) -> None:
        tailed = self._kept[copy.task] = _Tailed(copy, restoring=restoring)
        self._assign()
        self._consumer.seek(tailed.at, copy.position)

    def _assign(self) -> None:
        self._consumer.assign(sorted(tailed.at for tailed in self._kept.values()))

    def _hold_back(self) -> None:
        """What stands by waits where it has had its share."""
        waits = {t.at for t in self._kept.values() if not t.restoring} if self._pace.exhausted() else set()
        paused = self._consumer.paused()
        if begin := waits - paused:
            self._consumer.pause(*begin)
        if end := paused - waits:
            self._consumer.resume(*end)

    def _apply(self, at: TheirPartition, records: Iterable[Any]) -> None:
        tailed = next((one for one in self._kept.values() if one.at == at), None)
        records = list(records)
        if tailed is None or not records:
            return
        if not tailed.restoring:
            self._pace.took(
                sum(record.serialized_value_size + record.serialized_key_size for record in records)
            )
        changes = [(record.key, record.value) for record in records if record.key]
        self._guarded(tailed, lambda: tailed.copy.apply(changes, records[-1].offset + 1))

    def _look_at_ends(self) -> None:
        """How far each copy is behind; what was to be restored and is there is handed out."""
        new = [t for t in self._kept.values() if t.end is None]
        if new or self._clock() - self._ends_at >= _ENDS_EVERY_S:
            self._ends_at = self._clock()
            resting = self.resting
            at_rest = {task: TheirPartition(*log.at) for task, (log, _) in resting.items()}
            asked = {*at_rest.values(), *(t.at for t in self._kept.values())}
            ends = self._consumer.end_offsets(sorted(asked)) if asked else {}
            self._at_rest = {
                task: max(0, ends[at_rest[task]] - position) for task, (_, position) in resting.items()
            }
            for tailed in self._kept.values():
                # What is restored has an end that no longer moves: who wrote to it has let go.
                if tailed.end is None or not tailed.restoring:
                    tailed.end = ends.get(tailed.at)
        lags = {task: lag for task, lag in self._at_rest.items() if task in self.resting}
        held = len(self._kept)
        for task, tailed in list(self._kept.items()):
            if tailed.end is None:
                continue
            # Records may be gone by compaction: the consumer is past them, the last one applied is not.
            position = max(tailed.copy.position, self._consumer.position(tailed.at) or 0)
            lags[task] = max(0, tailed.end - position)
            if tailed.restoring and lags[task] == 0:
                self._guarded(tailed, lambda tailed=tailed: tailed.copy.apply((), tailed.end))  # type: ignore[misc]  # bound here
                if self._kept.pop(task, None) is not None:
                    self._restored.put(tailed.copy)
        if len(self._kept) < held:
            self._assign()
        self._lags = lags
        self._looked.set()

    def _guarded(self, tailed: _Tailed, do: Callable[[], None]) -> None:
        """What is wrong with one copy's disk is that copy's fault alone."""
        try:
            do()
        except StateDamagedError as error:
            log.warning("state of task %s is restored from the beginning: %s", tailed.copy, error)
            try:
                tailed.copy.begin_anew()
                self._consumer.seek(tailed.at, 0)
            except StateError as worse:
                self._give_up(tailed, worse)
        except StateError as error:
            self._give_up(tailed, error)

    def _give_up(self, tailed: _Tailed, error: StateError) -> None:
        self._kept.pop(tailed.copy.task, None)
        self._assign()
        tailed.copy.drop()
        self._failed.put((tailed.copy.task, error))

    def _reposition(self, error: OffsetOutOfRangeError) -> None:
        """A changelog begins later than the copy is, or ends sooner."""
        found = {tailed.at: tailed for tailed in self._kept.values()}
        try:
            begins = self._consumer.beginning_offsets(list(found))
            ends = self._consumer.end_offsets(list(found))
        except KafkaError as worse:
            log.warning("changelogs cannot be read: %s; trying again", worse)
            return
        for at, tailed in found.items():
            position = tailed.copy.position
            if position > ends[at]:
                log.error(
                    "changelog %s-%d ends at %d, before %d, where task %s is: it was cut off or made again; "
                    "the state is restored from what there is",
                    *(at.topic, at.partition, ends[at], position, tailed.copy),
                )
                self._guarded(tailed, tailed.copy.begin_anew)
                position = 0
            if position < begins[at]:
                if position or tailed.copy.store.position is not None:
                    log.error(
                        "changelog %s-%d has lost records %d to %d: task %s goes on with what it has, and "
                        "without what was in them",
                        *(at.topic, at.partition, position, begins[at] - 1, tailed.copy),
                    )
                position = begins[at]
            if tailed.copy.task in self._kept:
                self._consumer.seek(at, position)
        del error


def _drained(queue: SimpleQueue[Any]) -> list[Any]:
    found = []
    while True:
        try:
            found.append(queue.get_nowait())
        except Empty:
            return found
