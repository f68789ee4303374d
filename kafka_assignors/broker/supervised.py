"""Starts the supervisor process, waits until the broker answers, and stops or detaches it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kafka_assignors.broker import supervisor
from kafka_assignors.broker.diagnose import error_line, is_port_taken
from kafka_assignors.broker.ports import answers
from kafka_assignors.broker.progress import OnProgress, Progress
from kafka_assignors.errors import BrokerError

_GRACE_S = 10.0  # a development broker stops in half a second
_AFTERWARDS_S = 60.0  # "compose down" takes 1 s, longer on a busy engine
_MARGIN_S = 10.0
_POLL_S = 0.05


class PortTakenError(BrokerError):
    """Another process took the broker's port before the broker listened on it."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The work of a supervisor."""

    commands: Sequence[Sequence[str]]  # run one after the other; the last is the broker
    cwd: str  # working directory of ``commands``
    log: str  # file for their output, and for failures of ``afterwards``
    afterwards: Sequence[Sequence[str]] = ()  # run after the broker has ended, for any reason
    scratch: str | None = None  # directory to remove at the end; None: none
    grace_s: float = _GRACE_S  # from SIGTERM to SIGKILL
    afterwards_s: float = _AFTERWARDS_S  # time-out of each command in ``afterwards``
    cluster_id: str | None = None  # id that the broker on the port must have; None: any

    @property
    def patience_s(self) -> float:
        """Seconds to wait for a stopping supervisor: longer than all its own time-outs."""
        return self.grace_s + len(self.afterwards) * self.afterwards_s + _MARGIN_S


PATIENCE_S = _GRACE_S + _AFTERWARDS_S + _MARGIN_S  # the longest ``patience_s`` of any backend


class Supervised:
    """A running supervisor with its broker.  ``keep_open`` is a descriptor that its processes inherit.

    Raises:
        OSError: the log cannot be written.
    """

    def __init__(self, spec: Spec, env: Mapping[str, str], keep_open: int | None = None) -> None:
        self._spec = spec
        self._env = dict(env)
        kept = [] if keep_open is None else [keep_open]
        message = json.dumps({**asdict(spec), "parent": os.getpid(), "keep_open": kept})
        with Path(spec.log).open("ab") as log:
            self._log_begin = log.tell()  # a kept directory has the log of earlier runs
            self._process = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, message],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._env,
                pass_fds=kept,
                # A terminal sends Ctrl-C to the whole process group, but the program stops the broker itself.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id of the broker's supervisor.  SIGTERM to it ends the broker and cleans up."""
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """File with the broker's output."""
        return Path(self._spec.log)

    @property
    def running(self) -> bool:
        """False once the broker has ended, or is detached."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """True once the broker has ended by itself or could not be started, or its supervisor was killed."""
        return self._process.poll() not in {None, 0, supervisor.CLEANUP_FAILED}

    def error_line(self) -> str:
        """Return the line of the log that best explains a failure of this broker."""
        return error_line(self._spec.log, self._log_begin)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the broker ends or is detached.  Returns False after ``timeout_s``."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait_ready(self, port: int, timeout_s: float, step: str, on_progress: OnProgress) -> None:
        """Wait until the broker answers on ``port``; stop it after any error.

        Raises:
            PortTakenError: the broker ended because another process listens on its port.
            BrokerError: the broker ended, or does not answer after ``timeout_s``; the message quotes its log.
        """
        try:
            self._wait_ready(port, timeout_s, step, on_progress)
        except BaseException as error:  # also Ctrl-C: no process may keep running
            self.stop(keep_log=isinstance(error, BrokerError) and not isinstance(error, PortTakenError))
            raise

    def _wait_ready(self, port: int, timeout_s: float, step: str, on_progress: OnProgress) -> None:
        deadline = time.monotonic() + timeout_s
        while not answers(port, self._spec.cluster_id):
            on_progress(Progress(step))
            log = self._spec.log
            if self.wait(_POLL_S):
                if is_port_taken(line := self.error_line()):
                    raise PortTakenError(
                        f"the broker did not start: another process took port {port} or the controller's port"
                    )
                raise BrokerError(f"the broker did not start: {line} (log: {log})")
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"the broker does not answer on port {port} after {timeout_s:.0f} s: "
                    f"{self.error_line()} (log: {log})"
                )

    def detach(self) -> None:
        """Let the broker outlive this program.  From then on only a signal to :attr:`pid` stops it."""
        self._spec = replace(self._spec, scratch=None)  # so that `stop` does not remove it
        self._send(b"d")
        self._process.returncode = 0  # keeps subprocess from warning of a child that still runs

    def stop(self, *, keep_log: bool = False) -> None:
        """Stop the broker, and remove its directory if that is temporary.  Idempotent.

        Args:
            keep_log: keep the log when the directory is removed, so that an error can name the log.
        """
        self._send(b"k" if keep_log else b"s")
        # The supervisor kills a broker that outlasts its grace period.  Kill a supervisor that hangs.
        if not self.wait(self._spec.patience_s):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        # A killed supervisor has not run these.  After any other failure they run a second time.
        if self._process.returncode != 0:
            for command in self._spec.afterwards:
                supervisor.failure_of(command, self._spec.afterwards_s, self._env)
        if self._spec.scratch is not None:
            # A killed supervisor leaves the directory, and a supervisor whose broker failed leaves the log.
            supervisor.clear(Path(self._spec.scratch), Path(self._spec.log) if keep_log else None)

    def _send(self, message: bytes) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return
        with contextlib.suppress(BrokenPipeError):  # the supervisor has ended already
            pipe.write(message)
            pipe.flush()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
