"""What tables of all commands have in common, and how they reach a terminal, a pipe or a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import click
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from kafka_assignors.plan import shown

__all__ = ["columns", "counted", "short_names", "show"]

_WIDE = 10_000  # columns: no line is longer
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


def columns(*names: str) -> Table:
    """Plain columns; those with ``>`` are numbers.  Names that do not fit are folded, never cut."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in names:
        name = column.lstrip(">")
        if name != column:
            table.add_column(name, justify="right", min_width=max(map(len, name.split())))
        else:
            table.add_column(name, overflow="fold")
    return table


def counted(number: int, what: str) -> str:
    """``1 member``, ``2,000 members``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def short_names(member_ids: Iterable[str]) -> dict[str, str]:
    """Names for tables: of the UUID a broker puts behind a client's name 8 digits do, if they are enough."""
    ids = list(member_ids)
    short = [_UUID.sub(r"-\1", member_id) for member_id in ids]
    names = short if len(set(short)) == len(short) else ids
    return {member_id: shown(name) for member_id, name in zip(ids, names, strict=True)}
