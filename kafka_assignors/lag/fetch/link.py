"""Connection of a lag fetcher: kafka-python's admin client with bounded waits, no leaks, no secrets in logs.

The constructor of kafka-python 3.0's ``KafkaAdminClient`` starts an I/O thread and waits for a response.
That wait has no deadline if TLS stalls, and no other thread can end it.  After a failure the thread stays.
``kafka_client``, a documented argument, lets us pass our own parts: a connection manager that does not wait,
and a loop that closes its sockets when its thread ends.  ``Link.ready``, a coroutine, waits instead.

This module uses no private name of kafka-python.  ``test_link.py`` checks the undocumented names it uses.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from kafka import KafkaAdminClient
from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
)
from kafka.future import Future
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import ApiVersionsRequest

from kafka_assignors.lag.fetch.errors import is_denial, lag_error, replaces
from kafka_assignors.lag.settings import fetch_settings

_T = TypeVar("_T")
_DEFAULTS = {"reconnect_backoff_max_ms": 1000}
"""With kafka-python's default, 30 s, a fetch may end before it tries a restarted broker again."""
_WITH_REQUESTS = ("kafka.net.connection", "kafka.protocol.parser")
"""Loggers that print whole requests at DEBUG, also those with a password."""
_IN_FLIGHT = 10_000
"""Practically no limit, because a limit does harm: if twice as many requests as the limit wait for a
connection, kafka-python never sends the second half."""
_MOST_HANG_UPS = 3
"""After so many disconnects during authentication, the broker counts as one that denies access."""


def client_without_topic_creation(**configs: Any) -> Any:
    """Make the I/O client for an argument ``kafka_client``.  Its metadata requests create no topic.

    The option ``allow_auto_create_topics`` of kafka-python's clients does not reach these requests.
    """
    client = KafkaNetClient(**configs)
    client.cluster.config["allow_auto_create_topics"] = False
    return client


NO_ROOM = (OSError, RuntimeError)
"""Raised when the system has no file or thread left for a client."""


def make_client(make: Callable[..., _T], **settings: Any) -> _T:
    """Make a client of kafka-python whose metadata requests create no topic.

    If its constructor fails, end its I/O thread and close its sockets, which kafka-python leaves open.

    Raises:
        KafkaError, or one of `NO_ROOM`: from the constructor.
    """
    with ExitStack() as undo:

        def client(**configs: Any) -> Any:
            connection = client_without_topic_creation(**configs)
            undo.callback(end, connection)
            return connection

        def end(connection: Any) -> None:
            with suppress(RuntimeError):  # its thread could not start, and that error counts
                connection.close()

        made = make(**settings, kafka_client=client)
        undo.pop_all()
        return made


class Link:
    """An open, or opening, connection to a cluster.  Owns one daemon thread; the constructor never waits.

    Attributes:
        manager: sends requests; its coroutines run on the link's thread.
        admin: kafka-python's admin client; its calls wait for the link's thread.
        leaders: known leaders by partition; only for the link's thread.
    """

    def __init__(self, client: Mapping[str, Any]) -> None:
        self.leaders: dict[Any, int] = {}
        self._ended = threading.Event()
        self._with_sasl = str(client.get("security_protocol", "")).startswith("SASL")
        self.admin: Any = None
        try:
            self.admin = KafkaAdminClient(
                **client, max_in_flight_requests_per_connection=_IN_FLIGHT, kafka_client=self._make_client
            )
        except BaseException:
            if hasattr(self, "_loop"):
                self._loop.close()
            raise

    def _make_client(self, **configs: Any) -> Any:
        self._loop = _Loop(self, **configs)
        self.manager = _Manager(self._loop, **configs)
        return client_without_topic_creation(net=self._loop, manager=self.manager)

    async def ready(self, timeout_ms: float) -> None:
        """Wait for the cluster's first response; return at once if it has come before.

        Raises:
            Exception: no broker answers, or access is denied.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        while not self.manager.bootstrapped:
            bootstrap = self.manager.bootstrap_async((deadline - time.monotonic()) * 1000)
            either = Future()
            bootstrap.add_both(lambda _, either=either: either.is_done or either.success(None))
            self.manager.refused.add_both(lambda _, either=either: either.is_done or either.success(None))
            await either
            if self.manager.refused.is_done:
                raise self.manager.refused.value
            try:
                await bootstrap
            except KafkaError as error:
                # ``bootstrap_async`` may have returned the bootstrap of another call, which had less time.
                is_early = isinstance(error, KafkaTimeoutError) and time.monotonic() < deadline
                if self.manager.closed or not is_early:
                    # A connection that failed earlier says more than the timeout.
                    raise self.manager.last_failure or error from error

    def run(self, call: Callable[..., Awaitable[_T]], *args: Any, timeout_s: float) -> _T:
        """Run a coroutine on the link's thread, and return its result.

        Raises:
            Exception: the coroutine's, or a timeout.
        """
        done = threading.Event()
        future = self.manager.call_soon(call, *args)
        future.add_both(lambda _: done.set())
        if not done.wait(timeout_s):
            raise self.connection_failure or KafkaTimeoutError("no response")
        if future.exception is not None:
            raise future.exception
        value: _T = future.value
        return value

    @property
    def connection_failure(self) -> Exception | None:
        """The last connection failure; None once connected."""
        return None if self.manager.bootstrapped else self.manager.last_failure

    def shut(self) -> None:
        """Ask the thread to end and close its connections.  From any thread, any number of times."""
        with suppress(Exception):  # the thread may have ended
            self._loop.call_soon_threadsafe(self._loop.halt)

    def wait_shut(self, timeout_s: float) -> bool:
        """Wait for the thread; return whether it ended in time.  Only a name lookup can delay it."""
        return self._ended.wait(timeout_s)

    def client(self, **configs: Any) -> Any:
        """Make an I/O client with which another of kafka-python's clients shares this link.

        Pass this method as the other client's ``kafka_client``.  After ``ready`` the other client's
        constructor does not wait.  The other client ends with the link.
        """
        return KafkaNetClient(net=self._loop, manager=self.manager)

    # --- on the link's own thread ---

    def sleep(self, seconds: float) -> Any:
        """Return an awaitable pause."""
        return self._loop.sleep(seconds)

    def on_thread_start(self) -> None:
        """Hide the thread's DEBUG log if it may show a password."""
        if self._with_sasl:
            _DEBUG_FILTER.threads.add(threading.get_ident())
            for name in _WITH_REQUESTS:
                logging.getLogger(name).addFilter(_DEBUG_FILTER)  # a repeated call does nothing

    def on_thread_end(self) -> None:
        """Close everything before the thread ends."""
        # Halt first: a crashed loop counts as running, and closing it would wait for this very thread.
        closing = [self._loop.halt, self.manager.close, self._loop.close]
        for close in closing if self.admin is None else [*closing, self.admin.close]:
            with suppress(Exception):  # after a crash the remaining parts must be closed, too
                close()
        _DEBUG_FILTER.threads.discard(threading.get_ident())
        self._ended.set()


class _Loop(NetworkSelector):
    """An I/O loop that closes its sockets on its own thread, the only one that uses them."""

    def __init__(self, link: Link, **configs: Any) -> None:
        # kafka-python would warn of tasks over 100 ms.  Decoding many partitions takes longer, without harm.
        super().__init__(**{**configs, "slow_task_threshold_secs": 0})
        self.link = link

    def halt(self) -> None:
        """End the loop.  Call it on the loop's thread: another thread cannot stop the loop before it runs."""
        with suppress(RuntimeError):  # stop() ends by joining its own thread, which raises RuntimeError
            self.stop(timeout_ms=0)

    def run_forever(self) -> None:
        self.link.on_thread_start()
        try:
            super().run_forever()
        finally:
            self.link.on_thread_end()


class _Manager(KafkaConnectionManager):
    """A connection manager that does not wait, and keeps failures, which kafka-python only logs."""

    def __init__(self, net: Any, **configs: Any) -> None:
        super().__init__(net, **configs)
        self.last_failure: Exception | None = None
        self._hang_ups = 0
        self.refused = Future()  # resolves to the first failure that a retry cannot help

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = True) -> None:
        """Do nothing: the admin client's constructor would wait here."""

    def get_connection(self, node_id: Any, **options: Any) -> Any:
        connection = super().get_connection(node_id, **options)
        connection.init_future.add_errback(lambda error: self._failed(connection, error))
        return connection

    def _failed(self, connection: Any, error: Exception) -> None:
        is_final = is_denial(error)
        if not is_final and type(error) is KafkaConnectionError and _was_authenticating(connection):
            # After a wrong password a broker sends an error and hangs up.  kafka-python often sees only the
            # hang-up.  A broker that shuts down also hangs up, so only repeated hang-ups are final.
            self._hang_ups += 1
            error = SaslAuthenticationFailedError("the broker closed the connection during authentication")
            is_final = self._hang_ups >= _MOST_HANG_UPS
        if replaces(error, self.last_failure):
            self.last_failure = error.with_traceback(None)  # its frames would keep the socket alive
        if is_final and not self.refused.is_done:
            self.refused.success(error)


def _was_authenticating(connection: Any) -> bool:
    """Whether a SASL connection that failed had got the response to its first request, ApiVersions."""
    # A connection that ends before that response may be that of a proxy whose brokers restart.
    return bool(connection.sasl_enabled and connection.parser) and ApiVersionsRequest.API_KEY not in {
        getattr(header, "request_api_key", None)  # a raw SASL token has none
        for header in connection.parser.in_flight_requests
    }


class _DebugFilter(logging.Filter):
    """Drops the DEBUG records of some threads.

    It is never removed from a logger, because another thread that logs meanwhile could skip the next filter.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or record.thread not in self.threads


_DEBUG_FILTER = _DebugFilter()


@contextmanager
def open_link(settings: Mapping[str, Any], deadline: float) -> Iterator[Link]:
    """Connect as ``connect`` does, and shut the link after the ``with`` block."""
    link = connect(settings, deadline)
    try:
        yield link
    finally:
        link.shut()
        link.wait_shut(1)


def connect(settings: Mapping[str, Any], deadline: float) -> Link:
    """Open a connection and wait for the cluster's first response.

    Raises:
        LagError: the cluster does not answer, or denies access.
    """
    client = fetch_settings({**_DEFAULTS, **settings}, "-", "earliest").client
    left_s = max(deadline - time.monotonic(), 0.001)
    link = None
    try:
        link = Link(client)
        link.run(link.ready, left_s * 1000, timeout_s=left_s)
    except Exception as error:  # kafka-python raises any exception for invalid settings
        if link is not None:
            link.shut()
            link.wait_shut(1)
        raise lag_error(error) from error
    return link
