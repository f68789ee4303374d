"""What tables of all commands have in common, and how they reach a terminal, a pipe or a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kafka_assignors.plan import shown

__all__ = [
    "MEMBERS",
    "ROWS",
    "Columns",
    "columns",
    "counted",
    "more",
    "partition_name",
    "short_names",
    "show",
]

MEMBERS = 30
"""Shown of a large group, unless all are asked for."""

ROWS = 20
"""Shown of other long tables, unless all are asked for."""

_WIDE = 10_000  # columns: no line is longer
_GAP = 3  # between two columns
_NARROW = 12  # a name folded to less cannot be read any more
_UUID = re.compile(r"-([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def show(lines: RenderableType) -> None:
    """On a terminal, as wide as that; into a pipe or a file a line is a line."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(lines)
        return
    if "COLUMNS" not in os.environ:
        console.width = _WIDE
    with console.capture() as captured:
        console.print(lines)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


class Columns:
    """Plain columns that never cut a number, whatever the terminal's width.

    Where room is short, first headers of numbers are wrapped, then names folded; where that would leave too
    little of the names, each row becomes a name and, below it, what its other columns say.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [name.lstrip(">") for name in names]
        self._numbers = [name.startswith(">") for name in names]
        self._rows: list[tuple[Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, a cell for each column."""
        self._rows.append(tuple(Text(cell) if isinstance(cell, str) else cell for cell in cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(options.max_width)
        if widths is None:
            yield from self._blocks()
            return
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for name, number, width in zip(self._names, self._numbers, widths, strict=True):
            table.add_column(name, justify="right" if number else "left", overflow="fold", width=width)
        for row in self._rows:
            table.add_row(*row)
        yield table

    def _widths(self, room: int) -> list[int] | None:
        """The columns' widths; None where there is no room for them."""
        cells = [
            max((cell_len(row[i].plain) for row in self._rows), default=0) for i in range(len(self._names))
        ]
        widths = [max(cell, len(name)) for cell, name in zip(cells, self._names, strict=True)]
        least = [
            max(cell if number else min(cell, _NARROW), *map(len, name.split()))
            for cell, name, number in zip(cells, self._names, self._numbers, strict=True)
        ]
        room -= _GAP * (len(widths) - 1)
        if sum(least) > room:
            return None
        for i, number in enumerate(self._numbers):
            if number:
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


def columns(*names: str) -> Columns:
    """Plain columns; those with ``>`` are numbers."""
    return Columns(names)


def more(count: int, *, hint: str = "; --all shows them") -> list[Text]:
    """The line below a table that lacks so many rows; none if it lacks none."""
    return [] if count <= 0 else [Text(f"… and {count:,} more{hint}", style="dim")]


def counted(number: int, what: str) -> str:
    """``1 member``, ``2,000 members``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def partition_name(topic: str, partition: int) -> str:
    """``orders-7``, whatever the topic's name has in it."""
    return f"{shown(topic)}-{partition}"


def short_names(member_ids: Iterable[str]) -> dict[str, str]:
    """Names for tables: of the UUID a broker puts behind a client's name 8 digits do, if they are enough."""
    ids = list(member_ids)
    short = [_UUID.sub(r"-\1", member_id) for member_id in ids]
    names = short if len(set(short)) == len(short) else ids
    return {member_id: shown(name) for member_id, name in zip(ids, names, strict=True)}
