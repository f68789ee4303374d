"""Fetches the lag of a consumer group from the cluster: batched, within a deadline, partial if necessary."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka_assignors.errors import LagClosedError, LagUnreachableError
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.gathering import Gathering
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.reading import Reading
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition, shown

CLOSE_S = 1.0
"""Seconds that ``close`` waits for the connection's thread.  Only a hanging name lookup takes that long."""

_LOST = "the connection to the cluster was lost: fetch again"


class LagFetcher:
    """Fetches the lag of one group.

    It connects at the first fetch, keeps the connection, and makes a new one after a failure.  A fetch looks
    up the group's coordinator, and sends it one OffsetFetch.  Then it sends each partition leader one
    ListOffsets for the end offsets, and one for the beginning offsets that a lag depends on.  Leaders are
    looked up once, and again when they change.

    Several threads may use it at the same time.  It owns one daemon thread while it is connected.

    Args:
        consumer_config: keyword arguments of ``KafkaConsumer``.  Addresses, security, client id, timeouts and
            ``isolation_level`` are used.  Settings that concern neither connection nor group are ignored.
        group_id: overrides the configuration's.
        auto_offset_reset: overrides the configuration's: where the group starts without a commit.

    Raises:
        OptionError: an invalid configuration, or one without a group.  Names the field.
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
        self._old_links: list[Link] = []  # their threads may still be running
        self._waiting: set[threading.Event] = set()  # one for each call of `fetch`
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "not connected" if self._link is None else "connected"
        return f"<LagFetcher of group {shown(self._settings.group_id)!r}, {state}>"

    def fetch(
        self, partitions: Collection[TopicPartition], timeout_ms: float, *, all_begins: bool = False
    ) -> Reading:
        """Fetch the lags of partitions.

        Args:
            partitions: of any topics, existing or not.
            timeout_ms: longest time to wait.  The call may exceed it by the time to build the answer (about
                20 ms for 10,000 partitions) and to be scheduled.
            all_begins: also fetch the beginning offsets that no lag depends on, for display.

        Returns:
            Lags and offsets, and for each other partition why its lag is missing.  Failures that may pass (an
            election, a moving coordinator, a restarting broker) are retried until the time is up.

        Raises:
            LagError: nothing could be fetched.  The subclasses ``LagTimeoutError``, ``LagUnreachableError``,
                ``LagDeniedError`` and ``LagClosedError`` show what to do.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        if not partitions:
            return Reading({}, {}, {})
        while (reading := self._fetch_once(partitions, deadline, all_begins)) is None:
            pass  # another thread dropped the link: connect again
        return reading

    def _fetch_once(
        self, partitions: Collection[TopicPartition], deadline: float, all_begins: bool
    ) -> Reading | None:
        """Fetch over one link; return None if another thread dropped it and time is left."""
        done = threading.Event()
        try:
            link = self._connect(done)
            gathering = Gathering(link, self._settings, partitions, deadline, all_begins=all_begins)
            try:
                run = link.manager.call_soon(gathering.run)
            except Exception as error:  # the link's thread has ended
                self._check_open()
                if not self._drop(link) and time.monotonic() < deadline:
                    return None
                raise LagUnreachableError(_LOST) from error
            run.add_both(lambda _: done.set())
            done.wait(max(deadline - time.monotonic(), 0))
            self._check_open()
            # Drop the link if it failed, or if this fetch still runs: the next fetch must not wait for it.
            has_failed = not done.is_set() or run.exception is not None or gathering.connection_failed
            if has_failed and not self._drop(link) and time.monotonic() < deadline:
                return None
            return gathering.reading()
        finally:
            with self._lock:
                self._waiting.discard(done)

    def close(self) -> None:
        """Close the connection.  A fetch in another thread ends at once, with ``LagClosedError``.

        Any thread may call it, any number of times.  Takes milliseconds; ``CLOSE_S`` at most.
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

    def _connect(self, done: threading.Event) -> Link:
        """Register a waiting fetch; return the link, a new one if needed.  Never waits for the cluster."""
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
        new.shut()  # another thread made a link, or closed the fetcher
        if link is None:
            raise LagClosedError("the lag fetcher is closed")
        return link

    def _check_open(self) -> None:
        if self._closed:
            raise LagClosedError("the lag fetcher is closed")

    def _drop(self, link: Link) -> bool:
        """Drop a link, so that the next fetch connects again.  Only ``close`` waits for the link's thread.

        Returns:
            False if another thread had dropped it.
        """
        with self._lock:
            self._old_links = [old for old in self._old_links if not old.wait_shut(0)]
            was_in_use = self._link is link
            if was_in_use:
                self._link = None
                self._old_links.append(link)
        link.shut()  # after the drop: the link's other fetches end now, and must see that it was dropped
        return was_in_use
