"""The failover's table for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from demo.failover.results import FailoverResult
from demo.failover.words import ROWS, counted, megabytes, named, verdict

BRIEF = ("longest", "in all", "usual", "moved", "state", "waited", "balanced", "rounds")


def failover_tables(result: FailoverResult) -> list[Table | Text]:
    """A row an event, and what they say."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, title_justify="left", title_style="")
    table.title = (
        f"a stateful count fails over: {result['tasks']} tasks, a changelog of {megabytes(result['bytes'])};"
        " time without progress, records"
    )
    table.add_column("", no_wrap=True)
    rows = [row for row in ROWS if row.brief in BRIEF]
    for row in rows:
        table.add_column(row.brief, justify="right", style="bold")
    for event in result["events"]:
        table.add_row(named(event), *(row.show(event).partition(" (")[0] for row in rows))
    return [table, Text(f"{verdict(result)}\n{counted(result)}\n")]
