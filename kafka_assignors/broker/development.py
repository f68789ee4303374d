"""The development broker: a single-node KRaft Kafka that lives as long as a ``with`` block."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from kafka_assignors.broker import docker, jvm
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.java import find_java
from kafka_assignors.broker.ports import HOST, free_ports, require_free
from kafka_assignors.broker.progress import OnProgress, silent
from kafka_assignors.broker.settings import listeners
from kafka_assignors.broker.supervised import PortTakenError, Supervised
from kafka_assignors.errors import BrokerError, ToolMissingError

__all__ = ["Backend", "DevelopmentBroker", "development_broker", "start_broker"]

Backend = Literal["auto", "docker", "jars"]

_OURS = {*listeners(HOST, 0, 0), "log.dirs", "log.dir", "node.id", "process.roles"}
_JVM_START_S = 90.0  # 3 to 5 s on an idle machine
_CONTAINER_START_S = 300.0  # the first time, the image is pulled
_ATTEMPTS = 3  # ports that were free and then were not


class DevelopmentBroker:
    """A running broker.

    Args:
        supervised: its processes.
        port: where it listens.
        backend: what runs it.
        root: its directory.
    """

    def __init__(
        self, supervised: Supervised, *, port: int, backend: Literal["docker", "jars"], root: Path
    ) -> None:
        self._supervised = supervised
        self.port = port
        self.backend = backend
        self.data_dir = root
        self.log_path = supervised.log_path

    @property
    def bootstrap(self) -> str:
        """What to give clients as ``bootstrap_servers``."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the broker's supervisor: SIGTERM to it ends the broker and tidies up."""
        return self._supervised.pid

    @property
    def running(self) -> bool:
        """False once the broker has ended."""
        return self._supervised.running

    @property
    def failed(self) -> bool:
        """True once the broker has ended without being asked to."""
        return self._supervised.failed

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the broker ends; False when ``timeout_s`` passed first."""
        return self._supervised.wait(timeout_s)

    def stop(self, *, keep_log: bool = False) -> None:
        """End the broker, and remove its directory if that was temporary.  Doing so twice is fine.

        Args:
            keep_log: spare the log in a temporary directory, for an error to name it.
        """
        self._supervised.stop(keep_log=keep_log)

    def detach(self) -> None:
        """Let the broker live on when this program ends; then only a signal to :attr:`pid` stops it."""
        self._supervised.detach()


@contextmanager
def development_broker(
    backend: Backend = "auto",
    *,
    data_dir: str | Path | None = None,
    port: int | None = None,
    properties: Mapping[str, str | int] | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[DevelopmentBroker]:
    """Run a broker for the length of a ``with`` block.

    Nothing of it outlives this program, not even after ``kill -9``.

    Args:
        backend: ``docker``; ``jars``, which needs Java 17+; or ``auto``: Docker if an engine
            answers, else jars.
        data_dir: where the broker keeps its data and log, made if need be and kept afterwards; by default a
            temporary directory that is removed.  With ``jars`` only, which ``auto`` then takes.
        port: where it listens on 127.0.0.1; by default a free one.
        properties: broker settings on top of ours (``num.partitions`` and so on).
        on_progress: told how far a long step (fetching, starting) is; called from this thread.

    Yields:
        The broker, ready for clients.

    Raises:
        BrokerError: it could not be started; one line that says why.
        ToolMissingError: there is no Java, or no Docker engine where one was asked for.
        MissingExtraError: the jars must be fetched and ``jgo`` is not installed.
    """
    broker = start_broker(
        backend, data_dir=data_dir, port=port, properties=properties, on_progress=on_progress
    )
    try:
        yield broker
    finally:
        broker.stop()


def start_broker(
    backend: Backend = "auto",
    *,
    data_dir: str | Path | None = None,
    port: int | None = None,
    properties: Mapping[str, str | int] | None = None,
    on_progress: OnProgress | None = None,
) -> DevelopmentBroker:
    """Start a broker that the caller must stop, or detach.

    Arguments and errors are those of :func:`development_broker`.
    """
    extra = {name: str(value) for name, value in (properties or {}).items()}
    if ours := sorted(_OURS & extra.keys()):
        raise BrokerError(f"property {ours[0]!r} is the development broker's own: use port and data_dir")
    if port is not None:
        require_free(port)
    report = on_progress or silent
    chosen = _choose(backend, data_dir)
    attempts = _ATTEMPTS if port is None else 1
    while True:
        attempts -= 1
        try:
            if chosen is not None:
                return _start_container(chosen, port, extra, report)
            return _start_jvm(data_dir, port, extra, report)
        except PortTakenError:
            if attempts == 0:
                raise


def _choose(backend: Backend, data_dir: str | Path | None) -> tuple[str, ...] | None:
    """Return the compose command to use, or None for the jars."""
    if backend == "jars" or (backend == "auto" and data_dir is not None):
        return None
    if backend not in {"auto", "docker"}:
        raise BrokerError(f"backend {backend!r}: know auto, docker and jars")
    if backend == "docker" and data_dir is not None:
        raise BrokerError("backend 'docker' keeps its data in the container: for a data_dir use 'jars'")
    compose = docker.compose_command()
    if compose is None and backend == "docker":
        raise ToolMissingError("no Docker engine with Compose answers: start Docker, or use backend 'jars'")
    return compose


def _start_jvm(
    data_dir: str | Path | None, port: int | None, extra: Mapping[str, str], on_progress: OnProgress
) -> DevelopmentBroker:
    java = find_java()
    jars = fetch_jars("broker", on_progress=on_progress)
    free, controller_port = free_ports(2)
    actual = free if port is None else port
    properties = {**listeners(HOST, actual, controller_port), **extra}
    with _directory(data_dir) as (root, lock):
        spec, env = jvm.launch(java, jars, root, properties, scratch=data_dir is None)
        supervised = Supervised(spec, env, keep_open=lock)
    supervised.wait_ready(actual, _JVM_START_S, "starting the broker", on_progress)
    return DevelopmentBroker(supervised, port=actual, backend="jars", root=root)


def _start_container(
    compose: tuple[str, ...], port: int | None, extra: Mapping[str, str], on_progress: OnProgress
) -> DevelopmentBroker:
    actual = free_ports(1)[0] if port is None else port
    with _directory(None) as (root, lock):
        spec, env = docker.launch(compose, root, actual, extra)
        supervised = Supervised(spec, env, keep_open=lock)
    supervised.wait_ready(actual, _CONTAINER_START_S, "starting the broker's container", on_progress)
    return DevelopmentBroker(supervised, port=actual, backend="docker", root=root)


@contextmanager
def _directory(data_dir: str | Path | None) -> Iterator[tuple[Path, int]]:
    """Give the broker's directory while it is filled; if that fails, remove it, unless it is the user's.

    With it comes the descriptor of a lock, for the broker's processes to keep open.  Kafka has a lock of its
    own, but looks at it only after it has written to the directory, which ends a broker that runs there.
    """
    try:
        if data_dir is None:
            root = Path(tempfile.mkdtemp(prefix="kafka-assignors-"))
        else:
            root = Path(data_dir).expanduser().absolute()
            root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        where = error.filename or tempfile.gettempdir()
        raise BrokerError(f"cannot make the broker's directory {where}: {error.strerror}") from error
    try:
        with (root / "lock").open("a") as lock:
            _lock(lock.fileno(), root)
            yield root, lock.fileno()
    except BaseException as error:
        if data_dir is None:
            shutil.rmtree(root, ignore_errors=True)
        if isinstance(error, OSError):
            raise BrokerError(f"cannot write the broker's directory {root}: {error.strerror}") from error
        raise


def _lock(descriptor: int, root: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BrokerError(f"another broker runs in {root}: stop it, or name another data_dir") from error
