"""The member processes: started, asked to leave, killed, and never left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from demo.group.logs import writing
from demo.member.start import MemberConfig
from kafka_assignors.errors import BrokerError, KafkaAssignorsError

LEAVE_TIMEOUT = 5.0  # s for members to leave their group when a run is given up
MEMBER = "demo.member"


@dataclass(slots=True)
class _Process:
    popen: subprocess.Popen[bytes]
    errors: IO[bytes]
    last_words: str = ""
    expected_to_end: bool = False


class Fleet:
    """All members of one run, as a context manager.

    A member's stdin is a pipe held open here.  It closes when this process ends, however it ends, and a
    member whose stdin closes exits; so no process is left even after ``kill -9`` of the demo.

    A run that ends by Ctrl-C or an error first asks the members to leave, so that its group can be deleted.
    A run whose broker failed does not ask them.

    A member's stderr is in ``NAME.err`` in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, _Process] = {}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None and not isinstance(error, BrokerError):
                for member in self._processes:
                    with suppress(KafkaAssignorsError):
                        self.leave(member)
                self.wait(LEAVE_TIMEOUT)
        finally:
            for process in self._processes.values():
                if process.popen.stdin is not None:
                    with suppress(OSError):  # a dead member cannot get a line that is still in the buffer
                        process.popen.stdin.close()
            for process in self._processes.values():
                _end(process)

    def start(self, member: str, config: MemberConfig) -> int:
        """Start a member and return its pid."""
        path = self._folder / f"{member}.err"
        with writing(path):
            errors = path.open("wb")
        popen = subprocess.Popen(
            [sys.executable, "-m", MEMBER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C reaches the demo only, which then ends its members in order
        )
        self._processes[member] = _Process(popen, errors)
        self._write(member, config.encode())
        return popen.pid

    def go(self, member: str) -> None:
        """Let a member that was held begin to work."""
        self._write(member, b"go\n")

    def leave(self, member: str) -> None:
        """Ask a member to finish its batch, close and exit."""
        self._processes[member].expected_to_end = True
        self._write(member, b"leave\n")

    def kill(self, member: str) -> None:
        """Kill a member with ``kill -9``, and wait until it is dead."""
        process = self._processes[member]
        process.expected_to_end = True
        process.popen.kill()
        process.popen.wait()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for all members to end; return whether they have."""
        end = time.monotonic() + timeout
        for process in self._processes.values():
            try:
                process.popen.wait(max(end - time.monotonic(), 0))
            except subprocess.TimeoutExpired:  # noqa: PERF203  # a handful of processes
                return False
        return True

    def check(self) -> None:
        """Raise if a member ended that should be running."""
        for member, process in self._processes.items():
            code = process.popen.poll()
            if code is not None and not process.expected_to_end:
                raise KafkaAssignorsError(
                    f"member {member} ended with exit code {code}: {self._last_words(member)}"
                )

    def _write(self, member: str, line: bytes) -> None:
        stdin = self._processes[member].popen.stdin
        if stdin is None:
            raise RuntimeError("started without a pipe")
        try:
            stdin.write(line)
            stdin.flush()
        except BrokenPipeError:
            raise KafkaAssignorsError(f"member {member} is gone: {self._last_words(member)}") from None

    def _last_words(self, member: str) -> str:
        """Return the last line of a member's stdout, else of its stderr.  Waits for the member's end."""
        process, path = self._processes[member], self._folder / f"{member}.err"
        if not process.last_words and process.popen.stdout is not None:
            process.last_words = process.popen.stdout.read().decode(errors="replace")
        lines = (process.last_words or path.read_text(errors="replace")).split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), f"{path.name} is empty")


def _end(process: _Process) -> None:
    """Wait for a member's end, kill it after 3 s, and close its files."""
    try:
        process.popen.wait(timeout=3)
    except subprocess.TimeoutExpired:
        process.popen.kill()
        process.popen.wait()
    finally:
        process.errors.close()
        if process.popen.stdout is not None:
            process.popen.stdout.close()
