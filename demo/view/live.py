"""Progress on stderr: steps, bar and members that follow events on a terminal; lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from demo.view.picture import MemberView, Picture
from kafka_assignors.report.palette import member_colour

LINE_EVERY = 5.0  # s
STATES = {"starting": "yellow", "running": "green", "left": "bright_black", "killed": "bold red"}


class View:
    """Draws pictures below the events on a terminal; elsewhere prints a line an event and a line a step.

    Of a long step it prints a line every few seconds.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True) if console.is_terminal else None
        self._progress = Progress()
        self._drawn: tuple[str, tuple[str, ...]] = ("", ())
        self._printed: tuple[str, int, bool] = ("", -1, False)
        self._began = self._last = time.monotonic()

    def __enter__(self) -> View:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.update("")
            self._live.stop()

    def step(self, text: str) -> None:
        """Show an event."""
        self._console.print(Text(text), soft_wrap=True)

    def show(self, picture: Picture) -> None:
        """Show the picture of this moment."""
        if self._live is not None:
            self._live.update(self._drawing(picture))
            return
        now = time.monotonic()
        step = picture.title, picture.now, picture.done == picture.total
        if step != self._printed:
            self._printed, self._began, self._last = step, now, now
            self.step(picture.line)
        elif now - self._last >= LINE_EVERY:
            self._last = now
            self.step(picture.line if picture.count else f"{picture.line}, {now - self._began:.0f} s")

    def _drawing(self, picture: Picture) -> Group:
        if self._drawn != (picture.title, picture.steps):
            self._drawn = picture.title, picture.steps
            self._progress = _progress(self._console)
            for step in picture.steps:
                self._progress.add_task(step, start=False, total=None, count="")
        for place, task in enumerate(self._progress.tasks):
            if place <= picture.now and not task.started:
                self._progress.start_task(task.id)
            if place == picture.now:
                self._progress.update(
                    task.id, total=picture.total, completed=picture.done, count=picture.count
                )
            elif place < picture.now and not task.finished:
                total = task.total or 1
                self._progress.update(task.id, total=total, completed=total, count="")
        title = Text.assemble((picture.title, "bold"), "  ", (picture.state, "bright_black"))
        members = [_members(picture.members)] if picture.members else []
        return Group(title, self._progress, *members)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        console=console,
        auto_refresh=False,
    )


def _members(members: tuple[MemberView, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bright_black")
    for column in ("member", "pid", "state", "partitions", "copies", "lag", "records/s"):
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for member in members:
        gone = member.state in {"left", "killed"}
        table.add_row(
            Text.assemble(("██ ", member_colour(member.name)), member.name),
            str(member.pid or ""),
            Text(member.state, STATES[member.state]),
            f"{len(member.partitions):>2}  {' '.join(map(str, member.partitions))}",
            str(member.copies or ""),
            "" if gone else f"{member.lag:,}",
            "" if gone else f"{member.rate:.0f}",
        )
    return table
