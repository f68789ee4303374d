"""The development broker: a single-node KRaft Kafka that runs as long as a ``with`` block."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from kafka_assignors.broker import docker, jvm
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.java import find_java
from kafka_assignors.broker.paths import expanded, locked_file
from kafka_assignors.broker.ports import HOST, free_ports, require_free
from kafka_assignors.broker.progress import OnProgress, silent
from kafka_assignors.broker.settings import listeners
from kafka_assignors.broker.supervised import PortTakenError, Spec, Supervised
from kafka_assignors.errors import BrokerError, ToolMissingError

Backend = Literal["auto", "docker", "jars"]

_RESERVED = {*listeners(HOST, 0, 0), "log.dirs", "log.dir", "node.id", "process.roles"}
_JVM_START_S = 90.0  # 3 to 5 s on an idle machine
_CONTAINER_START_S = 300.0  # the first start also pulls the image
_ATTEMPTS = 3  # another process may take a free port before the broker listens on it


class DevelopmentBroker(Supervised):
    """A running broker.

    Args:
        spec: the commands that its supervisor runs.
        env: environment of its processes.
        lock: descriptor that its processes keep open.
        port: the port it listens on.
        backend: ``docker`` or ``jars``.

    Attributes:
        data_dir: folder of its log and its properties; with ``jars`` also of its data.
    """

    def __init__(
        self,
        spec: Spec,
        env: Mapping[str, str],
        lock: int | None = None,
        *,
        port: int,
        backend: Literal["docker", "jars"],
    ) -> None:
        super().__init__(spec, env, lock)
        self.port = port
        self.backend = backend
        self.data_dir = Path(spec.cwd)

    @property
    def bootstrap(self) -> str:
        """Address for clients' ``bootstrap_servers``."""
        return f"{HOST}:{self.port}"


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

    All its processes end with this program, even after ``kill -9``.

    Args:
        backend: ``docker``; ``jars``, which needs Java 17+; or ``auto``: Docker if an engine
            answers, else jars.
        data_dir: directory for the broker's data and log, created if missing and kept afterwards; by default
            a temporary directory that is removed.  Requires ``jars``, which ``auto`` then chooses.
        port: port on 127.0.0.1; by default a free one.
        properties: broker settings, such as ``num.partitions``; they override the defaults.
        on_progress: called from this thread with the progress of a long step (fetching, starting).

    Yields:
        The broker, ready for clients.

    Raises:
        BrokerError: it did not start, or an argument is invalid; the message is one line with the reason.
        ToolMissingError: Java is missing, or the requested Docker engine.
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
    if reserved := sorted(_RESERVED & extra.keys()):
        raise BrokerError(
            f"the development broker sets the property {reserved[0]!r}: remove it, or use port or data_dir"
        )
    if port is not None:
        require_free(port)
    report = on_progress or silent
    compose = _choose(backend, data_dir)
    attempts = _ATTEMPTS if port is None else 1
    while True:
        attempts -= 1
        try:
            if compose is not None:
                return _start_container(compose, port, extra, report)
            return _start_jvm(data_dir, port, extra, report)
        except PortTakenError:
            if attempts == 0:
                raise


def _choose(backend: Backend, data_dir: str | Path | None) -> tuple[str, ...] | None:
    """Return the compose command to use, or None for the jars."""
    if backend == "jars" or (backend == "auto" and data_dir is not None):
        return None
    if backend not in {"auto", "docker"}:
        raise BrokerError(f"backend {backend!r}: expected auto, docker or jars")
    if backend == "docker" and data_dir is not None:
        raise BrokerError("backend 'docker' keeps its data in the container: use 'jars' with a data_dir")
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
        spec, env = jvm.prepare(java, jars, root, properties, scratch=data_dir is None)
        broker = DevelopmentBroker(spec, env, lock, port=actual, backend="jars")
    broker.wait_ready(actual, _JVM_START_S, "starting the broker", on_progress)
    return broker


def _start_container(
    compose: tuple[str, ...], port: int | None, extra: Mapping[str, str], on_progress: OnProgress
) -> DevelopmentBroker:
    actual = free_ports(1)[0] if port is None else port
    with _directory(None) as (root, lock):
        spec, env = docker.prepare(compose, root, actual, extra)
        broker = DevelopmentBroker(spec, env, lock, port=actual, backend="docker")
    broker.wait_ready(actual, _CONTAINER_START_S, "starting the broker's container", on_progress)
    return broker


@contextmanager
def _directory(data_dir: str | Path | None) -> Iterator[tuple[Path, int]]:
    """Create and lock the broker's directory; on an error remove it, unless it is the user's.

    Kafka's own lock comes too late: a second broker would write to the directory before it finds the lock,
    and the first broker would end because of these writes.  The broker's processes inherit our
    lock, and hold it until the last of them ends.
    """
    try:
        if data_dir is None:
            root = Path(tempfile.mkdtemp(prefix="kafka-assignors-"))
        else:
            root = expanded(data_dir)
            root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""  # none: no temporary folder can be written
        raise BrokerError(f"cannot create the broker's directory{where}: {error.strerror}") from error
    try:
        with _locked(root) as lock:
            yield root, lock
    except BaseException as error:
        if data_dir is None:
            shutil.rmtree(root, ignore_errors=True)
        if isinstance(error, OSError):
            what = f"{error.filename}: " if error.filename else ""
            raise BrokerError(f"cannot start the broker in {root}: {what}{error.strerror}") from error
        raise


@contextmanager
def _locked(root: Path) -> Iterator[int]:
    with locked_file(root / "lock", wait=False) as lock:
        if lock is None:
            raise BrokerError(f"another broker runs in {root}: stop it, or use another data_dir")
        yield lock
