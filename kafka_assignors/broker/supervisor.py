"""The process between a Python program and its broker: whatever happens to the program, it ends the broker.

Runs as a script of its own (``python -I supervisor.py SPEC``), so it imports the standard library only.  SPEC
is the JSON of :class:`kafka_assignors.broker.supervised.Spec`.  How it learns that it is time to stop:

- ``s`` on stdin, or SIGTERM: somebody asks; ``k``: and keep the log.
- End of file on stdin: the program is gone, even if by ``kill -9``.
- Another parent than at the start: the same, when a fork of the program still holds the pipe.
- ``d`` on stdin: the program lets the broker live on; from then on only SIGTERM counts.

On Linux the kernel kills the commands if this process dies first: a JVM with that, but of Docker only the
client; the container stays until somebody runs what was to be run afterwards.  Exit status: 0 asked to stop,
3 the broker ended by itself, 4 asked, and something that was to be run afterwards failed.
"""

from __future__ import annotations

import contextlib
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

ENDED_BY_ITSELF = 3
NOT_TIDIED = 4

_PARENT_CHECK_S = 1.0
_PR_SET_PDEATHSIG = 1


class Supervisor:
    """Runs a list of commands one after the other until told to stop."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.held = True  # stop when the program goes away
        self.asked = False
        self.keep_log = False
        # A byte arrives here with every signal: select() wakes for SIGTERM and for the end of a child.
        self.wake, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True

    def run(self) -> int:
        """Run the commands; return the exit status."""
        tidied = True
        try:
            for command in self.spec["commands"]:
                if self._run_one(command) != 0:
                    break
        finally:
            for command in self.spec["afterwards"]:
                if why := run_briefly(command, self.spec["afterwards_s"]):
                    print(f"{' '.join(command)}: {why}", file=sys.stderr, flush=True)
                    tidied = False
            if self.spec["scratch"] is not None:
                # A broker that failed by itself leaves its log, for somebody to read.
                spare = not self.asked or self.keep_log
                clear(Path(self.spec["scratch"]), Path(self.spec["log"]) if spare else None)
        if not self.asked:
            return ENDED_BY_ITSELF
        return 0 if tidied else NOT_TIDIED

    def _run_one(self, command: list[str]) -> int:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd=self.spec["cwd"],
            pass_fds=self.spec["keep_open"],
            preexec_fn=die_with_parent(),  # noqa: PLW1509  this process has one thread
        )
        while child.poll() is None and not self._time_to_stop():
            self._wait()
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(self.spec["grace_s"])
            except subprocess.TimeoutExpired:
                child.kill()
        status = child.wait()
        # A child that ended well while nobody asked is a step done; one that was stopped ends the list.
        return status if not self.asked else status or 1

    def _time_to_stop(self) -> bool:
        if self.held and os.getppid() != self.spec["parent"]:
            self.asked = True
        return self.asked

    def _wait(self) -> None:
        watched = [self.wake, 0] if self.held else [self.wake]
        ready, _, _ = select.select(watched, [], [], _PARENT_CHECK_S if self.held else None)
        if self.wake in ready:
            os.read(self.wake, 512)
        if 0 in ready:
            match os.read(0, 1):
                case b"d":
                    self.held = False
                case what:  # b"s", b"k", or b"" at end of file
                    self.asked = True
                    self.keep_log = what == b"k"


def run_briefly(command: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None) -> str:
    """Run a command that tidies up; return the line that says why it failed, empty when it did not."""
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
        return f"not done after {timeout_s:.0f} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), f"exit status {done.returncode}")


def clear(scratch: Path, log: Path | None) -> None:
    """Remove the scratch directory; all of it but the log where one is given."""
    if log is None or not log.exists():
        shutil.rmtree(scratch, ignore_errors=True)
        return
    for entry in scratch.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry != log:
            entry.unlink(missing_ok=True)


def die_with_parent() -> Callable[[], None] | None:
    """Make what a child calls before exec so that the kernel kills it with this process; Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl  # looked up before the fork: after it, little is allowed
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(Supervisor(json.loads(sys.argv[1])).run())
