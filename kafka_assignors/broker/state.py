"""Remembers the one broker that lives on after the command that started it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_assignors.broker import docker
from kafka_assignors.broker.development import DevelopmentBroker
from kafka_assignors.broker.paths import state_dir
from kafka_assignors.broker.supervised import PATIENCE_S
from kafka_assignors.errors import BrokerError, MissingExtraError

if TYPE_CHECKING:
    import psutil

__all__ = ["Running", "forget", "load", "only_one", "remember", "settle", "stop"]

_SAME_S = 2.0  # the kernel rounds a start time, and a clock may be stepped a little


@dataclass(frozen=True, slots=True)
class Running:
    """A detached broker.

    Args:
        pid: of its supervisor.
        created: when the supervisor started (seconds of the epoch); tells it from a later process of its pid.
        bootstrap: ``host:port``.
        backend: ``docker`` or ``jars``.
        data_dir: the broker's directory.
        temporary: whether that goes away with the broker.
        log: the broker's log.
        project: of Docker Compose; None without Docker.
    """

    pid: int
    created: float
    bootstrap: str
    backend: str
    data_dir: str
    temporary: bool
    log: str
    project: str | None = None


@contextmanager
def only_one(*, wait: bool = True) -> Iterator[bool]:
    """Keep a second ``start`` or ``stop`` of this user waiting until the first is through.

    Args:
        wait: False to go on at once; what is yielded says whether nobody else is at it.

    Raises:
        BrokerError: the state directory cannot be written.
    """
    try:
        state_dir().mkdir(parents=True, exist_ok=True)
        lock = (state_dir() / "broker.lock").open("a")
    except OSError as error:
        raise _unwritable(error) from error
    with lock:
        # Given back when the file is closed, by whatever end of the process.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            ours = False
        else:
            ours = True
        yield ours


def remember(broker: DevelopmentBroker, *, temporary: bool) -> Running:
    """Write down what runs.

    Raises:
        BrokerError: the state directory cannot be written, or the broker is gone already.
    """
    if (process := _process(broker.pid)) is None:
        raise BrokerError(f"the broker ended right after its start (log: {broker.log_path})")
    running = Running(
        pid=broker.pid,
        created=process.create_time(),
        bootstrap=broker.bootstrap,
        backend=broker.backend,
        data_dir=str(broker.data_dir),
        temporary=temporary,
        log=str(broker.log_path),
        project=docker.project(broker.data_dir) if broker.backend == "docker" else None,
    )
    try:
        with tempfile.NamedTemporaryFile("w", dir=state_dir(), prefix=".broker-", delete=False) as file:
            json.dump(asdict(running), file)
        Path(file.name).replace(_file())
    except OSError as error:
        raise _unwritable(error) from error
    return running


def load() -> Running | None:
    """Return the broker that runs, None when there is none.  Only looks: good at any time."""
    noted = _noted()
    return None if noted is None or _supervisor(noted) is None else noted


def settle() -> Running | None:
    """Do as :func:`load`, and clear away what one that died left: only within :func:`only_one`.

    Raises:
        BrokerError: the container of one that died cannot be taken away.  That is said once: without an
            engine it does not run, and nobody who has no engine any more could ever start a broker.
    """
    noted = _noted()
    if noted is None:
        forget()  # what is there cannot be read, so it says nothing about what runs
        return None
    if _supervisor(noted) is None:
        _tidy(noted)
        return None
    return noted


def stop() -> Running | None:
    """End the broker that runs, and its directory if temporary; return it, or None when there was none.

    Only within :func:`only_one`.

    Raises:
        BrokerError: it cannot be signalled, or its container cannot be taken away.
    """
    if (running := settle()) is None:
        return None
    import psutil

    if (process := _supervisor(running)) is not None:
        try:
            process.terminate()
            process.wait(PATIENCE_S)
        except psutil.NoSuchProcess:
            pass  # it ended on its own meanwhile
        except psutil.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        except psutil.AccessDenied as error:
            raise BrokerError(f"not allowed to stop the broker, process {running.pid}") from error
    _tidy(running)
    return running


def forget(pid: int | None = None) -> None:
    """Remove the note, not the broker; with ``pid`` only if it is the note of that one."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError, KeyError):
        if pid is None or json.loads(_file().read_text(encoding="utf-8"))["pid"] == pid:
            _file().unlink()


def _file() -> Path:
    return state_dir() / "broker.json"


def _noted() -> Running | None:
    try:
        return Running(**json.loads(_file().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _tidy(running: Running) -> None:
    if running.temporary:
        shutil.rmtree(running.data_dir, ignore_errors=True)
    forget(running.pid)
    if running.project is not None:  # a supervisor that was killed has not done it
        docker.take_away(running.project)


def _supervisor(running: Running) -> psutil.Process | None:
    process = _process(running.pid)
    if process is None or abs(process.create_time() - running.created) > _SAME_S:
        return None
    return process


def _process(pid: int) -> psutil.Process | None:
    try:
        import psutil
    except ImportError as error:
        raise MissingExtraError("broker", "psutil") from error
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def _unwritable(error: OSError) -> BrokerError:
    where = error.filename or state_dir()
    return BrokerError(f"cannot write {where}: {error.strerror}; set KAFKA_ASSIGNORS_STATE to a directory")
