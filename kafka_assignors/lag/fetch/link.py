"""The connection of a lag fetcher: kafka-python's admin client, without what blocks, leaks or tells secrets.

kafka-python 3.0's ``KafkaAdminClient`` starts an I/O thread and then waits in its constructor for a first
answer. That wait knows no deadline where TLS stalls, nobody can end it from outside, and when it fails the
thread stays. ``kafka_client``, a documented argument, lets us hand it its parts: a connection manager that
does not wait (``Link.ready`` does, as a coroutine), and a loop that closes its sockets itself when its thread
ends.

No name with an underscore of kafka-python is used here; those that are, are pinned by tests/unit/lag.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
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

from kafka_assignors.lag.fetch.errors import is_more_specific, is_permanent

__all__ = ["Link"]

_T = TypeVar("_T")
_WITH_REQUESTS = ("kafka.net.connection", "kafka.protocol.parser")
"""Loggers that print whole requests at DEBUG, and with them the one that holds a password."""
_IN_FLIGHT = 10_000
"""As good as no limit: when twice the limit waits for a connection to be made, kafka-python sends none on."""
_HANG_UPS = 3
"""So often may a broker hang up during authentication before we take that for its answer."""


class Link:
    """An open, or opening, connection to a cluster.  It owns one daemon thread; making one never waits.

    Args:
        client: keyword arguments for the admin client.

    Attributes:
        manager: sends requests; its coroutines run on the link's own thread.
        leaders: which broker leads a partition, as far as it is known; only for the link's own thread.
    """

    def __init__(self, client: Mapping[str, Any]) -> None:
        self.leaders: dict[Any, int] = {}
        self._ended = threading.Event()
        self._with_sasl = str(client.get("security_protocol", "")).startswith("SASL")
        self._admin: Any = None
        try:
            self._admin = KafkaAdminClient(
                **client, max_in_flight_requests_per_connection=_IN_FLIGHT, kafka_client=self._make_client
            )
        except BaseException:
            if hasattr(self, "_loop"):
                self._loop.close()
            raise

    def _make_client(self, **configs: Any) -> Any:
        self._loop = _Loop(self, **configs)
        self.manager = _Manager(self._loop, **configs)
        return KafkaNetClient(net=self._loop, manager=self.manager)

    async def ready(self, timeout_ms: float) -> None:
        """Wait for a first answer of the cluster; at once if there was one.

        Raises:
            Exception: why no broker answers, or lets us in.
        """
        if self.manager.bootstrapped:
            return
        bootstrap = self.manager.bootstrap_async(timeout_ms)
        either = Future()
        bootstrap.add_both(lambda _: either.is_done or either.success(None))
        self.manager.refused.add_both(lambda _: either.is_done or either.success(None))
        await either
        if self.manager.refused.is_done:
            raise self.manager.refused.value
        try:
            await bootstrap
        except KafkaError as error:  # it took too long: because of what?
            raise self.manager.last_failure or error from error

    def run(self, call: Callable[..., Awaitable[_T]], *args: Any, timeout_s: float) -> _T:
        """Run a coroutine on the link's thread, and wait for what it returns.

        Raises:
            Exception: what it raises, or that it takes too long.
        """
        done = threading.Event()
        future = self.manager.call_soon(call, *args)
        future.add_both(lambda _: done.set())
        if not done.wait(timeout_s):
            raise self.trouble or KafkaTimeoutError("no answer")
        if future.exception is not None:
            raise future.exception
        value: _T = future.value
        return value

    @property
    def trouble(self) -> Exception | None:
        """Why there is no connection yet, as far as that is known."""
        return None if self.manager.bootstrapped else self.manager.last_failure

    def shut(self) -> None:
        """Ask the thread to end; it closes what is open.  Returns at once; any thread may, more than once."""
        with suppress(Exception):  # its thread has ended, or is about to
            self._loop.call_soon_threadsafe(self._loop.halt)

    def wait_shut(self, timeout_s: float) -> bool:
        """Whether the thread came to its end in time.  What may keep it is a lookup of a host's name."""
        return self._ended.wait(timeout_s)

    def client(self, **configs: Any) -> Any:
        """For the argument ``kafka_client`` of one more of kafka-python's clients, to share this link.

        Once the link is ``ready`` that client's constructor does not wait either.  It ends with the link.
        """
        return KafkaNetClient(net=self._loop, manager=self.manager)

    # --- on the link's own thread ---

    def sleep(self, seconds: float) -> Any:
        """To be awaited."""
        return self._loop.sleep(seconds)

    def began(self) -> None:
        """The thread runs: from now on what it says at DEBUG may hold a password."""
        if self._with_sasl:
            _DISCREET.threads.add(threading.get_ident())
            for name in _WITH_REQUESTS:
                logging.getLogger(name).addFilter(_DISCREET)  # once is enough

    def end(self) -> None:
        """The thread is about to end: close everything."""
        # If it crashed, it is not halted yet, and closing it would wait for this very thread.
        closing = [self._loop.halt, self.manager.close, self._loop.close]
        for close in closing if self._admin is None else [*closing, self._admin.close]:
            with suppress(Exception):  # of a loop that crashed; the next in turn has to be closed, too
                close()
        _DISCREET.threads.discard(threading.get_ident())
        self._ended.set()


class _Loop(NetworkSelector):
    """An I/O loop that cleans up on its own thread, where nobody else uses the sockets."""

    def __init__(self, link: Link, **configs: Any) -> None:
        # It warns of what takes 100 ms, as reading of thousands of partitions does.  Nobody else waits here.
        super().__init__(**{**configs, "slow_task_threshold_secs": 0})
        self.link = link

    def halt(self) -> None:
        """End it from its own thread: a stop from outside is forgotten if the thread has not begun yet."""
        with suppress(RuntimeError):  # a thread cannot wait for itself, which stop() tries to at last
            self.stop(timeout_ms=0)

    def run_forever(self) -> None:
        self.link.began()
        try:
            super().run_forever()
        finally:
            self.link.end()


class _Manager(KafkaConnectionManager):
    """A connection manager that does not wait, and remembers why connections failed, which others log."""

    def __init__(self, net: Any, **configs: Any) -> None:
        super().__init__(net, **configs)
        self.last_failure: Exception | None = None
        self._hang_ups = 0
        self.refused = Future()  # with the first failure that trying again does not mend, as its value

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = True) -> None:
        """Nothing: the admin client's constructor would wait here."""

    def get_connection(self, node_id: Any, **options: Any) -> Any:
        connection = super().get_connection(node_id, **options)
        connection.init_future.add_errback(lambda error: self._failed(connection, error))
        return connection

    def _failed(self, connection: Any, error: Exception) -> None:
        sure = is_permanent(error)
        if not sure and connection.sasl_enabled and connection.parser and type(error) is KafkaConnectionError:
            # That a password is wrong comes together with the end of the connection, and often kafka-python
            # sees the latter only.  A broker that stops does the same, so it is asked again.
            self._hang_ups += 1
            error = SaslAuthenticationFailedError("the broker hung up during authentication")
            sure = self._hang_ups >= _HANG_UPS
        if is_more_specific(error, self.last_failure):
            self.last_failure = error.with_traceback(None)  # whose frames hold the socket
        if sure and not self.refused.is_done:
            self.refused.success(error)


class _Discreet(logging.Filter):
    """Keeps what some threads say at DEBUG out of a log.

    It is put in once and stays: a filter that is taken out while another thread logs could make that one skip
    the next.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or record.thread not in self.threads


_DISCREET = _Discreet()
