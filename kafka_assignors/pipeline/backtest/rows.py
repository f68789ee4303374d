"""The figures of a candidate as rows of a table, for terminal and page.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_assignors.pipeline.backtest.results import CandidateResult
from kafka_assignors.report.rows import Row


def _figure(name: str, shape: str, unit: str = "") -> Callable[[CandidateResult], str]:
    """Format a figure, with its interval in brackets if there are replicates."""

    def show(candidate: CandidateResult) -> str:
        values: dict[str, Any] = {**candidate}
        if values[name] is None:
            return "-"
        text = f"{values[name]:{shape}}{unit}"
        if name not in candidate["intervals"]:
            return text
        low, high = candidate["intervals"][name]
        return f"{text} ({low:{shape}} to {high:{shape}})"

    return show


def _seconds(name: str) -> Callable[[CandidateResult], str]:
    return _figure(name, ",.1f", " s")


def _drain(candidate: CandidateResult) -> str:
    done, drained = candidate["scenarios"] - candidate["failed"], candidate["drained"]
    if not done:
        return "-"
    if candidate["drain_s"] is None:
        return "never"
    text = _seconds("drain_s")(candidate)
    if drained == done:
        return text
    part = f"{drained:,} of {done:,})"
    return f"{text[:-1]}, {part}" if text.endswith(")") else f"{text} ({part}"


ROWS: tuple[Row[CandidateResult], ...] = (
    Row(
        "place",
        lambda r: "-" if r["place"] is None else str(r["place"]),
        "In the recommendation; shared by those between which there is no real difference.",
        "#",
    ),
    Row(
        "drain time",
        _drain,
        "From the last record that arrived until all were read; in brackets: in how many scenarios they "
        "were, where not in all.",
        "drain",
    ),
    Row(
        "recovery",
        _seconds("recovery_s"),
        "The longest time after the start or a step of the churn until the lag was no more than before it.",
    ),
    Row(
        "largest lag",
        _figure("largest_lag", ",.0f"),
        "Of the whole group at any moment, records.",
        "largest lag",
    ),
    Row("mean lag", _figure("mean_lag", ",.0f"), "Of the whole group, over the history.", "mean lag"),
    Row(
        "time lag p50",
        _seconds("time_lag_p50"),
        "Age of the oldest record not read yet: the median over partitions and steps.",
        "time lag p50",
    ),
    Row(
        "time lag p99",
        _seconds("time_lag_p99"),
        "The same, of which one in a hundred is above.",
        "p99",
    ),
    Row(
        "partitions moved",
        _figure("moved", ",.0f"),
        "Hand-overs: a partition was gained by another member than its last owner.",
        "moved",
    ),
    Row(
        "R-score",
        _figure("r_score", ",.2f"),
        "Arrival rates of the partitions handed over, added up, in members: 1.00 is as much load as one "
        "member can read.",
        "R-score",
    ),
    Row(
        "pause time",
        _seconds("pause_s"),
        "Member-seconds without reading, for joins and warm-ups.",
        "pause",
    ),
)
