"""What one member knows of lag: kept fresh in the background for what it owns, asked for when it leads.

Nothing in here runs on the consumer's I/O thread but looking up what is known, and one wait with a deadline.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotInTime  # its own until Python 3.11
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from kafka_assignors.adapter.background import Background
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.plan import TopicPartition

__all__ = ["Answer", "LagKeeper", "Lags", "Source", "fetching", "one_line", "told_by"]

log = logging.getLogger("kafka_assignors")

Lags = Mapping[TopicPartition, int]

_END_S = 3.0
"""How long ``close`` waits for a thread: a fetch ends at once, what somebody else wrote may not."""


class Source(Protocol):
    """Where lag comes from; asked by two threads, at once at times."""

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> Answer:
        """Records left to read.  May raise anything."""

    def close(self) -> None:
        """Nothing more is asked for; what is under way in another thread shall end soon."""


class Answer(NamedTuple):
    """What could be found out.

    Attributes:
        lags: records left to read.
        problem: why that is not all, a line a person can act on; empty when it is.
    """

    lags: Lags
    problem: str = ""


class _Fetching:
    def __init__(self, fetcher: LagFetcher) -> None:
        self._fetcher = fetcher
        self.close = fetcher.close

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> Answer:
        reading = self._fetcher.fetch(partitions, 1000 * timeout_s)
        if not reading.missing:
            return Answer(reading.lags)
        at, why = min(reading.missing.items())
        return Answer(reading.lags, f"{at.topic}-{at.partition}: {why}")


class _ToldBy:
    def __init__(self, tell: Callable[[Collection[TopicPartition]], Lags]) -> None:
        self._tell = tell

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> Answer:
        told: Mapping[Any, Any] = self._tell(partitions)
        found: dict[TopicPartition, int] = {}
        problem = ""
        for at in partitions:
            lag = told.get(at)
            if isinstance(lag, (int, np.integer)) and lag >= 0:
                found[at] = int(lag)
            elif not problem:
                what = "nothing" if lag is None else f"{lag!r}"
                problem = f"lag_source says {what} of {at.topic}-{at.partition}"
        return Answer(found, problem)

    def close(self) -> None:
        """It is not ours to close."""


def fetching(config: Mapping[str, Any]) -> Source:
    """A source that asks the cluster a consumer of this configuration reads from; it connects when asked.

    Raises:
        OptionError: the configuration cannot work.
    """
    return _Fetching(LagFetcher(config))


def told_by(tell: Callable[[Collection[TopicPartition]], Lags]) -> Source:
    """A source that asks a function of the user's."""
    return _ToldBy(tell)


class _Line:
    """A thread that waits for a source."""

    def __init__(self, source: Source, name: str, now: Callable[[], float]) -> None:
        self._source = source
        self._now = now
        self.background = Background(name, now)

    def look(self, partitions: Collection[TopicPartition], timeout_s: float) -> Answer:
        """On the thread: what the source says; it may raise anything."""
        return self._source.lags(partitions, timeout_s)

    def wait_for(self, partitions: Collection[TopicPartition], timeout_s: float) -> Answer:
        """On another thread: the same, or why not, within this time."""
        deadline = self._now() + timeout_s
        future = self.background.submit(lambda: self.look(partitions, max(deadline - self._now(), 0.0)))
        try:
            return future.result(timeout_s)
        except NotInTime:
            future.cancel()  # in case the thread is still busy with an earlier one
            return Answer({}, f"no answer within {timeout_s:.2f} s")
        except CancelledError:
            return Answer({}, "closed")
        except Exception as error:
            return Answer({}, one_line(error))


class LagKeeper:
    """Keeps the lag of what a member owns, and asks for more when the member leads.

    Args:
        source: where lag comes from.
        refresh_s: seconds between two looks at what is owned; what was asked for counts as long.
        timeout_s: seconds one look in the background may take.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(
        self,
        source: Source,
        refresh_s: float,
        timeout_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refresh_s = refresh_s
        self._timeout_s = timeout_s
        self._now = now
        self._source = source
        # Two, so that the leader does not wait for what hangs in the background.
        self._mine = _Line(source, "kafka-assignors-lag", now)
        self._leading = _Line(source, "kafka-assignors-lag-leader", now)
        self._owned: frozenset[TopicPartition] = frozenset()
        self._turn = 0
        self._measured: tuple[Lags, float] = {}, now()
        self._asked: dict[TopicPartition, tuple[int, float]] = {}

    def keep(self, partitions: Collection[TopicPartition]) -> None:
        """Keep the lag of these fresh from now on, in place of all before."""
        self._owned = frozenset(partitions)
        self._turn += 1
        self._mine.background.submit(partial(self._refresh, self._turn))

    def report(self) -> tuple[Lags, float]:
        """The last look at what is owned, and how many milliseconds ago it was."""
        lags, then = self._measured
        return lags, 1000 * (self._now() - then)

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> Answer:
        """Ask for the lag of these, owned or not, and wait for ``timeout_s`` seconds at most."""
        answer = self._leading.wait_for(partitions, timeout_s)
        self._remember(answer.lags)
        return answer

    def look(self, partitions: Collection[TopicPartition]) -> Answer:
        """In a job of ``later``: the lag of these, now; it may raise anything."""
        answer = self._mine.look(partitions, self._timeout_s)
        self._remember(answer.lags)
        return answer

    def recent(self) -> dict[TopicPartition, tuple[int, float]]:
        """What was asked and looked for a moment ago: lag (records), and age (milliseconds).

        The second round of a rebalance follows at once and should see what the first one saw; and what made a
        leader ask for a rebalance is newer than what members report.
        """
        now = self._now()
        return {
            at: (lag, 1000 * (now - then)) for at, (lag, then) in self._asked.items() if self._is_recent(then)
        }

    def _remember(self, lags: Lags) -> None:
        then = self._now()
        kept = {at: known for at, known in self._asked.items() if self._is_recent(known[1])}
        self._asked = kept | {at: (lag, then) for at, lag in lags.items()}

    def _is_recent(self, then: float) -> bool:
        return self._now() - then < self._refresh_s

    def later(self, seconds: float, job: Callable[[], object]) -> None:
        """Run a job in the background in a while; it may ``look``.  What it raises is logged."""
        self._mine.background.submit(job, seconds).add_done_callback(_say_what_failed)

    def close(self) -> None:
        """End both threads, and what is under way on them."""
        for line in (self._mine, self._leading):
            line.background.stop()
        self._source.close()
        for line in (self._mine, self._leading):
            if not line.background.join(_END_S):
                log.warning("a lag source is still busy %g s after it should have ended", _END_S)

    def _refresh(self, turn: int) -> None:
        if turn != self._turn or not self._owned:
            return  # somebody else keeps on
        owned = self._owned
        try:
            answer = self._mine.look(owned, self._timeout_s)
        except Exception as error:  # an old reading that says its age is better than none
            log.debug("no lag of %d partitions: %s", len(owned), one_line(error))
        else:
            if owned == self._owned:
                self._measured = answer.lags, self._now()
        self.later(self._refresh_s, partial(self._refresh, turn))


def _say_what_failed(future: Future[object]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("looking at lag failed", exc_info=error)


def one_line(error: Exception) -> str:
    """What went wrong, as part of a line."""
    if isinstance(error, KafkaAssignorsError):
        return str(error)
    return f"{type(error).__name__}: {error}".split("\n")[0]
