"""The result table: its rows, the same in the terminal and in the report; the terminal's table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich import box
from rich.table import Table

from kafka_assignors.demo.results import Results, StrategyResult


class Row(NamedTuple):
    """One figure of a run.

    Args:
        label: what it is.
        show: how it is written.
        meaning: one sentence that defines it.
    """

    label: str
    show: Callable[[StrategyResult], str]
    meaning: str


def seconds(value: float | None, digits: int = 2) -> str:
    """Write a time; ``-`` where there was nothing to measure."""
    return "-" if value is None else f"{value:.{digits}f} s"


ROWS = (
    Row(
        "records processed",
        lambda r: f"{r['processed']:,}",
        "Distinct records that a member worked on and logged.",
    ),
    Row("lost", lambda r: f"{r['lost']:,}", "Records the broker took and nobody ever processed; must be 0."),
    Row(
        "duplicates",
        lambda r: f"{r['duplicates']:,}",
        "Times a record was processed again, because it had not been committed: its member was killed, or "
        "the group was rebalancing and the broker refused the commit.",
    ),
    Row(
        "rebalances",
        lambda r: f"{r['rebalances']:,}",
        "Generations the group went through for the churn. Cooperative members take two where a partition is "
        "taken from a member that stays, one where it comes from one that is gone.",
    ),
    Row(
        "partitions moved",
        lambda r: f"{r['moved']:,} (least {r['least_moves']:,})",
        "Hand-overs: each time a partition went to another member than its last owner, so that one that goes "
        "and comes back counts twice; least is what an even share makes unavoidable.",
    ),
    Row(
        "partitions paused",
        lambda r: f"{r['paused']:,} (of {r['pausable']:,})",
        "Partitions whose records waited because of a rebalance while nobody processed any, added up over "
        "the steps; of: all partitions in all steps.",
    ),
    Row(
        "pause total", lambda r: seconds(r["pause_total"], 1), "These pauses added up, in partition-seconds."
    ),
    Row("pause p50", lambda r: seconds(r["pause_p50"]), "The median pause of the partitions that paused."),
    Row(
        "pause max",
        lambda r: seconds(r["pause_max"]),
        "The longest pause; after kill -9 it holds the session timeout, which no strategy can shorten.",
    ),
    Row("peak lag", lambda r: f"{r['peak_lag']:,}", "Most records that were waiting at one moment."),
    Row(
        "drain time",
        lambda r: f"{r['drain']:.1f} s" + (" (unfinished)" if r["fault"] else ""),
        "From the last record sent until the last one was processed for the first time.",
    ),
)


def summary(results: Results) -> Table:
    """Build the table: one row a figure, one column a strategy."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.add_column("")
    for one in results["strategies"]:
        table.add_column(one["strategy"], justify="right", style="bold")
    for row in ROWS:
        table.add_row(row.label, *(row.show(one) for one in results["strategies"]))
    return table
