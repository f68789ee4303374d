"""Progress on stderr: on a terminal, a bar below the events; elsewhere, lines."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

LINE_EVERY = 5.0  # s


@dataclass(frozen=True, slots=True)
class Picture:
    """The progress of one long job."""

    title: str
    steps: tuple[str, ...]  # in order
    now: int  # index of the current step; ``len(steps)``: all are done
    state: str = ""  # of the current step
    done: int = 0  # finished units of the step
    total: int | None = None  # all units of the step; None: unknown
    unit: str = ""  # with a leading space, as in " s"; empty for records

    @property
    def count(self) -> str:
        """Finished and all units of the step, as text; empty if the total is unknown or all is done."""
        if self.total is None or self.now >= len(self.steps):
            return ""
        return f"{self.done:,} of {self.total:,}{self.unit}"

    @property
    def step(self) -> str:
        """The job and its current step."""
        return f"{self.title}: {self.steps[self.now] if self.now < len(self.steps) else 'done'}"

    @property
    def line(self) -> str:
        """The picture as one line."""
        state = f" ({self.state})" if self.state and self.now < len(self.steps) else ""
        return f"{self.step}{state}" + (f", {self.count}" if self.count else "")


class View:
    """Draws a bar below the events on a terminal; elsewhere prints lines.

    There is a line for each event and step, and one every few seconds during a long step.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[state]}", style="bright_black"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", count="", state="", visible=False)
        self._shown: tuple[str, int, bool] = ("", -1, False)
        self._began = self._last = time.monotonic()

    def __enter__(self) -> View:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, text: str) -> None:
        """Show an event."""
        self._console.print(Text(text), soft_wrap=True)

    def show(self, picture: Picture) -> None:
        """Show the picture of this moment."""
        now, before = time.monotonic(), self._shown
        self._shown = picture.title, picture.now, picture.done == picture.total
        if not self._bar.disable:
            if self._shown[:2] != before[:2]:
                self._bar.reset(self._task, visible=True)
            self._bar.update(
                self._task,
                description=picture.step,
                total=picture.total,
                completed=picture.done,
                count=picture.count,
                state=picture.state,
            )
        elif self._shown != before:
            self._began = self._last = now
            self.step(picture.line)
        elif now - self._last >= LINE_EVERY:
            self._last = now
            self.step(picture.line if picture.count else f"{picture.line}, {now - self._began:.0f} s")
