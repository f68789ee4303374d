"""A broker that can be killed and restarted, with a proxy in front of each extra listener."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType

import psutil

from kafka_assignors.broker import jvm
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.java import find_java
from kafka_assignors.broker.ports import HOST
from kafka_assignors.broker.progress import silent
from kafka_assignors.broker.supervised import Supervised
from tests.integration.guarded import make_coordinators
from tests.integration.own_broker import START_S, listener_settings
from tests.integration.proxy import Proxy
from tests.support.waiting import running_below, until

_PORTS = range(15_000, 30_000)


class RestartableBroker:
    """A broker with its data in ``root``; its ports stay the same over restarts.

    Args:
        root: directory for its data, which survive a kill.
        proxies: number of listeners behind a proxy each.  A listener advertises its proxy, so clients stay on
            it.
        min_session_ms: the shortest session time-out it accepts.

    Attributes:
        bootstrap: an address without a proxy.
        proxies: the proxies.
        addresses: addresses of the proxies, by number.
        outages: when it was killed and when it was started again (``time.monotonic_ns``).
    """

    def __init__(self, root: Path, proxies: int, min_session_ms: int = 1000) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = root
        self._plain, controller, *rest = listener_ports(2 + 2 * proxies)
        self._behind, self._before = rest[:proxies], rest[proxies:]
        names = [f"PROXIED{n}" for n in range(proxies)]
        listeners = {"PLAINTEXT": self._plain, "CONTROLLER": controller} | dict(
            zip(names, self._behind, strict=True)
        )
        advertised = {"PLAINTEXT": self._plain} | dict(zip(names, self._before, strict=True))
        self._properties = {
            **listener_settings(listeners, advertised),
            "group.min.session.timeout.ms": str(min_session_ms),
        }
        self.bootstrap = f"{HOST}:{self._plain}"
        self.addresses = [f"{HOST}:{port}" for port in self._before]
        self.proxies: list[Proxy] = []
        self.outages: list[tuple[int, int]] = []
        self._killed_at: int | None = None
        self._running: Supervised | None = None
        self._open = ExitStack()

    def __enter__(self) -> RestartableBroker:
        self.start()
        self._open.callback(self._stop)
        with self._open:
            self.wait_ready()
            make_coordinators(self.bootstrap)
            self.proxies = [
                self._open.enter_context(Proxy(before, behind))
                for before, behind in zip(self._before, self._behind, strict=True)
            ]
            self._open = self._open.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def start(self) -> None:
        """Start the broker on its data, without waiting for it."""
        if self._killed_at is not None:
            self.outages.append((self._killed_at, time.monotonic_ns()))
            self._killed_at = None
        jars = fetch_jars("broker")
        spec, env = jvm.prepare(find_java(), jars, self._root, self._properties, scratch=False)
        self._running = Supervised(spec, env)

    def wait_ready(self) -> None:
        """Wait until the broker serves requests."""
        assert self._running is not None
        self._running.wait_ready(self._plain, START_S, "starting the broker", silent)

    def kill(self) -> None:
        """``kill -9``, also while the broker is starting."""
        assert self._running is not None
        supervisor = psutil.Process(self._running.pid)
        until(lambda: running_below(supervisor, "kafka.Kafka"), "the broker's process")
        self._killed_at = time.monotonic_ns()
        for process in running_below(supervisor, "kafka.Kafka"):
            process.kill()
        self._running.stop()

    def _stop(self) -> None:
        assert self._running is not None
        self._running.stop()


def listener_ports(count: int) -> list[int]:
    """Return free ports below the range of outgoing connections.

    A client that retries a port without a listener may get that port for its own end of the connection, and
    would then block the restart of the broker.
    """
    ports: list[int] = []
    with ExitStack() as stack:  # all open at once, so that all differ
        for port in Random().sample(_PORTS, len(_PORTS)):
            if len(ports) == count:
                break
            sock = stack.enter_context(socket.socket())
            try:
                sock.bind((HOST, port))
            except OSError:
                continue
            ports.append(port)
    return ports
