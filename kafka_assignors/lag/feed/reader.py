"""Keeps the newest forecast of each partition of a group, read from the load feed in the background.

Every member may lead the group at any moment, so every member reads; what it keeps is its own group's only.
Nothing in here waits but its own thread.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kafka_assignors.background import Background
from kafka_assignors.errors import CodecError, LagClosedError
from kafka_assignors.lag.feed.consumer import FeedConsumer, FeedRecord
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.lag.sources import one_line
from kafka_assignors.plan import TopicPartition, shown
from kafka_assignors.wire import load_feed
from kafka_assignors.wire.load_feed import Forecast

__all__ = ["MOST_PARTITIONS", "FeedReader", "expected_of"]

log = logging.getLogger("kafka_assignors")

MOST_PARTITIONS = 100_000
"""Of the group, whose forecasts are kept, at most: some 25 MB."""

_POLL_S = 1.0
_CHECK_S = 30.0
"""So often it looks whether the topic is still there, and the same one."""
_ANSWER_S = 10.0
"""How long it waits for that, and for a connection."""
_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
"""Before it tries again after a failure: twice as long each time."""
_END_S = 1.0
"""How long ``close`` waits for the threads, which end at once."""


class _Known(NamedTuple):
    """A forecast, and the partition of the feed that it came by."""

    forecast: Forecast
    by: int


class FeedReader:
    """Reads a feed, from its beginning and then as it grows, on a daemon thread of its own.

    Args:
        connect: makes a consumer of the feed; it is called again after every failure.
        topic: the feed's name, for the log.
        group_id: whose forecasts are kept.
        max_age_ms: older ones, by their event time, count no more; nor do those further ahead.
        wall: seconds since 1970, as ``time.time``.
        now: seconds, as ``time.monotonic``.

    Attributes:
        ignored: how many records of this group, or of no known one, were not what they should be.
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
        self._line = Background("kafka-assignors-feed", now)
        self._process = os.getpid()
        self._left_behind: list[object] = []
        self._begun = self._closed = self._quiet = False
        # All below is written by the one thread, and looked up by others.
        self._consumer: FeedConsumer | None = None
        self._known: dict[TopicPartition, _Known] = {}
        self._newest_ms: int | None = None
        self._caught_up = False  # since it was opened last
        self._complete = False  # has caught up once: half a feed makes no plan
        self._problem = ""
        self._problem_kind: type[Exception] | None = None
        self._failures = 0
        self._next_check = 0.0

    # --- any thread ---

    def begin(self) -> None:
        """Begin to read, if it has not yet; returns at once.

        In a process forked from the one that did, there is neither its thread nor a connection of its own.
        """
        if self._closed:
            return
        if self._process != os.getpid():
            self._left_behind += [self._consumer, self._line]  # what it holds is still the other's to close
            self._consumer, self._line = None, Background("kafka-assignors-feed", self._now)
            self._process, self._begun = os.getpid(), False
        if not self._begun:
            self._begun = True
            self._line.submit(self._go_on)

    def read_once(self, timeout_s: float) -> None:
        """Read to the end, here and now, in place of ``begin``; nothing is tried again, or logged.

        What went wrong is the ``problem`` of the next ``look``.
        """
        until = self._now() + timeout_s
        self._quiet = True
        while not (self.step() or self._caught_up) and self._now() < until:
            pass

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> Expected:
        """What is fresh, at once."""
        return self.look(partitions)

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """What is fresh of these partitions; nothing before all was read once."""
        now_ms = 1000 * self._wall()
        found = {at: self._known.get(at) if self._complete else None for at in partitions}
        fresh = {
            at: known.forecast
            for at, known in found.items()
            if known is not None and self._is_fresh(known.forecast, now_ms)
        }
        arrivals, lags = expected_of(fresh, now_ms)
        if len(fresh) == len(found):
            return Expected(arrivals, lags)
        why, is_logged = self._why_not_all(len(found) - len(fresh), len(found), now_ms)
        return Expected(arrivals, lags, f"load feed {self._topic}: {why}", is_logged)

    def close(self) -> None:
        """End the threads; a forked process leaves those of the other alone."""
        self._closed = True
        if self._process != os.getpid():
            return
        self._line.stop()
        if self.ignored:
            log.info("load feed %s: %d records in all were ignored", self._topic, self.ignored)
        if (consumer := self._consumer) is not None:
            consumer.shut()
        until = time.monotonic() + _END_S
        ended = self._line.join(_END_S)
        # It may have connected just then.
        if (consumer := self._consumer or consumer) is not None:
            consumer.shut()
            ended = consumer.wait_shut(max(until - time.monotonic(), 0.0)) and ended
        if not ended:
            log.warning("the reader of load feed %s has not ended within %g s", self._topic, _END_S)

    # --- its own thread ---

    def _go_on(self) -> None:
        pause_s = self.step()
        if not self._closed:
            self._line.submit(self._go_on, pause_s)

    def step(self) -> float:
        """Read what comes within a second; returns how many to wait before the next step.  Never raises."""
        try:
            consumer = self._opened()
            for record in consumer.poll(_POLL_S):
                self._take(record)
            if not self._caught_up:
                self._caught_up = consumer.has_caught_up()
        except Exception as error:  # whatever it is, it is tried again
            return self._failed(error)
        self._complete = self._complete or self._caught_up
        if self._problem:
            log.info("load feed %s is read again", self._topic)
        self._problem, self._problem_kind, self._failures = "", None, 0
        return 0.0

    def _opened(self) -> FeedConsumer:
        if self._consumer is not None and self._now() >= self._next_check:
            self._forget_the_old()
            if not self._consumer.is_same(_ANSWER_S):
                self._drop()  # what is known holds until it is old, or the new topic says something else
            self._next_check = self._now() + _CHECK_S
        if self._consumer is None:
            self._caught_up = False
            self._consumer = self._connect()
            if self._closed:  # `close` may have seen none yet
                raise LagClosedError("the reader was closed")
            self._consumer.open(_ANSWER_S)
            self._next_check = self._now() + _CHECK_S
        return self._consumer

    def _failed(self, error: Exception) -> float:
        self._drop()
        if self._closed:
            return 0.0
        pause_s = min(_PAUSE_S * 2.0 ** min(self._failures, 10), _LONGEST_PAUSE_S)
        self._failures += 1
        self._problem = one_line(error)
        told = self._quiet or self._problem_kind is type(error)
        level = logging.DEBUG if told else logging.WARNING
        self._problem_kind = type(error)
        log.log(level, "load feed %s: %s; it is tried again", self._topic, self._problem)
        return pause_s

    def _drop(self) -> None:
        if self._consumer is not None:
            self._consumer.shut()
            self._consumer.wait_shut(_END_S)
            self._consumer = None

    def _take(self, record: FeedRecord) -> None:
        """Never raises: who tried again would come to the same record again."""
        try:
            self._keep(record)
        except Exception as error:
            self._ignore(one_line(error))

    def _keep(self, record: FeedRecord) -> None:
        try:
            key = load_feed.decode_key(record.key or b"")
            if key.group_id != self._group_id:
                return
            forecast = None if record.value is None else load_feed.decode(record.value)
        except CodecError as error:
            self._ignore(str(error))
            return
        known = self._known.get(key.at)
        if forecast is None:
            if known is not None and known.by == record.partition:
                del self._known[key.at]
            return
        self._newest_ms = max(self._newest_ms or 0, forecast.time_ms)
        # In one partition of the feed the last one counts.  Once the feed has grown, a key can have an old
        # record left in another one.
        if known is not None and known.by != record.partition and known.forecast.time_ms > forecast.time_ms:
            return
        if known is None and self._is_old(forecast):
            return
        if known is None and len(self._known) >= MOST_PARTITIONS:
            self._ignore(f"more than {MOST_PARTITIONS} partitions of group {shown(self._group_id)}")
            return
        self._known[key.at] = _Known(forecast, record.partition)

    def _ignore(self, why: str) -> None:
        self.ignored += 1
        if self.ignored == 1:
            log.warning("load feed %s: a record is ignored, as any more like it: %s", self._topic, why)

    def _is_old(self, forecast: Forecast) -> bool:
        return 1000 * self._wall() - forecast.time_ms > self._max_age_ms

    def _is_fresh(self, forecast: Forecast, now_ms: float) -> bool:
        """Whether it counts: of the time that it foresaw some must be left."""
        return self._is_near(forecast.time_ms, now_ms) and forecast.time_ms + forecast.horizon_ms > now_ms

    def _is_near(self, time_ms: int, now_ms: float) -> bool:
        """Whether its age is within the limit.  Clocks differ, so event time may also be ahead of ours."""
        return abs(now_ms - time_ms) <= self._max_age_ms

    def _forget_the_old(self) -> None:
        # A new one: others look things up in it meanwhile.
        self._known = {at: one for at, one in self._known.items() if not self._is_old(one.forecast)}

    def _why_not_all(self, missing: int, wanted: int, now_ms: float) -> tuple[str, bool]:
        """In words, and whether there is no need to say so again."""
        if self._problem:
            return self._problem, True
        if not self._caught_up:
            return "it has not been read yet", True
        if self._newest_ms is None:
            return f"nothing of group {shown(self._group_id)} is in it", False
        if self._is_near(self._newest_ms, now_ms):
            return f"no fresh forecast of {missing} of {wanted} partitions", False
        away_s = (now_ms - self._newest_ms) / 1000
        return f"its newest forecast is {abs(away_s):,.0f} s {'old' if away_s > 0 else 'ahead'}", False


def expected_of(
    forecasts: Mapping[TopicPartition, Forecast], now_ms: float
) -> tuple[dict[TopicPartition, float], dict[TopicPartition, int]]:
    """Arrivals and lags, in records.

    Arrivals are those in what is left of the time that the newest forecast (the longest, of several as new)
    looks ahead; those in the other forecasts are scaled to that.  What has arrived already is lag by now.
    """
    if not forecasts:
        return {}, {}
    time_ms, horizon_ms = max((one.time_ms, one.horizon_ms) for one in forecasts.values())
    left_ms = max(horizon_ms - max(now_ms - time_ms, 0.0), 0.0)
    arrivals = {at: one.arrivals * (left_ms / one.horizon_ms) for at, one in forecasts.items()}
    return arrivals, {at: round(one.lag) for at, one in forecasts.items() if one.lag is not None}
