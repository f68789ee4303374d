"""The member processes: started, asked to leave, killed, and never left behind."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from kafka_assignors.demo.member import MemberConfig
from kafka_assignors.errors import KafkaAssignorsError


def client_id(member: str) -> str:
    """Make the client id of a member: a hash first, as in the names that deployments give.

    Assignors order members by an id that begins with this.  With plain names a new member always comes last,
    which is the kindest case for ``range``; in the wild its place is a matter of luck, the same here for all
    strategies.
    """
    return f"{hashlib.sha256(member.encode()).hexdigest()[:6]}-{member}"


@dataclass(slots=True)
class _Process:
    popen: subprocess.Popen[bytes]
    errors: IO[bytes]
    expected_to_end: bool = False


class Fleet:
    """All members of one run, as a context manager.

    A member's stdin is a pipe held open here.  It closes when this process ends, however it ends, and a
    member whose stdin closes exits; so nothing stays behind even after ``kill -9`` of the demo.

    Args:
        folder: where a member's stderr goes, as ``NAME.err``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, _Process] = {}

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.expected_to_end = True
            if process.popen.stdin is not None:
                process.popen.stdin.close()
        for process in self._processes.values():
            try:
                process.popen.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()
            process.errors.close()

    def start(self, member: str, config: MemberConfig) -> int:
        """Start a member and return its pid."""
        errors = (self._folder / f"{member}.err").open("wb")
        popen = subprocess.Popen(
            [sys.executable, "-m", "kafka_assignors.demo.member"],
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            start_new_session=True,  # Ctrl-C reaches the demo only, which then ends its members in order
        )
        self._processes[member] = _Process(popen, errors)
        self._tell(member, config.encode())
        return popen.pid

    def leave(self, member: str) -> None:
        """Ask a member to finish its batch, close and exit."""
        self._processes[member].expected_to_end = True
        self._tell(member, b"leave\n")

    def kill(self, member: str) -> None:
        """``kill -9``, and wait until it is dead."""
        process = self._processes[member]
        process.expected_to_end = True
        process.popen.kill()
        process.popen.wait()

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for each member to end; say whether all have."""
        for process in self._processes.values():
            try:
                process.popen.wait(timeout)
            except subprocess.TimeoutExpired:  # noqa: PERF203  # a handful of processes
                return False
        return True

    def check(self) -> None:
        """Raise if a member ended that should be running.

        Raises:
            KafkaAssignorsError: with the last line the member wrote to stderr.
        """
        for member, process in self._processes.items():
            code = process.popen.poll()
            if code is not None and not process.expected_to_end:
                raise KafkaAssignorsError(
                    f"member {member} ended with exit code {code}: {self._last_words(member)}"
                )

    def _tell(self, member: str, line: bytes) -> None:
        stdin = self._processes[member].popen.stdin
        if stdin is None:
            raise RuntimeError("started without a pipe")
        try:
            stdin.write(line)
            stdin.flush()
        except BrokenPipeError:
            raise KafkaAssignorsError(f"member {member} is gone: {self._last_words(member)}") from None

    def _last_words(self, member: str) -> str:
        path = self._folder / f"{member}.err"
        lines = path.read_text(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), f"{path.name} is empty")
