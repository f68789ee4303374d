"""The state file of the broker that ``kafka-assignors broker start`` runs."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_assignors.broker import docker
from kafka_assignors.broker.development import DevelopmentBroker
from kafka_assignors.broker.diagnose import error_line
from kafka_assignors.broker.paths import locked_file, state_dir
from kafka_assignors.broker.supervised import PATIENCE_S
from kafka_assignors.broker.supervisor import clear
from kafka_assignors.errors import BrokerError, needs_extra
from kafka_assignors.files import atomic_write

if TYPE_CHECKING:
    import psutil

log = logging.getLogger("kafka_assignors")


@dataclass(frozen=True, slots=True)
class Running:
    """The broker in the state file."""

    pid: int  # of its supervisor
    bootstrap: str  # ``host:port``
    backend: str  # ``docker`` or ``jars``
    data_dir: str
    temporary: bool  # the directory is removed with the broker
    log: str
    project: str | None = None  # its Docker Compose project; None without Docker


@contextmanager
def locked_state(*, wait: bool = True) -> Iterator[bool]:
    """Lock the state of this user, so that ``start`` and ``stop`` run one at a time.

    Yields whether the lock was taken; always True with ``wait``.
    """
    with ExitStack() as stack:
        try:
            state_dir().mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(locked_file(state_dir() / "broker.lock", wait=wait))
        except OSError as error:
            raise _unwritable(error) from error
        yield lock is not None


def save(broker: DevelopmentBroker, *, temporary: bool) -> Running:
    """Write the state file of a broker."""
    if _process(broker.pid) is None:
        raise BrokerError(f"the broker ended right after its start (log: {broker.log_path})")
    running = Running(
        pid=broker.pid,
        bootstrap=broker.bootstrap,
        backend=broker.backend,
        data_dir=str(broker.data_dir),
        temporary=temporary,
        log=str(broker.log_path),
        project=docker.project(broker.data_dir) if broker.backend == "docker" else None,
    )
    try:
        atomic_write(_file(), json.dumps(asdict(running)).encode())
    except OSError as error:
        raise _unwritable(error) from error
    return running


def load() -> Running | None:
    """Return the running broker, else None.  The caller needs no lock, because nothing is written."""
    saved = _load_file()
    return None if saved is None or _supervisor(saved) is None else saved


def recover() -> Running | None:
    """Return the running broker, else None, and clean up after a broker that died; its log stays.

    Call it only within :func:`locked_state`.  A container that cannot be removed raises a BrokerError only
    once, because a user whose engine is gone could otherwise never start a broker again.
    """
    saved = _load_file()
    if saved is None:
        delete()  # an unreadable file names no broker
        return None
    if _supervisor(saved) is None:
        if Path(saved.log).exists():
            # A kept log may have lines of earlier runs.
            why = error_line(saved.log) if saved.temporary else "see its log"
            log.warning("the broker ended: %s (log: %s)", why, saved.log)
        _clean_up(saved, keep_log=True)
        return None
    return saved


def stop() -> Running | None:
    """Stop the running broker, remove a temporary directory, and return the broker; None if none runs.

    Call it only within :func:`locked_state`.
    """
    if (running := recover()) is None:
        return None
    import psutil

    if (process := _supervisor(running)) is not None:
        try:
            process.terminate()
            process.wait(PATIENCE_S)
        except psutil.NoSuchProcess:
            pass  # the supervisor has ended meanwhile
        except psutil.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        except psutil.AccessDenied as error:
            raise BrokerError(f"not allowed to stop the broker, process {running.pid}") from error
    _clean_up(running)
    return running


def delete(pid: int | None = None) -> None:
    """Remove the state file; with ``pid`` only if the file names that supervisor."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError, KeyError):
        if pid is None or json.loads(_file().read_text(encoding="utf-8"))["pid"] == pid:
            _file().unlink()


def _file() -> Path:
    return state_dir() / "broker.json"


def _load_file() -> Running | None:
    try:
        saved = json.loads(_file().read_text(encoding="utf-8"))
        # Other versions of this package write other fields, too.
        return Running(**{field.name: saved[field.name] for field in fields(Running) if field.name in saved})
    except (OSError, ValueError, TypeError):
        return None


def _clean_up(running: Running, *, keep_log: bool = False) -> None:
    delete(running.pid)
    if running.temporary:
        clear(Path(running.data_dir), Path(running.log) if keep_log else None)
    if running.project is not None:  # a killed supervisor has not removed its container
        docker.remove_container(running.project)


def _supervisor(running: Running) -> psutil.Process | None:
    """Return the supervisor's process; None: it has ended.

    Another process may have its pid by now, but the command line of that process does not name the log.
    """
    if (process := _process(running.pid)) is None:
        return None
    import psutil

    try:
        return process if json.dumps(running.log) in " ".join(process.cmdline()) else None
    except psutil.Error:
        return None


def _process(pid: int) -> psutil.Process | None:
    with needs_extra("broker"):
        import psutil
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def _unwritable(error: OSError) -> BrokerError:
    where = error.filename or state_dir()
    return BrokerError(f"cannot write {where}: {error.strerror}; set KAFKA_ASSIGNORS_STATE to a directory")
