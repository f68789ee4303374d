"""Waits for what another thread or process does: on a condition, never for a length of time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 60.0


def until(
    condition: Callable[[], object],
    what: str = "what the test waits for",
    *,
    patience_s: float = PATIENCE_S,
    pause_s: float = 0.02,
) -> None:
    """Return once ``condition()`` is true, looked at every ``pause_s``; fail when patience is at its end."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s:.0f} s for: {what}")
        time.sleep(pause_s)


def running_below(process: psutil.Process, word: str) -> list[psutil.Process]:
    """Return the descendants of ``process`` that have ``word`` in their command line."""
    found = []
    for each in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # of which a zombie is one
            if word in each.cmdline():
                found.append(each)
    return found


def alive(process: psutil.Process) -> bool:
    """Say whether it runs; a zombie, whom only its parent keeps on the list, does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
