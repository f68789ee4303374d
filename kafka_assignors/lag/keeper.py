"""Measures the lag of a member's owned partitions; on the leader, also the lag of other partitions.

A background thread refreshes owned partitions.  The consumer's I/O thread only reads the last measurement.
On the leader the I/O thread also waits for a fetch, up to a deadline.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout  # not the built-in one before Python 3.11
from contextlib import suppress
from functools import partial

from kafka_assignors.background import Background
from kafka_assignors.lag.sources import LagAnswer, Lags, LagSource, one_line
from kafka_assignors.plan import TopicPartition

log = logging.getLogger("kafka_assignors")

_END_S = 1.0
"""Seconds that ``close`` waits for the threads.  A fetch ends at once, but a user's function may not."""

_MARGIN = 0.1
"""Share of the leader's timeout reserved for passing the answer from the fetch thread to the I/O thread."""


class LagKeeper:
    """Keeps the lag of owned partitions, and fetches more when the member leads.

    Args:
        refresh_s: seconds between two measurements of owned partitions; also how long fetched lag is valid.
        timeout_s: seconds that a fetch in the background may take.
        now: seconds, as ``time.monotonic``.
        on_failure: called, from any thread, if a fetch fails for some partition or ``ask`` cannot start one.
        on_answer: called, from any thread, with the answer of each fetch (empty if a refresh failed) and its
            time on the clock ``now``.
    """

    def __init__(
        self,
        source: LagSource,
        refresh_s: float,
        timeout_s: float,
        now: Callable[[], float] = time.monotonic,
        *,
        on_failure: Callable[[], None] = lambda: None,
        on_answer: Callable[[LagAnswer, float], None] = lambda _answer, _at_s: None,
    ) -> None:
        self._on_failure = on_failure
        self._on_answer = on_answer
        self._refresh_s = refresh_s
        self._timeout_s = timeout_s
        self._now = now
        self._source = source
        # Two threads, so that the leader does not wait for a background call that hangs.
        self._background = Background("kafka-assignors-lag", now)
        self._for_leader = Background("kafka-assignors-lag-leader", now)
        self._late_request: Future[LagAnswer] | None = None
        self._kept = 0  # incremented by `keep`, so that refreshes of earlier partitions end
        self._owned: frozenset[TopicPartition] = frozenset()
        self._measured: tuple[Lags, float] = {}, now()
        self._fetched: dict[TopicPartition, tuple[int, float]] = {}
        self._fetched_lock = threading.Lock()

    def keep(
        self, partitions: Collection[TopicPartition], is_current: Callable[[], bool] = lambda: True
    ) -> None:
        """Refresh the lag of these partitions, and no others, as long as ``is_current()``."""
        self._kept += 1
        self._owned = frozenset(partitions)
        if partitions:
            self.later(0.0, partial(self._refresh, self._owned, is_current, self._kept))

    def report(self) -> tuple[Lags, float]:
        """Return the last measurement of owned partitions, and its time on the clock ``now``."""
        return self._measured

    def age_s(self) -> float:
        """Return the age of the last measurement; NaN if it has no partition that is owned now."""
        lags, measured_at = self._measured
        return float("nan") if self._owned.isdisjoint(lags) else self._now() - measured_at

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        """Fetch the lag of any partitions, for a plan; wait for ``timeout_s`` seconds at most.

        A late answer is kept for ``recent``.  Until it comes, further calls return at once, without lags.
        """
        answer = self._ask(partitions, timeout_s)
        if answer.problem:
            self._on_failure()
        return answer

    def _ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        if self._late_request is not None and not self._late_request.done():
            return LagAnswer({}, "the previous request is still running")
        deadline = self._now() + timeout_s * (1 - _MARGIN)
        try:
            future = self._for_leader.submit(
                lambda: self._fetch_and_keep(partitions, max(deadline - self._now(), 0.0))
            )
        except RuntimeError as error:  # the thread cannot start
            return LagAnswer({}, one_line(error))
        with suppress(FutureTimeout, CancelledError):
            future.exception(timeout_s)  # waits, but does not raise what the source raised
        if not future.done():
            self._late_request = future
            return LagAnswer({}, f"no answer within {timeout_s:.2f} s")
        try:
            return future.result()
        except CancelledError:
            return LagAnswer({}, "closed")
        except Exception as error:
            return LagAnswer({}, one_line(error))

    def fetch(self, partitions: Collection[TopicPartition]) -> LagAnswer:
        """Fetch the lag of these partitions.  Blocks, so only a job of ``later`` may call it.  May raise."""
        try:
            answer = self._fetch_and_keep(partitions, self._timeout_s)
        except Exception:
            self._on_failure()
            raise
        if answer.problem:
            self._on_failure()
        return answer

    def recent(self, max_age_s: float) -> Lags:
        """Return lag that ``ask`` or ``fetch`` got in the last ``max_age_s`` (``refresh_s`` at most)."""
        with self._fetched_lock:
            self._drop_expired()
            since = self._now() - max_age_s
            return {partition: lag for partition, (lag, at_s) in self._fetched.items() if at_s > since}

    def later(self, seconds: float, job: Callable[[], object]) -> None:
        """Run a job in the background after ``seconds``.  It may call ``fetch``.  Exceptions are logged."""
        self._background.submit(job, seconds).add_done_callback(_log_failure)

    def close(self) -> None:
        """End both threads and their jobs."""
        threads = (self._background, self._for_leader)
        for thread in threads:
            thread.stop()
        self._source.close()
        until = time.monotonic() + _END_S
        ended = [thread.join(max(until - time.monotonic(), 0.0)) for thread in threads]
        if not all(ended):
            log.warning(
                "a lag fetch still runs %g s after close(): if lag_source is a function, it must not block",
                _END_S,
            )

    def _fetch_and_keep(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        answer = self._source.lags(partitions, timeout_s)
        fetched_at = self._now()
        self._on_answer(answer, fetched_at)
        with self._fetched_lock:
            self._drop_expired()
            self._fetched |= {partition: (lag, fetched_at) for partition, lag in answer.lags.items()}
        return answer

    def _drop_expired(self) -> None:
        since = self._now() - self._refresh_s
        self._fetched = {partition: known for partition, known in self._fetched.items() if known[1] > since}

    def _refresh(self, owned: frozenset[TopicPartition], is_current: Callable[[], bool], kept: int) -> None:
        if kept != self._kept or not is_current():
            return
        try:
            answer = self._source.lags(owned, self._timeout_s)
        except Exception as error:
            answer = LagAnswer({}, one_line(error))
        if answer.problem:
            self._on_failure()
            unknown = len(owned) - len(answer.lags)
            log.debug("lag unknown for %d of %d partitions: %s", unknown, len(owned), answer.problem)
        self._on_answer(answer, self._now())
        if answer.lags and kept == self._kept:  # if no lag could be fetched, keep the old one with its age
            self._measured = answer.lags, self._now()
        self.later(self._refresh_s, partial(self._refresh, owned, is_current, kept))


def _log_failure(future: Future[object]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error(
            "lag refresh or skew check failed; it may have stopped until the next rebalance", exc_info=error
        )
