"""Brings copies up to date in the background: restores active tasks, tails standbys and warm-ups.

The reader has a thread and a consumer of its own.  A copy belongs to this thread from ``keep`` until
``give_back`` or ``restored`` returns it, so two threads never use a store at once.

Memory: two fetches of each broker (of ``fetch_max_bytes``), because the next one arrives while one is
applied, and a third while standbys are paused.
Rate: standbys and warm-ups pause beyond ``standby_bytes_per_s`` (None: no limit), and while a task waits for
its state.  Active tasks restore at full speed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from kafka import KafkaConsumer
from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError

from kafka_assignors.errors import StateError
from kafka_assignors.lag.fetch.link import make_client
from kafka_assignors.stateful.changelog.end_offsets import EndOffsets, TaskEndOffsets
from kafka_assignors.stateful.changelog.rate_limit import RateLimit
from kafka_assignors.stateful.changelog.tailing import Tailing
from kafka_assignors.stateful.shutdown import Shutdown
from kafka_assignors.stateful.state.closed_copies import ClosedCopy
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

T = TypeVar("T")

_IDLE_S = 0.1  # pause of a thread that has nothing to do
_AGAIN_S = 1.0  # pause after an error of the cluster
_ANSWER_S = 5.0  # limit of the wait for copies that the thread gives back


class ChangelogReader:
    """Keeps copies up to date.

    The start of the ``shutdown`` stops requests for end offsets, and its deadline limits waits.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        *,
        standby_bytes_per_s: int | None = None,
        fetch_max_bytes: int = 8 * 1024 * 1024,
        shutdown: Shutdown | None = None,
    ) -> None:
        self._consumer: Any = make_client(  # without topic creation, else a deleted changelog would come back
            KafkaConsumer,
            **client,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_bytes=fetch_max_bytes,
            max_partition_fetch_bytes=min(fetch_max_bytes, 1024 * 1024),
            max_poll_records=10_000,
        )
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._restored: SimpleQueue[tuple[Copy, object]] = SimpleQueue()
        self._failed: SimpleQueue[tuple[Task, StateError]] = SimpleQueue()
        self._shutdown = shutdown or Shutdown()
        self._stop = threading.Event()
        ends = EndOffsets(self._consumer, time.monotonic, self._shutdown.is_set)
        self._task_ends = TaskEndOffsets(ends, time.monotonic)
        self._tailing = Tailing(
            self._consumer,
            ends,
            RateLimit(standby_bytes_per_s, time.monotonic),
            time.monotonic,
            on_restored=lambda copy, waiter: self._restored.put((copy, waiter)),
            on_failed=lambda task, error: self._failed.put((task, error)),
        )
        self._lags_since = float("-inf")  # when the last finished measurement of all lags began, monotonic
        self._thread = threading.Thread(
            target=self._run, name="kafka-assignors-changelog-reader", daemon=True
        )
        self._thread.start()

    # --- for the thread that processes

    def keep(self, copy: Copy, waiter: object = None) -> None:
        """Give the reader a copy to restore, and to return with its ``waiter``.

        A copy without a waiter is a standby or warm-up: the reader keeps it up to date.
        """
        self._orders.put(lambda: self._tailing.begin(copy, waiter))

    def set_waiter(self, task: Task, waiter: object) -> None:
        """Set or clear the waiter of a copy that the reader owns."""
        self._orders.put(lambda: self._tailing.set_waiter(task, waiter))

    def give_back(self, tasks: Collection[Task]) -> list[Copy]:
        """Take copies back from the reader, except for those it has restored or given up already.

        Waits up to 5 s, or until the end of the shutdown, because the thread may hang on a disk.  `restored`
        returns copies that come later, without a waiter.

        Cost: one turn of the reader's thread, for any number of copies.
        """
        answer: SimpleQueue[list[Copy]] = SimpleQueue()
        decision = threading.Lock()  # the reader acquires it to answer, or the caller to give up
        kept = self._tailing.kept

        def order() -> None:
            copies: list[Copy] = []
            try:
                copies.extend(copy for task in tasks if (copy := kept.take_out(task)) is not None)
            finally:
                if decision.acquire(blocking=False):
                    answer.put(copies)
                else:
                    for copy in copies:
                        self._restored.put((copy, None))

        self._orders.put(order)
        try:
            return answer.get(timeout=0.0 if self.has_ended else self._shutdown.left_s(_ANSWER_S))
        except Empty:
            if not decision.acquire(blocking=False):
                return answer.get()
            log.warning("changelog reader: busy, copies of %d tasks are closed later", len(tasks))
            return []

    def restored(self) -> list[tuple[Copy, object]]:
        """Return restored copies and their waiters, once; also copies too late for `give_back`."""
        return _drained(self._restored)

    def failed(self) -> list[tuple[Task, StateError]]:
        """Return the tasks whose copy was given up and closed, and their errors, once."""
        return _drained(self._failed)

    def watch_closed(self, copies: Mapping[Task, ClosedCopy]) -> None:
        """Measure the lags of these closed copies, too."""
        self._tailing.closed_copies = copies

    def watch(self, changelogs: Mapping[Task, Changelog]) -> None:
        """Ask for the end offsets of these changelogs, of all tasks."""
        self._task_ends.changelogs = changelogs

    @property
    def ends(self) -> Mapping[Task, int]:
        """Task -> end offset of its changelog; see `TaskEndOffsets`."""
        return self._task_ends.known

    @property
    def lags(self) -> Mapping[Task, int]:
        """Task -> records to apply, for the reader's copies and closed ones."""
        return self._tailing.kept.lags

    @property
    def applied(self) -> int:
        """Changelog records applied to copies so far."""
        return self._tailing.applied

    @property
    def applied_to(self) -> Mapping[Task, int]:
        """Task -> changelog records applied to its copy so far; a snapshot."""
        return self._tailing.applied_to.copy()

    def wait_for_lags(self, timeout_s: float) -> bool:
        """Wait for a measurement of all lags that begins after this call; return whether there was one.

        Returns False when time is up or the member closes.
        """
        called_at = time.monotonic()
        while self._lags_since < called_at:
            if self._shutdown.is_set() or time.monotonic() >= called_at + timeout_s:
                return False
            time.sleep(_IDLE_S)
        return True

    @property
    def has_ended(self) -> bool:
        """Whether the thread has ended, so it uses no copy."""
        return not self._thread.is_alive()

    def close(self, timeout_s: float | None = None) -> list[Copy]:
        """End the thread, and return its copies for the caller to close.

        The thread may wait for a response of the cluster.  If it does not end within ``timeout_s`` (None: no
        limit), it keeps its copies.
        """
        self._stop.set()
        self._thread.join(timeout_s)
        if not self.has_ended:
            log.warning("changelog reader: still busy at the end of the shutdown, its stores stay open")
            return []
        for order in _drained(self._orders):  # an order may hold a copy
            self._guarded(order)
        self._consumer.close(autocommit=False)
        return [*(tailed.copy for tailed in self._tailing.kept), *(copy for copy, _ in self.restored())]

    # --- the thread

    def _run(self) -> None:
        while not self._stop.is_set():
            for order in _drained(self._orders):
                self._guarded(order)
            for step in (self._read, self._task_ends.update, self._update_lags):
                if not self._stop.is_set():
                    self._guarded(step)

    def _read(self) -> None:
        if not self._tailing.read():
            self._stop.wait(_IDLE_S)

    def _update_lags(self) -> None:
        began_at = time.monotonic()
        if self._tailing.update_lags():
            self._lags_since = began_at

    def _guarded(self, do: Callable[[], None]) -> None:
        """Log the exception of a step, so that the thread goes on."""
        try:
            self._repositioned(do)
        except KafkaError as error:
            log.warning("changelog reader: %s; going on in %.0f s", error, _AGAIN_S)
            self._stop.wait(_AGAIN_S)
        except Exception:
            log.exception("changelog reader: a step failed; going on in %.0f s", _AGAIN_S)
            self._stop.wait(_AGAIN_S)

    def _repositioned(self, do: Callable[[], None]) -> None:
        """Run a step; if a position is not in its changelog, seek the copies or restore them."""
        try:
            do()
        except OffsetOutOfRangeError:
            self._tailing.reposition()
        except LogTruncationError as error:
            self._tailing.on_truncation(error)


def _drained(queue: SimpleQueue[T]) -> list[T]:
    items: list[T] = []
    try:
        while True:
            items.append(queue.get_nowait())
    except Empty:
        return items
