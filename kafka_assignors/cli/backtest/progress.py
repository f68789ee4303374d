"""Progress of a back-test on standard error: a bar on a terminal, else a line every 5 s."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_EVERY_S = 5.0


class BarView:
    """Draws a progress bar.

    Args:
        console: the terminal to draw on.
    """

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, rate="")
        self._began = 0.0

    def __enter__(self) -> BarView:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def step(self, text: str) -> None:
        """Show a step that has no count."""
        self._progress.update(self._task, description=text)

    def update(self, done: int, total: int, seconds: float) -> None:
        """Show the number of finished scenarios, their total and their rate."""
        rate = f"{done / seconds:,.1f}/s" if done and seconds > 0 else ""
        self._progress.update(self._task, description="scenarios", completed=done, total=total, rate=rate)


class LineView:
    """Prints progress as lines.

    Args:
        stream: the output.
        clock: returns the time (s).
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last_line, self._last_s = "", clock()

    def __enter__(self) -> LineView:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to undo."""

    def step(self, text: str) -> None:
        """Print a step, unless it was printed last."""
        if text != self._last_line:
            self._last_line, self._last_s = text, self._clock()
            print(text, file=self._stream, flush=True)

    def update(self, done: int, total: int, seconds: float) -> None:
        """Print a line if the last one is 5 s old, and at the end."""
        if done == total or self._clock() - self._last_s >= LINE_EVERY_S:
            self.step(progress_line(done, total, seconds))


def progress_line(done: int, total: int, seconds: float) -> str:
    """Return ``scenario 120 of 1,000, 4.0/s, 220 s left``."""
    line = f"scenario {done:,} of {total:,}"
    if not done or seconds <= 0:
        return line
    line += f", {done / seconds:,.1f}/s"
    return line if done == total else f"{line}, {(total - done) * seconds / done:,.0f} s left"
