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

from kafka_assignors.broker.development import DevelopmentBroker
from kafka_assignors.broker.paths import state_dir
from kafka_assignors.errors import BrokerError, MissingExtraError

if TYPE_CHECKING:
    import psutil

__all__ = ["Running", "forget", "load", "only_one", "remember", "stop"]

_SAME_S = 2.0  # the kernel rounds a start time, and a clock may be stepped a little
_PATIENCE_S = 25.0  # longer than the supervisor's own patience with the broker


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
    """

    pid: int
    created: float
    bootstrap: str
    backend: str
    data_dir: str
    temporary: bool
    log: str


@contextmanager
def only_one() -> Iterator[None]:
    """Keep a second ``start`` or ``stop`` of this user waiting until the first is through.

    Raises:
        BrokerError: the state directory cannot be written.
    """
    try:
        state_dir().mkdir(parents=True, exist_ok=True)
        lock = (state_dir() / "broker.lock").open("a")
    except OSError as error:
        raise _unwritable(error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed, by whatever end of the process
        yield


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
    )
    try:
        with tempfile.NamedTemporaryFile("w", dir=state_dir(), prefix=".broker-", delete=False) as file:
            json.dump(asdict(running), file)
        Path(file.name).replace(_file())
    except OSError as error:
        raise _unwritable(error) from error
    return running


def load() -> Running | None:
    """Return the broker that runs, None when there is none; forgets one that died."""
    try:
        running = Running(**json.loads(_file().read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        forget()  # not a file of ours any more, so it says nothing about what runs
        return None
    if _supervisor(running) is None:
        _tidy(running)
        return None
    return running


def stop() -> Running | None:
    """End the broker that runs, and its directory if temporary; return it, or None when there was none.

    Raises:
        BrokerError: it cannot be signalled.
    """
    if (running := load()) is None:
        return None
    import psutil

    if (process := _supervisor(running)) is not None:
        try:
            process.terminate()
            process.wait(_PATIENCE_S)
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


def _tidy(running: Running) -> None:
    if running.temporary:
        shutil.rmtree(running.data_dir, ignore_errors=True)
    forget()


def _supervisor(running: Running) -> psutil.Process | None:
    process = _process(running.pid)
    if process is None or abs(process.create_time() - running.created) > _SAME_S:
        return None
    return process


def _process(pid: int) -> psutil.Process | None:
    try:
        import psutil
    except ImportError as error:
        raise MissingExtraError("demo", "psutil") from error
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def _unwritable(error: OSError) -> BrokerError:
    where = error.filename or state_dir()
    return BrokerError(f"cannot write {where}: {error.strerror}; set KAFKA_ASSIGNORS_STATE to a directory")
