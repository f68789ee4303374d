"""What is seen while it runs: a dashboard that fits 80 x 24, or lines where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo.group.work import Work
from demo.view.watch import MemberView, RunView, Snapshot
from kafka_assignors.report.palette import ink_on, member_colour

LINE_EVERY = 5.0  # s
BLOCKS = " ▁▂▃▄▅▆▇█"
ACCENT = "#66CCEE"
MARKS = {"✓": "green", "▶": "bold", "·": "bright_black"}
BACKLOG_PHASES = ("filling", "starting", "draining", "done")
STATES = {"starting": "yellow", "running": "green", "left": "bright_black", "killed": "bold red"}


class LiveView:
    """Draws snapshots on a terminal, on the alternate screen.

    Args:
        console: of the terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._said = ""
        self._drawn = False

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def step(self, text: str) -> None:
        """Show what happened, until the next thing does."""
        self._said = text
        if not self._drawn:
            self._live.update(Panel(Text(text), title="demo", box=box.ROUNDED), refresh=True)

    def update(self, snapshot: Snapshot) -> None:
        """Draw the picture."""
        self._drawn = True
        self._live.update(dashboard(snapshot, self._said, *self._console.size), refresh=True)

    def work(self, work: Work) -> None:
        """Draw how far a long job is."""
        self._live.update(steps_of(work, self._console.width - 4), refresh=True)


class PlainView:
    """Prints a line a step, and one every few seconds.

    Args:
        stream: where to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()
        self._at = -1  # the step of a long job that was told of last

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to undo."""

    def step(self, text: str) -> None:
        """Print what happened."""
        print(text, file=self._stream, flush=True)

    def update(self, snapshot: Snapshot) -> None:
        """Print a line when the last one is some seconds old."""
        if time.monotonic() - self._last < LINE_EVERY:
            return
        self._last = time.monotonic()
        running = sum(member.state == "running" for member in snapshot.members)
        lag = snapshot.lag[-1] if snapshot.lag else 0
        run = snapshot.run
        doing = f"{run.strategy}: {run.phase} {run.elapsed:.0f} s, "
        if run.phase == "filling":
            self.step(doing + f"{snapshot.sent:,} of {run.to_send:,} records")
        else:
            self.step(
                doing
                + f"{running} members, {snapshot.processed:,} of {snapshot.sent:,} records, lag {lag:,}, "
                f"{snapshot.moves} moved"
            )

    def work(self, work: Work) -> None:
        """Print a line when a step begins, and when the last one is some seconds old."""
        if work.now != self._at or time.monotonic() - self._last >= LINE_EVERY:
            self._at, self._last = work.now, time.monotonic()
            self.step(work.line)


def steps_of(work: Work, inner: int) -> Panel:
    """Lay out the steps of a long job, one a line: done, going on, still to come."""
    rows = Table.grid(padding=(0, 1))
    for place, step in enumerate(work.steps):
        mark = "✓" if place < work.now else "▶" if place == work.now else "·"
        said = ""
        if place == work.now:
            said = work.said + (f"  {work.done:,} of {work.total:,}" if work.total is not None else "")
        rows.add_row(Text(f"{mark} {step}", MARKS[mark]), Text(said, "bright_black"))
    bar = ProgressBar(
        total=max(work.total or 0, 1),
        completed=work.done,
        width=inner,
        complete_style=ACCENT,
        finished_style=ACCENT,
    )
    line = Table.grid(expand=True)  # a bar alone does not end its line
    line.add_row(bar if work.total else "")
    return _panel(Group(rows, line), f"demo: {work.name}")


def dashboard(snapshot: Snapshot, said: str, width: int, height: int) -> Layout:
    """Lay out one picture for a terminal of ``width`` x ``height`` characters."""
    inner = width - 4
    rows = band(snapshot.owners, inner)
    members = len(snapshot.members)
    chart = max(height - 5 - (members + 3) - (len(rows) + 2) - 2, 1)
    layout = Layout()
    layout.split_column(
        Layout(_panel(_head(snapshot, inner), _title(snapshot.run), said), size=5),
        Layout(_panel(_members(snapshot.members), "members"), size=members + 3),
        Layout(_panel(Group(*rows), "partition → member"), size=len(rows) + 2),
        Layout(_panel(_lag(snapshot.lag, inner, chart), _lag_title(snapshot)), size=chart + 2),
    )
    return layout


def _panel(content: RenderableType, title: str, said: str | None = None) -> Panel:
    return Panel(
        content,
        title=f"[default]{title}[/]",
        title_align="left",
        subtitle=said and f"[default]{said}[/]",
        subtitle_align="right",
        box=box.ROUNDED,
        border_style="bright_black",
        padding=(0, 1),
    )


def _head(snapshot: Snapshot, inner: int) -> Group:
    run = snapshot.run
    first = Table.grid(expand=True)
    first.add_column()
    first.add_column(justify="right")
    first.add_row(
        Text(run.strategy, f"bold {ACCENT}"),
        Text.assemble(_clock(run), "   moved so far ", (str(snapshot.moves), "bold")),
    )
    bar = ProgressBar(
        total=1.0,
        completed=completed(snapshot),
        width=inner,
        complete_style=ACCENT,
        finished_style=ACCENT,
    )
    line = Table.grid(expand=True)  # a bar alone does not end its line
    line.add_row(bar)
    return Group(first, line, _script(run))


def _title(run: RunView) -> str:
    return f"demo: the {run.scene}, strategy {run.number} of {run.of}"


def _clock(run: RunView) -> str:
    if run.scene == "replay":
        return f"{run.phase}  {run.elapsed:.0f} s of {run.duration:.0f} s"
    at_least = f", at least {run.duration:.0f} s" if run.phase == "draining" else ""
    return f"{run.phase}  {run.elapsed:.0f} s{at_least}"


def completed(snapshot: Snapshot) -> float:
    """Return the part that is done: of the replay by the clock, of the backlog by its records."""
    run = snapshot.run
    if run.scene == "backlog":
        return (snapshot.sent if run.phase == "filling" else snapshot.processed) / max(run.to_send, 1)
    return 0.0 if run.phase == "starting" else min(run.elapsed / run.duration, 1.0)


def _script(run: RunView) -> Text:
    """Show what is done, what is next or going on, what is later."""
    line = Text(no_wrap=True, overflow="ellipsis")
    for mark, what in _churn(run) if run.scene == "replay" else _stages(run):
        line.append(f"{mark} {what}", MARKS[mark])
        line.append("   ")
    return line


def _churn(run: RunView) -> Iterator[tuple[str, str]]:
    for place, act in enumerate(run.acts):
        if place < run.acted:
            yield "✓", str(act)
        elif place == run.acted and run.phase == "replaying":
            yield "▶", f"{act} in {max(act.at - run.elapsed, 0):.0f} s"
        else:
            yield "·", f"{act} at {act.at:g} s"
    yield "▶" if run.phase in {"draining", "done"} else "·", "drain"


def _stages(run: RunView) -> Iterator[tuple[str, str]]:
    now = BACKLOG_PHASES.index(run.phase)
    for place, what in enumerate(("fill", "members join", "drain")):
        yield "✓" if place < now else "▶" if place == now else "·", what


def _members(members: tuple[MemberView, ...]) -> Table:
    table = Table(box=None, pad_edge=False, expand=True, header_style="bright_black")
    table.add_column("member")
    table.add_column("pid", justify="right")
    table.add_column("state")
    table.add_column("partitions", ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column("lag", justify="right", min_width=6)
    table.add_column("records/s", justify="right")
    for member in members:
        owned = (
            Text(f"{len(member.partitions):>2}  ", "bold")
            if member.partitions
            else Text(" -", "bright_black")
        )
        owned.append(" ".join(map(str, member.partitions)), "not bold")
        gone = member.state in {"left", "killed"}
        table.add_row(
            Text.assemble(("██ ", member_colour(member.name)), member.name),
            str(member.pid or ""),
            Text(member.state, STATES[member.state]),
            owned,
            "" if gone else f"{member.lag:,}",
            "" if gone else f"{member.rate:.0f}",
        )
    return table


def band(owners: tuple[str | None, ...], inner: int) -> list[Text]:
    """Draw one cell a partition in its owner's colour: number above, owner below; grey where there is none.

    With more partitions than room for numbers, cells are blank, two lines high, and wrap.
    """
    size = max(min(inner // max(len(owners), 1), 6), 1)
    a_row = inner // size
    rows: list[Text] = []
    for start in range(0, len(owners), a_row):
        upper, lower = Text(no_wrap=True), Text(no_wrap=True)
        for partition, owner in enumerate(owners[start : start + a_row], start):
            colour = member_colour(owner) if owner else ""
            style = f"bold {ink_on(colour)} on {colour}" if owner else "bright_black on grey15"
            room = max(size - 1, 1)  # a gap of one column keeps neighbours of one owner apart
            labels = (f"{partition}", owner or "··") if room >= 2 else (" ", " ")
            for line, label in zip((upper, lower), labels, strict=True):
                line.append(label.center(room)[:room], style)
                line.append(" " * (size - room))
        rows += [upper, lower]
    return rows


def _lag_title(snapshot: Snapshot) -> str:
    now, peak = (snapshot.lag[-1], max(snapshot.lag)) if snapshot.lag else (0, 0)
    return f"lag {now:,} records, peak {peak:,}   sent {snapshot.sent:,}   processed {snapshot.processed:,}"


def _lag(history: tuple[int, ...], width: int, height: int) -> Text:
    return Text("\n".join(chart(history, width, height)), ACCENT, no_wrap=True)


def chart(values: tuple[int, ...], width: int, height: int) -> list[str]:
    """Draw values over time as columns of eighth blocks, the highest filling ``height`` lines.

    When there are more values than columns, a column shows the highest of several.
    """
    step = -(-len(values) // width) if values else 1
    columns = [max(values[start : start + step]) for start in range(0, len(values), step)]
    top = max([*columns, 1])
    lines: list[str] = []
    for line in range(height - 1, -1, -1):
        eighths = (round(value / top * height * 8) - line * 8 for value in columns)
        lines.append("".join(BLOCKS[min(max(level, 0), 8)] for level in eighths))
    return lines
