"""The rows of the result table, the same in the terminal and in the report: label, value, meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_assignors.demo.results import StrategyResult


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
        "Records done again, because their member was killed before it could commit them.",
    ),
    Row(
        "rebalances",
        lambda r: f"{r['rebalances']:,}",
        "Generations the group went through for the churn; a cooperative move takes two.",
    ),
    Row(
        "partitions moved",
        lambda r: f"{r['moved']:,} (least {r['least_moves']:,})",
        "Changes of owner between the settled states around each step; "
        "least is what an even share makes unavoidable.",
    ),
    Row(
        "pause p50",
        lambda r: f"{r['pause_p50']:.2f} s",
        "Median over partitions and steps of the time in which records waited because of a rebalance "
        "and nobody processed any.",
    ),
    Row(
        "pause max",
        lambda r: f"{r['pause_max']:.2f} s",
        "The longest such pause; after kill -9 it holds the session timeout, which no strategy can shorten.",
    ),
    Row("peak lag", lambda r: f"{r['peak_lag']:,}", "Most records that were waiting at one moment."),
    Row(
        "drain time",
        lambda r: f"{r['drain']:.1f} s",
        "From the last record sent until everything was processed.",
    ),
)
