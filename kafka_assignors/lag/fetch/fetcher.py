"""Lag of a consumer group, asked of the cluster: batched, within a deadline, as much of it as can be had."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka_assignors.errors import LagClosedError, LagError
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.gathering import Gathering
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.reading import Reading
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition, shown

__all__ = ["CLOSE_S", "LagFetcher"]

CLOSE_S = 1.0
"""How long ``close`` waits for the connection's thread.  Only a name server that hangs makes it that long."""


class LagFetcher:
    """Asks a cluster for the lag of one group.

    It connects when it is first asked, keeps the connection, and makes a new one after a failure.  A fetch is
    one OffsetFetch to the group's coordinator, then to each broker that leads any of the partitions one
    ListOffsets for the ends, and one for those begins a lag depends on; leaders are looked up once and again
    when they change.

    Several threads may use it at once.  It owns one daemon thread while it is connected.

    Args:
        consumer_config: keyword arguments as ``KafkaConsumer`` takes them: addresses, security, client id,
            timeouts and ``isolation_level`` are taken over, what is about neither connection nor group is
            passed over.
        group_id: instead of the configuration's.
        auto_offset_reset: instead of the configuration's: where the group starts without a commit.

    Raises:
        OptionError: a configuration that cannot work, or without a group; it names the field.
    """

    def __init__(
        self,
        consumer_config: Mapping[str, Any],
        *,
        group_id: str | None = None,
        auto_offset_reset: str | None = None,
    ) -> None:
        self._settings = fetch_settings(consumer_config, group_id, auto_offset_reset)
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._old_links: list[Link] = []  # whose threads may not have come to their end
        self._waiting: set[threading.Event] = set()
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "not connected" if self._link is None else "connected"
        return f"<LagFetcher of group {shown(self._settings.group_id)!r}, {state}>"

    def fetch(
        self, partitions: Collection[TopicPartition], timeout_ms: float, *, all_begins: bool = False
    ) -> Reading:
        """Ask for the lags of partitions, and wait for the answers.

        Args:
            partitions: of any topics, whether they exist or not.
            timeout_ms: the longest to wait, whatever the cluster does.  It is kept to within what it takes to
                put the answer together (some 20 ms for 10,000 partitions) and to be given the processor.
            all_begins: ask where every log begins, not only where a lag depends on it: for showing.

        Returns:
            Lags, offsets, and for each partition without, why.  What can pass by itself (an election, a
            coordinator that moves, a broker that comes back) is tried again until the time is up.

        Raises:
            LagError: nothing can be had; ``LagTimeoutError``, ``LagUnreachableError``, ``LagDeniedError`` and
                ``LagClosedError`` say what to do about it.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        if not partitions:
            return Reading({}, {}, {})
        done = threading.Event()
        try:
            link = self._begin(done)
            gathering = Gathering(link, self._settings, partitions, deadline, all_begins=all_begins)
            try:
                link.manager.call_soon(gathering.run).add_both(lambda _: done.set())
            except Exception as error:  # the link's thread has come to its end
                self._check_open()
                self._drop(link)
                raise LagError("the connection broke down") from error
            done.wait(max(deadline - time.monotonic(), 0))
            self._check_open()
            if not done.is_set() or gathering.connection_failed:  # what still goes on must not be looked at
                self._drop(link)
            return gathering.reading()
        finally:
            with self._lock:
                self._waiting.discard(done)

    def close(self) -> None:
        """Close the connection.  A fetch under way in another thread ends at once, with ``LagClosedError``.

        May be called at any time, from any thread, any number of times.  Takes milliseconds; ``CLOSE_S`` at
        most.
        """
        with self._lock:
            self._closed = True
            links = [*self._old_links, *([] if self._link is None else [self._link])]
            self._link, self._old_links = None, []
            for waiting in self._waiting:
                waiting.set()
        until = time.monotonic() + CLOSE_S
        for link in links:
            link.shut()
        for link in links:
            link.wait_shut(max(until - time.monotonic(), 0))

    def _begin(self, done: threading.Event) -> Link:
        """The link to use, a new one if there is none; it does not wait for the cluster."""
        with self._lock:
            self._check_open()
            self._waiting.add(done)
            link = self._link
        if link is not None:
            return link
        try:
            new = Link(self._settings.client)
        except Exception as error:
            raise lag_error(error) from error
        with self._lock:
            if self._link is None and not self._closed:
                self._link = new
                return new
            link = self._link
        new.shut()  # another thread was faster
        if link is None:
            self._check_open()
            raise LagError("the connection broke down")
        return link

    def _check_open(self) -> None:
        if self._closed:
            raise LagClosedError("the lag fetcher is closed")

    def _drop(self, link: Link) -> None:
        """The next fetch connects anew.  Nobody waits for the old link's thread before ``close``."""
        link.shut()
        with self._lock:
            self._old_links = [old for old in self._old_links if not old.wait_shut(0)]
            if not link.wait_shut(0):
                self._old_links.append(link)
            if self._link is link:
                self._link = None
