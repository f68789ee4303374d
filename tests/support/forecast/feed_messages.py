"""A feed without a broker: its records, and a consumer that returns the records of a test."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

from kafka_assignors.errors import LagClosedError
from kafka_assignors.lag.feed.consumer import FeedConsumer, FeedRecord
from kafka_assignors.lag.feed.reader import FeedReader
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import load_feed
from kafka_assignors.wire.load_feed import Forecast

NOW_S = 1_760_000_000.0
HOUR_MS = 3_600_000
MAX_AGE_MS = 60_000


def forecast(
    arrivals: float, age_s: float = 0.0, horizon_ms: int = HOUR_MS, lag: float | None = None
) -> Forecast:
    return Forecast(
        time_ms=round(1000 * (NOW_S - age_s)),
        horizon_ms=horizon_ms,
        arrivals=arrivals,
        error=None,
        arrival_rate=0.0,
        service_rate=None,
        lag=lag,
    )


def record(partition: int, value: Forecast | bytes | None, *, group: str = "g", by: int = 0) -> FeedRecord:
    """Return the forecast of a partition of topic ``t``, as a record in partition ``by`` of the feed."""
    data = load_feed.encode(value) if isinstance(value, Forecast) else value
    return FeedRecord(by, load_feed.encode_key(group, TopicPartition("t", partition)), data)


class Feed:
    """A cluster with a feed: its records and its faults.

    Attributes:
        batches: what each poll returns, in turn; then nothing.
        error: what everything raises.
        same: whether the topic is still the one that was opened.
        caught_up: whether its end is reached when no batch is left.
        hangs: a poll that finds nothing waits until it is shut.
        consumers: how many were made.
        opened: how many of them were opened.
        is_open: how many of them are not shut.
        looks: how often it was asked whether the topic is the same.
    """

    def __init__(self, *batches: Sequence[FeedRecord]) -> None:
        self.batches = list(batches)
        self.error: Exception | None = None
        self.same = True
        self.hangs = False
        self.caught_up = True
        self.consumers = self.opened = self.is_open = self.looks = 0
        self.wall = NOW_S
        self.now = 0.0
        self.polling = threading.Event()

    def reader(self, max_age_ms: float = MAX_AGE_MS) -> FeedReader:
        """Return a reader with this test's clocks."""
        return FeedReader(self.connect, "feed", "g", max_age_ms, wall=lambda: self.wall, now=lambda: self.now)

    def connect(self) -> FeedConsumer:
        self.consumers += 1
        self.is_open += 1
        return cast("FeedConsumer", _Consumer(self))


class _Consumer:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._shut = threading.Event()

    def open(self, timeout_s: float) -> None:
        self._feed.opened += 1
        self._fail()

    def is_same(self, timeout_s: float) -> bool:
        self._fail()
        self._feed.looks += 1
        same, self._feed.same = self._feed.same, True
        return same

    def poll(self, timeout_s: float) -> Any:
        self._fail()
        if self._feed.batches:
            return self._feed.batches.pop(0)
        self._feed.polling.set()
        if self._feed.hangs:
            self._shut.wait(60)
            raise LagClosedError("shut")
        return []

    def has_caught_up(self) -> bool:
        self._fail()
        return self._feed.caught_up and not self._feed.batches

    def shut(self) -> None:
        if not self._shut.is_set():
            self._feed.is_open -= 1
        self._shut.set()

    def wait_shut(self, timeout_s: float) -> bool:
        return self._shut.is_set()

    def _fail(self) -> None:
        if self._feed.error is not None:
            raise self._feed.error
