"""Keeps the newest forecast of each partition of a group, read from the load feed in the background.

Every member reads the feed, because it may become the leader at any moment.  A member keeps the forecasts of
its own group.  ``begin`` and ``look`` never wait.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

from kafka_assignors.background import Background
from kafka_assignors.errors import LagClosedError
from kafka_assignors.lag.feed.consumer import FeedConsumer, FeedRecord
from kafka_assignors.lag.feed.sources import Expected, expected_of, period_ms
from kafka_assignors.lag.sources import one_line
from kafka_assignors.plan import TopicPartition, shown
from kafka_assignors.wire import load_feed
from kafka_assignors.wire.load_feed import Forecast

log = logging.getLogger("kafka_assignors")

MOST_FEED_PARTITIONS = 100_000
"""Largest number of kept forecasts, one for each partition of the group: about 25 MB."""

_POLL_S = 1.0
_CHECK_S = 30.0
"""Seconds between two checks that the topic still exists and is the same."""
_RESPONSE_S = 10.0
"""Seconds to wait for a connection, and for the response to a check of the topic."""
_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
"""Seconds before a retry after a failure, doubled with each failure, up to the longest pause."""
_END_S = 1.0
"""Seconds that ``close`` waits for the threads to end."""


class _Known(NamedTuple):
    """A forecast, and the feed's partition that it was read from."""

    forecast: Forecast
    feed_partition: int


class FeedReader:
    """Reads a feed from its beginning, and then follows it, on a daemon thread.

    Args:
        connect: makes a consumer of the feed; called again after a failure or a fork, and when the topic has
            changed.
        topic: the feed's name, for the log.
        group_id: the group whose forecasts are kept.
        max_age_ms: longest time between now and the event time of a used forecast, in the past or the future.
        wall: seconds since 1970, as ``time.time``.
        now: seconds, as ``time.monotonic``.

    Attributes:
        ignored: number of ignored records: malformed ones of this group, ones with an unreadable key, and
            ones of partitions beyond the limit.
    """

    def __init__(
        self,
        connect: Callable[[], FeedConsumer],
        topic: str,
        group_id: str,
        max_age_ms: float,
        *,
        wall: Callable[[], float] = time.time,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ignored = 0
        self._connect = connect
        self._topic = shown(topic)
        self._group_id = group_id
        self._max_age_ms = max_age_ms
        self._wall = wall
        self._now = now
        self._thread = Background("kafka-assignors-feed", now)
        self._process = os.getpid()
        # Keeps the objects of a parent process, because garbage collection would close the parent's sockets.
        self._of_parent: list[object] = []
        self._begun = self._closed = self._quiet = False
        # One thread writes the attributes below, others read them.
        self._consumer: FeedConsumer | None = None
        self._known: dict[TopicPartition, _Known] = {}
        self._nearest_ms: int | None = None  # event time nearest to now, of all forecasts read
        self._caught_up = False  # since the last open
        self._complete = False  # caught up at least once; before that forecasts are not used
        self._problem = ""
        self._problem_kind: type[Exception] | None = None
        self._failures = 0
        self._next_check = 0.0

    # --- any thread ---

    def begin(self) -> None:
        """Start reading if it has not started; returns at once.

        A forked process has neither the thread nor a connection of its own, so it starts anew.
        """
        if self._closed:
            return
        if self._process != os.getpid():
            self._of_parent += [self._consumer, self._thread]
            self._consumer, self._thread = None, Background("kafka-assignors-feed", self._now)
            self._process, self._begun = os.getpid(), False
        if not self._begun:
            self._thread.submit(self._run)
            self._begun = True  # if the thread cannot start, the next join tries again

    def read_once(self, timeout_s: float) -> None:
        """Read to the end on the calling thread, for callers that do not call ``begin``.  Does not retry.

        After a failure the next ``look`` has a ``problem``; the log has the failure at DEBUG.
        """
        until = self._now() + timeout_s
        self._quiet = True
        while True:
            has_failed = self.step() > 0
            if has_failed or self._caught_up or self._now() >= until:
                return

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """Return fresh forecasts of these partitions; none before the whole feed was read once."""
        now_ms = 1000 * self._wall()
        known = {p: self._known.get(p) if self._complete else None for p in partitions}
        fresh = {
            partition: entry.forecast
            for partition, entry in known.items()
            if entry is not None and self._is_fresh(entry.forecast, now_ms)
        }
        arrivals, lags = expected_of(fresh, now_ms)
        oldest_ms = min((forecast.time_ms for forecast in fresh.values()), default=now_ms)
        expected = Expected(
            arrivals,
            lags,
            period_s=period_ms(fresh, now_ms) / 1000,
            age_s=max(now_ms - oldest_ms, 0.0) / 1000,
        )
        if len(fresh) == len(known):
            return expected
        why, is_logged = self._why_incomplete(len(known) - len(fresh), len(known), now_ms)
        return replace(expected, problem=f"load feed {self._topic}: {why}", is_logged=is_logged)

    def close(self) -> None:
        """End the threads.  A forked process leaves its parent's threads alone."""
        self._closed = True
        if self._process != os.getpid():
            return
        self._thread.stop()
        if self.ignored:
            log.info("load feed %s: closed, %d records were ignored", self._topic, self.ignored)
        if (consumer := self._consumer) is not None:
            consumer.shut()
        until = time.monotonic() + _END_S
        ended = self._thread.join(_END_S)
        # The thread may have connected meanwhile.
        if (consumer := self._consumer or consumer) is not None:
            consumer.shut()
            ended = consumer.wait_shut(max(until - time.monotonic(), 0.0)) and ended
        if not ended:
            log.warning("load feed %s: the reader still runs %g s after close()", self._topic, _END_S)

    # --- its own thread ---

    def _run(self) -> None:
        pause_s = self.step()
        if not self._closed:
            self._thread.submit(self._run, pause_s)

    def step(self) -> float:
        """Connect if needed, read for up to a second; return the seconds to the next step.  Never raises."""
        try:
            consumer = self._open_consumer()
            for record in consumer.poll(_POLL_S):
                self._keep(record)
            if not self._caught_up:
                self._caught_up = consumer.has_caught_up()
        except Exception as error:  # every failure is retried
            return self._handle_failure(error)
        self._complete = self._complete or self._caught_up
        if self._problem:
            log.info("load feed %s: reading works again", self._topic)
        self._problem, self._problem_kind, self._failures = "", None, 0
        return 0.0

    def _open_consumer(self) -> FeedConsumer:
        if self._consumer is not None and self._now() >= self._next_check:
            # Build a new dict, because other threads read the old one.
            self._known = {p: entry for p, entry in self._known.items() if not self._is_old(entry.forecast)}
            if not self._consumer.is_same(_RESPONSE_S):
                self._drop()  # known forecasts are valid until they are old or replaced
            self._next_check = self._now() + _CHECK_S
        if self._consumer is None:
            self._caught_up = False
            self._consumer = self._connect()
            if self._closed:  # `close` may have run before there was a consumer to shut
                raise LagClosedError("the reader was closed")
            self._consumer.open(_RESPONSE_S)
            self._next_check = self._now() + _CHECK_S
        return self._consumer

    def _handle_failure(self, error: Exception) -> float:
        self._drop()
        if self._closed:
            return 0.0
        pause_s = min(_PAUSE_S * 2.0 ** min(self._failures, 10), _LONGEST_PAUSE_S)
        self._failures += 1
        self._problem = one_line(error)
        is_repeated = self._problem_kind is type(error)
        level = logging.DEBUG if self._quiet or is_repeated else logging.WARNING
        self._problem_kind = type(error)
        log.log(level, "load feed %s: %s; trying again in %.1f s", self._topic, self._problem, pause_s)
        return pause_s

    def _drop(self) -> None:
        if self._consumer is not None:
            self._consumer.shut()
            self._consumer.wait_shut(_END_S)
            self._consumer = None

    def _keep(self, record: FeedRecord) -> None:
        """Keep a record's forecast.  Ignore a malformed record, because a retry would read it again."""
        try:
            key = load_feed.decode_key(record.key or b"")
            if key.group_id != self._group_id:
                return
            forecast = None if record.value is None else load_feed.decode(record.value)
        except Exception as error:
            self._ignore(one_line(error))
            return
        known = self._known.get(key.partition)
        if forecast is None:
            if known is not None and known.feed_partition == record.partition:
                del self._known[key.partition]
            return
        now_ms, time_ms = 1000 * self._wall(), forecast.time_ms
        # Keep the nearest time.  The highest could be far ahead, from a record that was overwritten since.
        self._nearest_ms = min((self._nearest_ms or time_ms, time_ms), key=lambda each: abs(now_ms - each))
        # Within one partition of the feed the last record of a key counts.  After the feed has grown, a key
        # can have an old record in another partition, perhaps with a time far ahead.
        if known is not None and known.feed_partition != record.partition:
            known_ms = known.forecast.time_ms
            if not self._is_near(time_ms, now_ms) or (self._is_near(known_ms, now_ms) and known_ms > time_ms):
                return
        if known is None and self._is_old(forecast):
            return
        if known is None and len(self._known) >= MOST_FEED_PARTITIONS:
            self._ignore(f"more than {MOST_FEED_PARTITIONS} partitions of group {shown(self._group_id)}")
            return
        self._known[key.partition] = _Known(forecast, record.partition)

    def _ignore(self, why: str) -> None:
        self.ignored += 1
        if self.ignored == 1:
            log.warning("load feed %s: ignored a record; further ones are only counted: %s", self._topic, why)

    def _is_old(self, forecast: Forecast) -> bool:
        return 1000 * self._wall() - forecast.time_ms > self._max_age_ms

    def _is_fresh(self, forecast: Forecast, now_ms: float) -> bool:
        """Whether a forecast counts: its event time is near, and its horizon is not over."""
        return self._is_near(forecast.time_ms, now_ms) and forecast.time_ms + forecast.horizon_ms > now_ms

    def _is_near(self, time_ms: int, now_ms: float) -> bool:
        """Whether an event time is within the limit.  Clocks differ, so it may also be in the future."""
        return abs(now_ms - time_ms) <= self._max_age_ms

    def _why_incomplete(self, missing: int, wanted: int, now_ms: float) -> tuple[str, bool]:
        """Return why forecasts are missing, and ``Expected.is_logged``."""
        if self._problem:
            return self._problem, True
        if not self._caught_up:
            return "it is still being read", True
        if self._nearest_ms is None:
            return f"it has no forecast for group {shown(self._group_id)}", False
        if self._is_near(self._nearest_ms, now_ms):
            return f"no fresh forecast for {missing} of {wanted} partitions", False
        away_s = (now_ms - self._nearest_ms) / 1000
        return f"its newest forecast is {abs(away_s):,.0f} s {'old' if away_s > 0 else 'ahead'}", False
