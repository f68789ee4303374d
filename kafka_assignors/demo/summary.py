"""The result table of the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from kafka_assignors.demo.results import Results
from kafka_assignors.demo.rows import ROWS


def summary(results: Results) -> Table:
    """Build the table: one row a figure, one column a strategy."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.add_column("")
    for one in results["strategies"]:
        table.add_column(one["strategy"], justify="right", style="bold")
    for row in ROWS:
        table.add_row(row.label, *(row.show(one) for one in results["strategies"]))
    return table
