"""Progress of a command on standard error: one line in place on a terminal, else plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from kafka_assignors.broker import Progress
from kafka_assignors.cli.tables import screen


class ProgressView:
    """Shows the current step on standard error, so that standard output has only the command's result."""

    def __init__(
        self,
        every_s: float = 5.0,
        *,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = screen(stderr=True) if console is None else console
        self._bar = _bar(self._console) if self._console.is_terminal else None
        self._every_s = every_s
        self._clock = clock
        self._step = ""
        self._last_line, self._last_s = "", clock()

    def __enter__(self) -> ProgressView:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, progress: Progress) -> None:
        """Show a step, and its count if it has one.  The first plain line of a step has no count."""
        is_new = progress.step != self._step
        self._step = progress.step
        count = "" if is_new or progress.total is None else f": {progress.done} of {progress.total}"
        self.update(
            progress.step, progress.done, progress.total, line=f"{progress.step}{count}", at_once=is_new
        )

    def update(
        self,
        text: str,
        done: int = 0,
        total: int | None = None,
        *,
        note: str = "",
        line: str | None = None,
        at_once: bool = False,
    ) -> None:
        """Show the state of the current step.

        Args:
            text: the step, beside the bar of a terminal.
            done: how much of the step is done.
            total: how much there is to do; None: unknown.
            note: shown after the bar.
            line: printed if there is no terminal, but never twice in a row; None: ``text``.
            at_once: print the line now, not only every few seconds.
        """
        line = text if line is None else line
        if self._bar is not None:
            _show(self._bar, text, done, total, note)
        elif line != self._last_line and (at_once or self._clock() - self._last_s >= self._every_s):
            self._last_line, self._last_s = line, self._clock()
            print(line, file=self._console.file, flush=True)


class _WithTotal(ProgressColumn):
    """Shows ``column`` only for a step whose total is known."""

    def __init__(self, column: ProgressColumn) -> None:
        super().__init__()
        self._column = column

    def render(self, task: Task) -> RenderableType:
        return "" if task.total is None else self._column(task)


def _bar(console: Console) -> Bar:
    return Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        _WithTotal(BarColumn()),
        _WithTotal(MofNCompleteColumn()),
        TextColumn("{task.fields[note]}"),
        _WithTotal(TimeRemainingColumn()),
        console=console,
        transient=True,
    )


def _show(bar: Bar, text: str, done: int, total: int | None, note: str) -> None:
    """Show one task.  rich cannot remove the total of a task, so a step without a total needs a new task."""
    for task in bar.tasks:
        if (task.total is None) == (total is None):
            bar.update(task.id, description=text, completed=done, total=total, note=note)
            return
        bar.remove_task(task.id)
    bar.add_task(text, completed=done, total=total, note=note)
