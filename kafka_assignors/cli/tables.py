"""Tables of the commands: their columns, and their output to a terminal, a pipe or a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kafka_assignors.plan import shown

MEMBERS = 30
"""Maximum members in a table without ``--all``."""

ROWS = 20
"""Maximum rows in any other table without ``--all``."""

_WIDE = 10_000  # characters; wider than any line
_GAP = 3  # between two columns
_NARROW = 12  # characters; a name folded to fewer is unreadable
_LINES_A_ROW = 4  # assumed maximum height of a row; if rows are taller, lines of the screen stay empty
_UUID = re.compile(r"-([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![-\w])")


def show(lines: RenderableType) -> None:
    """Print at the terminal's width.  Lines to a pipe or a file are wrapped only if ``COLUMNS`` is set."""
    console = Console(highlight=False)
    if console.is_terminal and console.file.isatty():
        console.print(lines)
        return
    if "COLUMNS" not in os.environ:
        console.width = _WIDE
    with console.capture() as captured:
        console.print(lines)
    text = "\n".join(line.rstrip() for line in captured.get().splitlines())
    click.echo(text, color=console.is_terminal)  # with FORCE_COLOR also a pipe counts as a terminal


def screen(*, stderr: bool = False) -> Console:
    """Return a console that draws in place only where it can: not in a pipe, nor if TERM is dumb."""
    console = Console(stderr=stderr, highlight=False)
    can_draw = console.file.isatty() and not console.is_dumb_terminal
    return console if can_draw else Console(stderr=stderr, highlight=False, force_terminal=False)


def fit_rows(
    draw: Callable[[int], RenderableType], rows: int, console: Console, height: int, *, least: int = 1
) -> RenderableType:
    """Draw as many rows as fit into ``height`` lines: at most ``rows``, at least ``least``."""
    while True:
        lines = draw(rows)
        excess = len(console.render_lines(lines, pad=False)) - height
        if excess <= 0 or rows <= least:
            return lines
        rows = max(rows - max(excess // _LINES_A_ROW, 1), least)


class Columns:
    """Plain columns that never cut a number.  A ``>`` before a name marks a column of numbers.

    On a narrow terminal, headers of number columns are wrapped first, then texts are folded.  If texts would
    get narrower than 12 characters, each row becomes its first cell, with the other cells below.
    """

    def __init__(self, *names: str) -> None:
        self._names = [name.removeprefix(">") for name in names]
        self._are_numbers = [name.startswith(">") for name in names]
        self._rows: list[tuple[Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each column."""
        self._rows.append(tuple(Text(cell) if isinstance(cell, str) else cell for cell in cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(options.max_width)
        if widths is None:
            yield from self._blocks()
            return
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for name, is_number, width in zip(self._names, self._are_numbers, widths, strict=True):
            table.add_column(name, justify="right" if is_number else "left", overflow="fold", width=width)
        for row in self._rows:
            table.add_row(*row)
        yield table

    def _widths(self, room: int) -> list[int] | None:
        """Return the columns' widths; None if they do not fit."""
        cells = [
            max((cell_len(row[i].plain) for row in self._rows), default=0) for i in range(len(self._names))
        ]
        widths = [max(cell, len(name)) for cell, name in zip(cells, self._names, strict=True)]
        least = [
            max(cell if is_number else min(cell, _NARROW), *map(len, name.split()))
            for cell, name, is_number in zip(cells, self._names, self._are_numbers, strict=True)
        ]
        room -= _GAP * (len(widths) - 1)
        if sum(least) > room:
            return None
        for i, is_number in enumerate(self._are_numbers):
            if is_number:
                widths[i] -= min(widths[i] - least[i], max(sum(widths) - room, 0))
        while sum(widths) > room:
            widest = max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))
            widths[widest] -= 1
        return widths

    def _blocks(self) -> Iterable[RenderableType]:
        for first, *others in self._rows:
            yield first
            facts = (f"{name} {cell.plain}" for name, cell in zip(self._names[1:], others, strict=True))
            yield Padding(Text(", ".join(facts)), (0, 0, 0, 2), expand=False)


def more(count: int, *, hint: str = "; --all shows them") -> list[Text]:
    """Return a line with the number of rows left out of a table; nothing for 0."""
    return [] if count <= 0 else [Text(f"… and {count:,} more{hint}", style="dim")]


def counted(number: int, noun: str) -> str:
    """Return ``1 member`` or ``2,000 members``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(milliseconds: float) -> str:
    """Return ``450ms``, ``42s``, ``2m10s``, ``5h12m`` or ``3d4h``."""
    if round(milliseconds) < 1_000:
        return f"{milliseconds:.0f}ms"
    left = int(max(milliseconds, 1_000) / 1_000)
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, left = divmod(left, seconds)
        parts.append(f"{count}{unit}" if count else "")
    first = next(i for i, part in enumerate(parts) if part)
    return "".join(parts[first : first + 2])


def partition_name(topic: str, partition: int) -> str:
    """Return a name such as ``orders-7``, with unprintable characters of the topic escaped."""
    return f"{shown(topic)}-{partition}"


def cut_uuids(text: str) -> str:
    """Cut the UUIDs that a broker appends to member ids to 8 digits."""
    return _UUID.sub(r"-\1", text)


def short_names(member_ids: Iterable[str]) -> dict[str, str]:
    """Map member ids to names for tables, with the broker's UUID cut to 8 digits if names stay unique."""
    ids = list(member_ids)
    short = list(map(cut_uuids, ids))
    names = short if len(set(short)) == len(short) else ids
    return {member_id: shown(name) for member_id, name in zip(ids, names, strict=True)}
