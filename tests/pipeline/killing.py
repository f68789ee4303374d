"""Killing a stream with -9 in the middle of a batch, as its checkpoint and its files tell where that is."""

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
"""For a process to get as far as it shall be killed at."""

_TRIES = 8
Point = Callable[[Path], bool]
"""Whether the stream of a pipeline's folder is just there."""
Running = contextlib.AbstractContextManager[subprocess.Popen[bytes]]


def numbers(folder: Path) -> set[int]:
    """Those that a folder's files have for names, with or without ``.compact``."""
    names = (path.name.removesuffix(".compact") for path in folder.glob("[0-9]*"))
    return {int(name) for name in names if name.isdigit()}


def done(root: Path, stream: str) -> int:
    """How many batches Spark knows to be done; it keeps a note of the last hundred only."""
    return max(numbers(root / "checkpoints" / stream / "commits"), default=-1) + 1


def under_way(root: Path, stream: str) -> set[int]:
    """Batches that have begun, and are not done; one at most."""
    begun = numbers(root / "checkpoints" / stream / "offsets")
    return {batch for batch in begun if batch >= done(root, stream)}


@contextlib.contextmanager
def program(root: Path, module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A module of the tests as a process, which talks into ``root/log``; afterwards all of it is gone."""
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
    """Do something in a thread until the end of the block, which adds a number to a list each time it did."""
    made: list[int] = []
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, over, made)
        try:
            yield made
        finally:
            over.set()
        done.result()  # what failed is not to be taken for what was lost


def kill_at(point: Point, root: Path, stream: str, start: Callable[[], Running]) -> None:
    """Start a stream, let it finish a batch, and kill it with -9 at a point in the middle of a later one."""
    for _ in range(_TRIES):
        one_more = done(root, stream) + 1
        with start() as process:
            _wait_until(partial(_has_done, stream, one_more), root, process)
            _wait_until(point, root, process)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if under_way(root, stream) and point(root):
            return
    pytest.fail("each time the batch was done before the signal came")


def _has_done(stream: str, batches: int, root: Path) -> bool:
    return done(root, stream) >= batches


def _wait_until(what: Point, root: Path, process: subprocess.Popen[bytes]) -> None:
    def come() -> bool:
        assert process.poll() is None, (root / "log").read_text()[-3000:]
        return what(root)

    until(come, str(what), patience_s=PATIENCE_S, pause_s=0.002)
