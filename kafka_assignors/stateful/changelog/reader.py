"""Brings copies up to date in the background: restores what is to be processed, tails what stands by.

A thread with a consumer of its own.  A copy belongs to this thread from ``keep`` until ``give_back``, or
until ``restored`` hands it out: so a store is never used by two threads.

Memory: what a fetch from each broker brings (``fetch_max_bytes``), and while that is applied the next one.
Rate: what stands by waits when it has had more than ``standby_bytes_per_s``, and while a task waits for its
state; what is to be processed does not.
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
from kafka_assignors.stateful.changelog.ends import AllEnds, Ends
from kafka_assignors.stateful.changelog.pace import Pace
from kafka_assignors.stateful.changelog.tailing import Tailing
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.state.copy import Changelog, Copy
from kafka_assignors.stateful.state.on_disk import Resting
from kafka_assignors.stateful.topology import Task

__all__ = ["ChangelogReader"]

log = logging.getLogger("kafka_assignors")

T = TypeVar("T")

_IDLE_S = 0.1
_AGAIN_S = 1.0  # after an error of the cluster


class ChangelogReader:
    """Keeps copies up to date.

    Args:
        client: how to reach the cluster, as kafka-python's clients take it.
        standby_bytes_per_s: how fast what stands by may be read; None: as fast as it comes.
        fetch_max_bytes: of one fetch from one broker.
        ending: when the member ends, no topics are asked for their ends that can wait.
        clock: seconds.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        *,
        standby_bytes_per_s: int | None = None,
        fetch_max_bytes: int = 8 * 1024 * 1024,
        ending: Ending | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer: Any = KafkaConsumer(
            **client,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            allow_auto_create_topics=False,  # one that is deleted would come back without compaction
            fetch_max_bytes=fetch_max_bytes,
            max_partition_fetch_bytes=min(fetch_max_bytes, 1024 * 1024),
            max_poll_records=10_000,
        )
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._restored: SimpleQueue[tuple[Copy, object]] = SimpleQueue()
        self._failed: SimpleQueue[tuple[Task, StateError]] = SimpleQueue()
        self._ending = ending or Ending()
        self._stop = threading.Event()
        ends = Ends(self._consumer, clock, self._ending.is_set)
        self._all_ends = AllEnds(ends, clock)
        self._tailing = Tailing(
            *(self._consumer, ends),
            Pace(standby_bytes_per_s, clock),
            clock,
            on_restored=lambda copy, goal: self._restored.put((copy, goal)),
            on_failed=lambda task, error: self._failed.put((task, error)),
        )
        self._looked = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="kafka-assignors-changelog-reader", daemon=True
        )
        self._thread.start()

    # --- for the thread that processes

    def keep(self, copy: Copy, goal: object = None) -> None:
        """Bring a copy up to date; it is this reader's until then.

        Args:
            copy: of a task with a changelog.
            goal: who waits for it, to know it again when it is handed out; None: nobody, it stands by.
        """
        self._orders.put(lambda: self._tailing.begin(copy, goal))

    def aim(self, task: Task, goal: object) -> None:
        """What stood by is waited for from now on, or (None) the other way round."""
        self._orders.put(lambda: self._tailing.aim(task, goal))

    def give_back(self, tasks: Collection[Task]) -> list[Copy]:
        """Take copies out of this reader's hands, those that it has and has not handed out already.

        It takes a turn of the reader's thread, however many they are.
        """
        done, found = threading.Event(), list[Copy]()

        def order() -> None:
            if done.is_set():
                return  # nobody waits for it any more
            try:
                found.extend(copy for task in tasks if (copy := self._tailing.take_out(task)) is not None)
            finally:
                done.set()

        self._orders.put(order)
        while not done.wait(1.0):
            if not self._thread.is_alive():
                done.set()
                return []  # `close` has them
        return found

    def restored(self) -> list[tuple[Copy, object]]:
        """Copies that are up to date now, and who waits for them."""
        return _drained(self._restored)

    def failed(self) -> list[tuple[Task, StateError]]:
        """Copies that had to be given up, and why; they are closed."""
        return _drained(self._failed)

    def rest(self, copies: Mapping[Task, Resting]) -> None:
        """Look after the lags of these, too: they lie on disk."""
        self._tailing.resting = copies

    def watch(self, changelogs: Mapping[Task, Changelog]) -> None:
        """Look after the ends of these: those of all tasks."""
        self._all_ends.changelogs = changelogs

    @property
    def ends(self) -> Mapping[Task, int]:
        """Task -> where its changelog ended some seconds ago, of all tasks."""
        return self._all_ends.known

    @property
    def lags(self) -> Mapping[Task, int]:
        """Task -> records its copy lacks, of the copies in this reader's hands and of those that rest."""
        return self._tailing.lags

    @property
    def applied(self) -> int:
        """Records applied to copies so far."""
        return self._tailing.applied

    @property
    def applied_to(self) -> Mapping[Task, int]:
        """The same by task, as it is now."""
        return self._tailing.applied_to.copy()

    def look(self, timeout_s: float) -> bool:
        """Wait until lags were looked at anew, or it is to end; whether they were."""
        self._looked.clear()
        until = time.monotonic() + timeout_s
        while not self._looked.wait(_IDLE_S):
            if self._ending.is_set() or time.monotonic() >= until:
                return False
        return True

    @property
    def has_ended(self) -> bool:
        """Whether the thread uses no copy any more."""
        return not self._thread.is_alive()

    def close(self, timeout_s: float | None = None) -> list[Copy]:
        """End the thread; what it had in its hands is the caller's to close.

        Args:
            timeout_s: how long to wait for it; None: until it has ended.  It asks the cluster nothing more,
                but may be waiting for an answer.  If it does not end, it keeps what it has.
        """
        self._stop.set()
        self._thread.join(timeout_s)
        if not self.has_ended:
            log.warning("the thread that reads changelogs does not end; its copies stay open until we do")
            return []
        for order in _drained(self._orders):  # a copy may be in one of them
            self._guarded(order)
        self._consumer.close(autocommit=False)
        return [*self._tailing.copies, *(copy for copy, _ in self.restored())]

    # --- the thread

    def _run(self) -> None:
        while not self._stop.is_set():
            for order in _drained(self._orders):
                self._guarded(order)
            for step in (self._read, self._all_ends.look, self._look):
                if not self._stop.is_set():
                    self._guarded(step)

    def _read(self) -> None:
        if not self._tailing.read():
            self._stop.wait(_IDLE_S)

    def _look(self) -> None:
        if self._tailing.look_at_ends():
            self._looked.set()

    def _guarded(self, do: Callable[[], None]) -> None:
        """Whatever one step raises, this thread goes on, and with the next step."""
        try:
            self._repositioned(do)
        except KafkaError as error:
            log.warning("changelogs cannot be read: %s; trying again", error)
            self._stop.wait(_AGAIN_S)
        except Exception:
            log.exception("reading changelogs failed; trying again")
            self._stop.wait(_AGAIN_S)

    def _repositioned(self, do: Callable[[], None]) -> None:
        try:
            do()
        except OffsetOutOfRangeError:
            self._tailing.reposition()
        except LogTruncationError as error:
            self._tailing.cut_off(error)


def _drained(queue: SimpleQueue[T]) -> list[T]:
    found: list[T] = []
    try:
        while True:
            found.append(queue.get_nowait())
    except Empty:
        return found
