"""Waits for conditions that another thread or process fulfils."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import psutil

PATIENCE_S = 180.0
"""Only what hangs takes as long, also on a busy machine."""


def until(
    condition: Callable[[], object],
    what: str = "what the test waits for",
    *,
    patience_s: float = PATIENCE_S,
    pause_s: float = 0.02,
) -> None:
    """Return once ``condition()`` is true, checked every ``pause_s``; fail after ``patience_s``."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s:.0f} s for: {what}")
        time.sleep(pause_s)


def poll_until(consumer: Any, condition: Callable[[], object], what: str = "what the test waits for") -> None:
    """Poll a consumer until ``condition()`` is true."""

    def is_true() -> object:
        consumer.poll(timeout_ms=50)
        return condition()

    until(is_true, what)


def running_below(process: psutil.Process, word: str) -> list[psutil.Process]:
    """Return the descendants of ``process`` that have ``word`` in their command line."""
    matches = []
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # also raised for a zombie
            if word in child.cmdline():
                matches.append(child)
    return matches


def alive(process: psutil.Process) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(process: psutil.Process) -> None:
    """Kill it, as the kernel does when memory is short, and wait for its end."""
    process.kill()
    until(lambda: not alive(process), "the process to die")
