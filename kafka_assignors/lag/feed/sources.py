"""Where forecasts come from: a feed, or a function of the user's."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from kafka_assignors.background import Background
from kafka_assignors.lag.sources import Lags, from_function, one_line
from kafka_assignors.plan import TopicPartition

__all__ = ["Expected", "LoadSource", "PolledLoad"]

log = logging.getLogger("kafka_assignors")

_LEAST_REFRESH_S = 0.05
_END_S = 1.0
"""How long ``close`` waits for the thread: a function of somebody else's may not end."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of the work to come.

    Attributes:
        arrivals: records expected to come, of all partitions over one and the same time.
        lags: records that were left to read when that was foreseen.
        problem: why that is not all, a line a person can act on; empty when it is.
        is_logged: the problem is in the log already, or only that there was no time yet.
    """

    arrivals: Mapping[TopicPartition, float] = field(default_factory=dict)
    lags: Lags = field(default_factory=dict)
    problem: str = ""
    is_logged: bool = False


class LoadSource(Protocol):
    """Where forecasts come from."""

    def begin(self) -> None:
        """Have the forecasts ready; called at every join, on the consumer's I/O thread."""

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> Expected:
        """What the leader plans from, at once, on the consumer's I/O thread; may raise anything."""

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """The same in the background; may raise anything."""

    def close(self) -> None:
        """End all threads."""


class PolledLoad:
    """Asks a function of the user's again and again, on a daemon thread of ours, and keeps what it said last.

    It begins with the first partitions that somebody wants to know of, and goes on until it is closed; nobody
    waits for it.

    Args:
        tell: called with partitions, returns records to come, those it does not know left out.
        refresh_s: seconds from one answer to the next question.
        max_age_s: what it said longer ago counts no more.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(
        self,
        tell: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]],
        refresh_s: float,
        max_age_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = from_function(tell, "load_source", whole=False)
        self._refresh_s = max(refresh_s, _LEAST_REFRESH_S)
        self._max_age_s = max_age_s
        self._now = now
        self._line = Background("kafka-assignors-load", now)
        self._process = os.getpid()
        self._closed = False
        self._wanted: frozenset[TopicPartition] = frozenset()
        # All below is written by the one thread, and looked up by others.
        self._asked_at: float | None = None  # while it has not answered
        self._said: tuple[Lags, float] | None = None
        self._problem = ""

    # --- any thread ---

    def begin(self) -> None:
        """Go on asking in a process forked from the one that did; there is no thread of its own."""
        if not self._closed and self._process != os.getpid():
            self._process, self._asked_at = os.getpid(), None
            self._line = Background("kafka-assignors-load", self._now)
            if self._wanted:
                self._line.submit(partial(self._go_on, self._wanted))

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> Expected:
        """What it said last, at once."""
        return self.look(partitions)

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """What it said last; other partitions than before are asked for at once, for the next look."""
        if not self._closed and not self._wanted.issuperset(partitions):
            self._wanted = frozenset(partitions)
            self._line.submit(partial(self._go_on, self._wanted))
        now, said, asked_at = self._now(), self._said, self._asked_at
        problem = self._problem
        if asked_at is not None and now - asked_at > self._refresh_s:
            problem = f"load_source has not answered for {now - asked_at:,.0f} s"
        if said is None:
            return Expected(problem=problem or "load_source has not answered yet", is_logged=not problem)
        lags, then = said
        if now - then > self._max_age_s:
            return Expected(problem=problem or f"what load_source said is {now - then:,.0f} s old")
        return Expected({at: float(lags[at]) for at in partitions if at in lags}, problem=problem)

    def close(self) -> None:
        """End the thread; what hangs in the function is waited for a second."""
        self._closed = True
        if self._process != os.getpid():
            return
        self._line.stop()
        if not self._line.join(_END_S):
            log.warning("load_source is still busy %g s after it should have ended", _END_S)

    # --- its own thread ---

    def _go_on(self, partitions: frozenset[TopicPartition]) -> None:
        if partitions is not self._wanted:
            return  # others are wanted, and asked for
        self._asked_at = self._now()
        try:
            answer = self._source.lags(sorted(partitions), self._refresh_s)
        except Exception as error:  # what was said before counts until it is too old
            self._problem = one_line(error)
            log.debug("load_source: %s", self._problem)
        else:
            self._said, self._problem = (answer.lags, self._now()), answer.problem
        self._asked_at = None
        self._line.submit(partial(self._go_on, partitions), self._refresh_s)
