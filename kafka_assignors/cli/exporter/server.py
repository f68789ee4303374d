"""A page of metrics over HTTP, and the readings behind it."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import click
from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server
from prometheus_client.registry import Collector

from kafka_assignors.background import Background
from kafka_assignors.cli.common import Address, without_figures
from kafka_assignors.errors import BrokerError, KafkaAssignorsError, LagError
from kafka_assignors.lag.fetch.errors import lag_error

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

KEPT_INTERVALS = 3
"""The last reading stays on its page for this many intervals while no newer one succeeds.  A reading
that took longer than an interval stays for this many times its duration."""

Route = Callable[[], tuple[HTTPStatus, bytes]]
"""Returns the status and the JSON of a page."""


class HasProblems(Protocol):
    """A reading with problems."""

    @property
    def problems(self) -> Mapping[str, str]:
        """Log line of each problem, by an id that stays the same from reading to reading."""


ReadingT = TypeVar("ReadingT", bound=HasProblems)


class ReadingPage(Collector, Generic[ReadingT]):
    """The metrics of the last reading.  Any thread may use it.

    Args:
        interval_s: seconds between two readings.
        clock: in seconds, as ``time.monotonic``.
    """

    def __init__(self, interval_s: float, clock: Callable[[], float]) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._lock = threading.Lock()
        self._is_up = False

    @abstractmethod
    def publish(self, reading: ReadingT) -> None:
        """Replace the figures."""

    def fail(self) -> None:
        """Note that a reading failed.  The last figures stay for a while (``KEPT_INTERVALS``)."""
        with self._lock:
            self._is_up = False


@contextmanager
def serving(page: Collector, listen: Address, routes: Mapping[str, Route] | None = None) -> Iterator[Address]:
    """Serve the page; yield its address.

    Raises:
        BrokerError: the address is taken, not one of this machine, or no name of a host.
    """
    registry = CollectorRegistry()
    registry.register(page)
    try:
        server, _thread = start_http_server(listen.port, listen.host, registry)
    except (OSError, UnicodeError) as error:  # a UnicodeError: no host can have this name
        reason = getattr(error, "strerror", None) or error
        raise BrokerError(f"cannot listen on {listen}: {reason}") from error
    if routes:
        server.set_app(_routed(routes, make_wsgi_app(registry)))
    try:
        yield listen._replace(port=server.server_port)
    finally:
        server.shutdown()
        server.server_close()


def _routed(routes: Mapping[str, Route], others: WSGIApplication) -> WSGIApplication:
    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        route = routes.get(environ["PATH_INFO"])
        if route is None:
            return others(environ, start_response)
        status, body = route()
        start_response(
            f"{status.value} {status.phrase}", [("Content-Type", "application/json; charset=utf-8")]
        )
        return [body]

    return answer


@contextmanager
def reading_repeatedly(
    read: Callable[[], ReadingT],
    page: ReadingPage[ReadingT],
    interval_s: float,
    log: Callable[[str], None],
) -> Iterator[None]:
    """Read in the background while the context is open, and publish each reading."""
    background = Background("kafka-assignors-exporter")
    problems = ProblemLog(log)

    def read_once() -> None:
        start = time.monotonic()
        try:
            reading = read()
            page.publish(reading)
            problems.update(reading.problems)
        except Exception as error:  # the next reading may succeed
            page.fail()
            is_ours = isinstance(error, (KafkaAssignorsError, click.UsageError))
            failure = error if is_ours else lag_error(error)
            problems.update({_identity(failure): str(failure)})
        finally:
            background.submit(read_once, after_s=max(start + interval_s - time.monotonic(), 0))

    background.submit(read_once)
    try:
        yield
    finally:
        background.stop()


def _identity(failure: Exception) -> str:
    """Return an id of a failed reading, the same as long as its cause lasts."""
    for error in (failure, failure.__cause__):
        if isinstance(error, LagError):  # kafka-python words one cause differently at each attempt
            return type(error).__name__
    return without_figures(str(failure))


class ProblemLog:
    """Logs each new problem, and one line when none is left."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._known: frozenset[str] = frozenset()

    def update(self, problems: Mapping[str, str]) -> None:
        """Log the problems of a reading that the previous reading did not have."""
        for identity, line in problems.items():
            if identity not in self._known:
                self._log(line)
        if self._known and not problems:
            self._log("no problem is left")
        self._known = frozenset(problems)
