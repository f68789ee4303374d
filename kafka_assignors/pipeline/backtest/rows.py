"""The figures of a candidate as rows of a table, for terminal and page.  Pure."""

from __future__ import annotations

from kafka_assignors.pipeline.backtest.results import CandidateResult
from kafka_assignors.report.rows import Row


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} s"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _drain(one: CandidateResult) -> str:
    done = one["scenarios"] - one["failed"]
    if not done:
        return "-"
    if one["drain_s"] is None:
        return "never"
    part = "" if one["drained"] == done else f" ({one['drained']:,} of {done:,})"
    return f"{one['drain_s']:,.1f} s{part}"


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
        lambda r: _seconds(r["recovery_s"]),
        "The longest time after the start or a step of the churn until the lag was no more than before it.",
    ),
    Row(
        "largest lag",
        lambda r: _count(r["largest_lag"]),
        "Of the whole group at any moment, records.",
        "largest lag",
    ),
    Row("mean lag", lambda r: _count(r["mean_lag"]), "Of the whole group, over the history.", "mean lag"),
    Row(
        "time lag p50",
        lambda r: _seconds(r["time_lag_p50"]),
        "Age of the oldest record not read yet: the median over partitions and steps.",
        "time lag p50",
    ),
    Row(
        "time lag p99",
        lambda r: _seconds(r["time_lag_p99"]),
        "The same, of which one in a hundred is above.",
        "p99",
    ),
    Row(
        "partitions moved",
        lambda r: _count(r["moved"]),
        "Hand-overs: a partition was gained by another member than its last owner.",
        "moved",
    ),
    Row(
        "R-score",
        lambda r: "-" if r["r_score"] is None else f"{r['r_score']:,.2f}",
        "Arrival rates of the partitions handed over, added up, in members: 1.00 is as much load as one "
        "member can read.",
        "R-score",
    ),
    Row(
        "pause time",
        lambda r: _seconds(r["pause_s"]),
        "Member-seconds without reading, for joins and warm-ups.",
        "pause",
    ),
)
