"""Runs a fetch until its deadline: sends its requests, and looks up leaders."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Protocol

from kafka.errors import KafkaTimeoutError, LeaderNotAvailableError, UnknownTopicOrPartitionError

from kafka_assignors.lag.fetch import requests
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.settings import FetchSettings
from kafka_assignors.plan import TopicPartition

PAUSE_MS = 200
"""Default pause before the first retry.  Each further pause is twice as long, up to the longest one."""
_LONGEST_PAUSE_MS = 1000
FEW = 5
"""Number of retries of a fetch that ends early if a partition has no leader, instead of at its deadline."""
_UNKNOWN = UnknownTopicOrPartitionError.errno


class Sender:
    """Sends requests on the link's thread.

    Args:
        settings: give the timeout of a request, and the first pause; None: a request may last until the
            deadline, and the first pause is ``PAUSE_MS``.
        deadline: on the clock, in seconds; no request is sent later.
        clock: seconds, as ``time.monotonic``.
        retries: number of retries after which ``pause`` returns False; None: only the deadline ends retries.
    """

    def __init__(
        self,
        link: Link,
        settings: FetchSettings | None,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
        retries: int | None = None,
    ) -> None:
        self._link = link
        self._manager = link.manager
        self._settings = settings
        self._deadline = deadline
        self._clock = clock
        self._retries = retries

    async def send(self, request: Any, node: int | None = None) -> Any:
        """Send a request to a broker by its number, or to any broker; return the response."""
        left_ms = self.left_ms()
        if node is None and len(self._manager.cluster.brokers()) > 1:
            left_ms /= 2  # the broker may hang: leave time to ask another
        if left_ms <= 0:
            raise KafkaTimeoutError("no response")
        if self._settings is not None:
            left_ms = min(self._settings.request_timeout_ms, left_ms)
        return await self._manager.send(request, node, request_timeout_ms=left_ms)

    async def pause(self, retry: int) -> bool:
        """Pause before a retry, numbered from 0; return whether time and retries are left."""
        # A user may set 0, but without a pause retries would take the processor until the deadline.
        first_ms = PAUSE_MS if self._settings is None else max(self._settings.retry_backoff_ms, 1)
        pause_ms = max(first_ms, min(first_ms * 2 ** min(retry, 10), _LONGEST_PAUSE_MS))
        if pause_ms >= self.left_ms() or (self._retries is not None and retry >= self._retries):
            return False
        await self._link.sleep(pause_ms / 1000)
        return True

    async def find_leaders(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Look up leaders and add them to the link; return the error codes of partitions without one."""
        response = await self.send(requests.metadata_request(sorted({tp.topic for tp in partitions})))
        topics = {name: (code, rows) for name, code, rows in requests.read_leaders(response)}
        codes = {}
        for tp in partitions:
            code, rows = topics.get(tp.topic, (_UNKNOWN, {}))
            partition_code, leader = rows.get(tp.partition, (_UNKNOWN, -1))
            if not code and leader >= 0:
                self._link.leaders[tp] = leader
            else:
                codes[tp] = code or partition_code or LeaderNotAvailableError.errno
        return codes

    def version(self, kind: Any) -> int:
        """Return the highest version of a request that kafka-python and the bootstrap broker support."""
        version: int = self._manager.broker_version_data.api_version(kind)
        return version

    def left_ms(self) -> float:
        """Milliseconds until the deadline."""
        return (self._deadline - self._clock()) * 1000


class Fetch(Protocol):
    """A fetch that notes why it failed."""

    failure: Exception | None

    async def run(self) -> None:
        """Fetch on the link's thread."""


def attempt_fetch(link: Link, deadline: float, fetch: Fetch) -> None:
    """Run a fetch until the deadline at the latest.  Its error, or the timeout, becomes its ``failure``."""
    fetch.failure = attempt(link, deadline, fetch.run) or fetch.failure


def attempt(link: Link, deadline: float, call: Callable[..., Awaitable[Any]]) -> Exception | None:
    """Run a call on the link's thread; return its error, or the timeout; None: it succeeded.

    The results so far are valid also after an error.  After a timeout the call may still run.
    """
    try:
        link.run(call, timeout_s=max(deadline - time.monotonic(), 0.001))
    except Exception as error:
        return error
    return None
