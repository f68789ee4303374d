"""Other processes that use state, for tests that kill them, starve them, or are in their way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["program", "run"]


@contextmanager
def program(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A Python program that runs meanwhile; killed at the end if it still does."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def run(code: str, *arguments: object) -> list[str]:
    """The lines a program prints until its end, which has to be a good one."""
    ended = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()
