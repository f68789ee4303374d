"""What one member knows of lag: kept fresh in the background for what it owns, asked for when it leads.

Nothing in here runs on the consumer's I/O thread but looking up what is known, and one wait with a deadline.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotInTime  # its own until Python 3.11
from functools import partial

from kafka_assignors.background import Background
from kafka_assignors.lag.sources import LagAnswer, Lags, LagSource, one_line
from kafka_assignors.plan import TopicPartition

__all__ = ["LagKeeper"]

log = logging.getLogger("kafka_assignors")

_END_S = 1.0
"""How long ``close`` waits for the threads: a fetch ends at once, what somebody else wrote may not."""

_MARGIN = 0.1
"""The part of a leader's patience that is left for an answer to get from one thread to the other."""


class LagKeeper:
    """Keeps the lag of what a member owns, and asks for more when the member leads.

    Args:
        source: where lag comes from.
        refresh_s: seconds between two looks at what is owned; what was asked for counts as long.
        timeout_s: seconds one look in the background may take.
        now: seconds, as ``time.monotonic``.
        what: the word for it in the names of its threads, and in the log.
    """

    def __init__(
        self,
        source: LagSource,
        refresh_s: float,
        timeout_s: float,
        now: Callable[[], float] = time.monotonic,
        *,
        what: str = "lag",
    ) -> None:
        self._what = what
        self._refresh_s = refresh_s
        self._timeout_s = timeout_s
        self._now = now
        self._source = source
        # Two, so that the leader does not wait for what hangs in the background.
        self._mine = Background(f"kafka-assignors-{what}", now)
        self._leading = Background(f"kafka-assignors-{what}-leader", now)
        self._busy: Future[LagAnswer] | None = None
        self._turn = 0
        self._measured: tuple[Lags, float] = {}, now()
        self._asked: dict[TopicPartition, tuple[int, float]] = {}
        self._asking = threading.Lock()

    def keep(self, partitions: Collection[TopicPartition], still: Callable[[], bool] = lambda: True) -> None:
        """Keep the lag of these fresh, in place of all before, for as long as they are ``still`` owned."""
        self._turn += 1
        if partitions:
            self._mine.submit(partial(self._refresh, frozenset(partitions), still, self._turn))

    def report(self) -> tuple[Lags, float]:
        """The last look at what is owned, and when it was, on the clock of ``now``."""
        return self._measured

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        """Ask for the lag of these, owned or not, and wait for ``timeout_s`` seconds at most.

        An answer that comes too late is remembered.  Nobody waits behind one that is still to come.
        """
        if self._busy is not None and not self._busy.done():
            return LagAnswer({}, "still busy with what was asked for before")
        deadline = self._now() + timeout_s * (1 - _MARGIN)
        future = self._leading.submit(lambda: self._look(partitions, max(deadline - self._now(), 0.0)))
        try:
            return future.result(timeout_s)
        except NotInTime:
            self._busy = future
            return LagAnswer({}, f"no answer within {timeout_s:.2f} s")
        except CancelledError:
            return LagAnswer({}, "closed")
        except Exception as error:
            return LagAnswer({}, one_line(error))

    def look(self, partitions: Collection[TopicPartition]) -> LagAnswer:
        """In a job of ``later``: the lag of these, now; it may raise anything."""
        return self._look(partitions, self._timeout_s)

    def recent(self) -> Lags:
        """What was asked and looked for a moment ago."""
        with self._asking:
            self._forget_the_old()
            return {at: lag for at, (lag, _then) in self._asked.items()}

    def later(self, seconds: float, job: Callable[[], object]) -> None:
        """Run a job in the background in a while; it may ``look``.  What it raises is logged."""
        self._mine.submit(job, seconds).add_done_callback(_say_what_failed)

    def close(self) -> None:
        """End both threads, and what is under way on them."""
        lines = (self._mine, self._leading)
        for line in lines:
            line.stop()
        self._source.close()
        until = time.monotonic() + _END_S
        ended = [line.join(max(until - time.monotonic(), 0.0)) for line in lines]
        if not all(ended):
            log.warning("a %s source is still busy %g s after it should have ended", self._what, _END_S)

    def _look(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        answer = self._source.lags(partitions, timeout_s)
        then = self._now()
        with self._asking:
            self._forget_the_old()
            self._asked |= {at: (lag, then) for at, lag in answer.lags.items()}
        return answer

    def _forget_the_old(self) -> None:
        since = self._now() - self._refresh_s
        self._asked = {at: known for at, known in self._asked.items() if known[1] > since}

    def _refresh(self, owned: frozenset[TopicPartition], still: Callable[[], bool], turn: int) -> None:
        if turn != self._turn or not still():
            return  # it is somebody else's, or another turn goes on
        try:
            answer = self._source.lags(owned, self._timeout_s)
        except Exception as error:
            answer = LagAnswer({}, one_line(error))
        if answer.problem:
            log.debug(
                "no lag of %d of %d partitions: %s", len(owned) - len(answer.lags), len(owned), answer.problem
            )
        if answer.lags and turn == self._turn:  # an old reading that says its age is better than none
            self._measured = answer.lags, self._now()
        self.later(self._refresh_s, partial(self._refresh, owned, still, turn))


def _say_what_failed(future: Future[object]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("looking at lag failed", exc_info=error)
