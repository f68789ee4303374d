"""The program's end of the supervisor: spawn it, wait until the broker answers, stop it or let it live on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kafka_assignors.broker import supervisor
from kafka_assignors.broker.diagnose import says_port_taken, telling_line
from kafka_assignors.broker.ports import answers
from kafka_assignors.broker.progress import OnProgress, Progress
from kafka_assignors.errors import BrokerError

__all__ = ["PATIENCE_S", "PortTakenError", "Spec", "Supervised"]

_GRACE_S = 10.0  # a broker this small stops in half a second
_AFTERWARDS_S = 60.0  # "compose down" takes one second, unless the engine is busy
_MARGIN_S = 10.0
_POLL_S = 0.05


class PortTakenError(BrokerError):
    """A port that was free when it was picked was not when the broker came to listen on it."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What the supervisor is told.

    Args:
        commands: run one after the other; the last is the broker.
        afterwards: run when the broker has ended, however it did.
        cwd: where all of them run.
        log: file that gets all their output.
        scratch: directory to remove at the end; None keeps everything.
        parent: process id of the program.
        grace_s: seconds from SIGTERM to SIGKILL.
        afterwards_s: seconds that each command in ``afterwards`` may take.
        cluster_id: tells the broker from any other that answers on its port; None: nothing does.
    """

    commands: Sequence[Sequence[str]]
    cwd: str
    log: str
    afterwards: Sequence[Sequence[str]] = ()
    scratch: str | None = None
    parent: int = 0
    grace_s: float = _GRACE_S
    afterwards_s: float = _AFTERWARDS_S
    cluster_id: str | None = None

    @property
    def patience_s(self) -> float:
        """Seconds after which a supervisor that was asked to stop hangs: more than it allows itself."""
        return self.grace_s + len(self.afterwards) * self.afterwards_s + _MARGIN_S


PATIENCE_S = _GRACE_S + _AFTERWARDS_S + _MARGIN_S  # the longest patience of both backends


class Supervised:
    """A running supervisor with its broker.

    Args:
        spec: what to run; ``parent`` is filled in.
        env: environment of all of it.
        keep_open: descriptor of a lock that all of it holds as long as it lives.

    Raises:
        OSError: the log cannot be written.
    """

    def __init__(self, spec: Spec, env: Mapping[str, str], keep_open: int | None = None) -> None:
        self._spec = spec
        self._env = dict(env)
        kept = [] if keep_open is None else [keep_open]
        message = json.dumps({**asdict(spec), "parent": os.getpid(), "keep_open": kept})
        with Path(spec.log).open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, message],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._env,
                pass_fds=kept,
                # A terminal's Ctrl-C is for the program, which then stops the broker in order.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id of the supervisor."""
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """Where the output of the broker goes."""
        return Path(self._spec.log)

    @property
    def running(self) -> bool:
        """False once the broker has ended and its supervisor with it."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """True once the broker has ended without being asked to."""
        return self._process.poll() not in {None, 0, supervisor.NOT_TIDIED}

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the broker ends; False when ``timeout_s`` passed first."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait_ready(self, port: int, timeout_s: float, step: str, on_progress: OnProgress) -> None:
        """Return when the broker on ``port`` answers; stop it when that, or the waiting, fails.

        Raises:
            PortTakenError: it ended because somebody else listens on its port.
            BrokerError: it ended, or does not answer after ``timeout_s``; quotes its log.
        """
        try:
            self._wait_ready(port, timeout_s, step, on_progress)
        except BaseException as error:  # Ctrl-C above all: nothing may keep running
            self.stop(keep_log=isinstance(error, BrokerError) and not isinstance(error, PortTakenError))
            raise

    def _wait_ready(self, port: int, timeout_s: float, step: str, on_progress: OnProgress) -> None:
        deadline = time.monotonic() + timeout_s
        while not answers(port, self._spec.cluster_id):
            on_progress(Progress(step))
            log = self._spec.log
            if self.wait(_POLL_S):
                if says_port_taken(line := telling_line(log)):
                    raise PortTakenError(
                        f"the broker did not start: port {port}, or its controller's, was taken meanwhile"
                    )
                raise BrokerError(f"the broker did not start: {line} (log: {log})")
            if time.monotonic() > deadline:
                raise BrokerError(
                    f"the broker does not answer on port {port} after {timeout_s:.0f} s: "
                    f"{telling_line(log)} (log: {log})"
                )

    def detach(self) -> None:
        """Let the broker live on when this program ends."""
        self._tell(b"d")
        self._process.returncode = 0  # not ours to wait for any more; subprocess would warn of it

    def stop(self, *, keep_log: bool = False) -> None:
        """End the broker and remove its scratch directory.  Doing so twice is fine.

        Args:
            keep_log: spare the log, for an error to name it.
        """
        self._tell(b"k" if keep_log else b"s")
        # The supervisor kills the broker itself after the grace; this is for a supervisor that hangs.
        if not self.wait(self._spec.patience_s):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.returncode != 0:  # a supervisor that was killed has not; for others twice is fine
            for command in self._spec.afterwards:
                supervisor.run_briefly(command, self._spec.afterwards_s, self._env)
        if self._spec.scratch is not None:
            # Again: for a supervisor that was killed, and for the log of a broker that failed later.
            supervisor.clear(Path(self._spec.scratch), Path(self._spec.log) if keep_log else None)

    def _tell(self, message: bytes) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return
        with contextlib.suppress(BrokenPipeError):  # it has ended already
            pipe.write(message)
            pipe.flush()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
