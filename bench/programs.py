"""Starts the measuring programs, reads their output, and ends programs that take too long."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

Facts = dict[str, Any]


class ProgramError(Exception):
    """A program of the benchmark failed; the message is the end of its stderr."""


def exit_on_sigterm() -> None:
    """Make SIGTERM an exit, which also ends the measured programs and deletes their files."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def child(task: str, patience: float | None = None, **order: Any) -> Facts:
    """Run a task of ``bench.child``; see ``listen``."""
    return listen([sys.executable, "-m", "bench.child", task, json.dumps(order)], patience)


def listen(command: Sequence[str | Path], patience: float | None = None) -> Facts:
    """Gather the facts that a program prints, one JSON object a line.

    The first line means that the program is ready, and may take any time.  The program is ended if a later
    line takes more than ``patience`` seconds.  If the fact ``first`` is still missing then, the fact ``cut``
    is these seconds.

    Raises:
        ProgramError: the program failed.
    """
    lines: queue.Queue[bytes] = queue.Queue()
    facts: Facts = {}
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=complaints) as program,
    ):
        reader = threading.Thread(target=_read, args=(program, lines), daemon=True)
        reader.start()
        try:
            while line := lines.get(timeout=patience if facts else None):
                facts |= json.loads(line)
        except queue.Empty:
            program.kill()
            return facts if "first" in facts else facts | {"cut": patience}
        except BaseException:
            program.kill()
            raise
        finally:
            reader.join()
        if program.wait():
            complaints.seek(0)
            stderr = complaints.read().decode(errors="replace")[-2000:].strip()
            raise ProgramError(stderr or f"ended with {program.returncode} and no output")
    return facts


def _read(program: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    for line in program.stdout or ():
        lines.put(line)
    lines.put(b"")
