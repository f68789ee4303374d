"""Kills a stream with SIGKILL in the middle of a batch.  Checkpoint and files show how far a batch is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.support.waiting import until

REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 240.0
"""Seconds for a process to reach the point at which it is killed."""

_TRIES = 8
Point = Callable[[Path], bool]
"""Returns whether the stream of a pipeline's folder is at this point of a batch."""
Running = contextlib.AbstractContextManager[subprocess.Popen[bytes]]


def numbers(folder: Path) -> set[int]:
    """Return the numbers that a folder's files have for names, with or without ``.compact``."""
    names = (path.name.removesuffix(".compact") for path in folder.glob("[0-9]*"))
    return {int(name) for name in names if name.isdigit()}


def done(root: Path, stream: str) -> int:
    """Return the number of batches that Spark has recorded as done.  It keeps the last hundred only."""
    return max(numbers(root / "checkpoints" / stream / "commits"), default=-1) + 1


def under_way(root: Path, stream: str) -> set[int]:
    """Return the batches that have begun and are not done; at most one."""
    begun = numbers(root / "checkpoints" / stream / "offsets")
    return {batch for batch in begun if batch >= done(root, stream)}


@contextlib.contextmanager
def program(root: Path, module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a test module as a process that logs to ``root/log``; at the end, kill its whole process group."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=REPOSITORY, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def meanwhile(work: Callable[[threading.Event, list[int]], None]) -> Iterator[list[int]]:
    """Run a function in a thread until the end of the block; it adds a number to a list each time."""
    made: list[int] = []
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, over, made)
        try:
            yield made
        finally:
            over.set()
        done.result()  # what failed is not to be taken for what was lost


def kill_at(
    point: Point, root: Path, stream: str, start: Callable[[], Running], *, in_batch: bool = True
) -> None:
    """Start a stream, let it finish a batch, and kill it with SIGKILL later; ``in_batch``: within a batch."""
    for _ in range(_TRIES):
        one_more = done(root, stream) + 1
        with start() as process:
            _wait_until(partial(_has_done, stream, one_more), root, process)
            _wait_until(point, root, process)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if point(root) and (under_way(root, stream) or not in_batch):
            return
    pytest.fail("each time that point had passed before the signal came")


def _has_done(stream: str, batches: int, root: Path) -> bool:
    return done(root, stream) >= batches


def _wait_until(what: Point, root: Path, process: subprocess.Popen[bytes]) -> None:
    def come() -> bool:
        assert process.poll() is None, (root / "log").read_text()[-3000:]
        return what(root)

    until(come, str(what), patience_s=PATIENCE_S, pause_s=0.002)
