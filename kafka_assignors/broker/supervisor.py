"""The process between a Python program and its broker.  It stops the broker when the program ends.

Runs as a script (``python -I supervisor.py SPEC``), so it imports only the standard library.  SPEC is the
JSON of :class:`kafka_assignors.broker.supervised.Spec`, with ``parent`` (the program's process id) and
``keep_open`` (descriptors for the commands to inherit).  The process stops the broker after:

- ``s`` on stdin, SIGTERM, SIGINT or SIGHUP: a request to stop.  ``k`` on stdin: the same, but keep the log.
- End of file on stdin: the program has ended, also by ``kill -9``.
- A change of its parent process: the program has ended, but a fork of it still holds the pipe.

After ``d`` on stdin the broker is detached: then only SIGTERM, SIGINT or SIGHUP stops it.

On Linux the kernel kills the commands if this process dies first.  That ends a JVM.  With Docker it ends only
the client; the container runs until `Supervised.stop` runs the ``afterwards`` commands, or `broker.state`
removes the container of a broker in the state file.

Exit status: 0: stopped on request; 1: a command could not be started; 3: the broker ended by itself, or a
command before it failed; 4: stopped on request, but an ``afterwards`` command failed.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ENDED_BY_ITSELF = 3  # exit code: the broker ended without a request to stop
CLEANUP_FAILED = 4  # exit code: the broker was stopped, but an ``afterwards`` command failed

_PARENT_CHECK_S = 1.0
_PR_SET_PDEATHSIG = 1


class Supervisor:
    """Runs commands one after the other until one fails or a stop is requested."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.attached = True  # stop when the program ends
        self.stop_requested = False
        self.keep_log = False
        # Every signal writes a byte here, so that select() wakes for SIGTERM and for the end of a child.
        self.wake, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._request_stop)

    def _request_stop(self, *_: object) -> None:
        self.stop_requested = True

    def run(self) -> int:
        """Run the commands; return the exit status."""
        is_clean = True
        try:
            for command in self.spec["commands"]:
                if self._run_one(command) != 0:
                    break
        finally:
            for command in self.spec["afterwards"]:
                if why := failure_of(command, self.spec["afterwards_s"]):
                    print(f"{' '.join(command)}: {why}", file=sys.stderr, flush=True)
                    is_clean = False
            if self.spec["scratch"] is not None:
                # The log of a broker that failed by itself stays, because it names the cause.
                keep_log = not self.stop_requested or self.keep_log
                clear(Path(self.spec["scratch"]), Path(self.spec["log"]) if keep_log else None)
        if not self.stop_requested:
            return ENDED_BY_ITSELF
        return 0 if is_clean else CLEANUP_FAILED

    def _run_one(self, command: list[str]) -> int:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd=self.spec["cwd"],
            pass_fds=self.spec["keep_open"],
            preexec_fn=die_with_parent(),  # noqa: PLW1509  this process has one thread
        )
        while child.poll() is None and not self._should_stop():
            self._wait()
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(self.spec["grace_s"])
            except subprocess.TimeoutExpired:
                child.kill()
        status = child.wait()
        # After a stopped command no other may run, even if its status is 0.
        return (status or 1) if self.stop_requested else status

    def _should_stop(self) -> bool:
        if self.attached and os.getppid() != self.spec["parent"]:
            self.stop_requested = True
        return self.stop_requested

    def _wait(self) -> None:
        watched = [self.wake, 0] if self.attached else [self.wake]
        ready, _, _ = select.select(watched, [], [], _PARENT_CHECK_S if self.attached else None)
        if self.wake in ready:
            os.read(self.wake, 512)
        if 0 in ready:
            match os.read(0, 1):
                case b"d":
                    self.attached = False
                case message:  # b"s", b"k", or b"" at end of file
                    self.stop_requested = True
                    self.keep_log = message == b"k"


def failure_of(command: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None) -> str:
    """Run a command; return the reason if it failed, else an empty string."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {timeout_s:.0f} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), f"exit status {done.returncode}")


def clear(scratch: Path, log: Path | None) -> None:
    """Remove the scratch directory, or all of it but ``log``."""
    if log is None or not log.exists():
        shutil.rmtree(scratch, ignore_errors=True)
        return
    for entry in scratch.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry != log:
            entry.unlink(missing_ok=True)


def die_with_parent() -> Callable[[], None] | None:
    """Return a function that a child calls before exec, so that the kernel kills it if this process dies.

    Return None on systems other than Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    # Look up prctl before the fork, because few calls are safe after it.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child


if __name__ == "__main__":
    sys.exit(Supervisor(json.loads(sys.argv[1])).run())
