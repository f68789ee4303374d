"""The results of a back-test as sentences and as rows of a table, for terminal and page.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_assignors.pipeline.backtest.results import CandidateResult, GroupResult, Results
from kafka_assignors.plan import listed
from kafka_assignors.report.rows import Row
from kafka_assignors.simulation.recommend import SAME_PLACE

_COMPARED = ("drain time", "largest lag", "time lag p99", "partitions moved")
"""Labels of the rows in which the best and the last candidate are compared."""


def _figure(name: str, shape: str, unit: str = "") -> Callable[[CandidateResult], str]:
    """Return a function that formats a figure, with its interval in brackets if there are replicates."""

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
        "Rank in the recommendation; candidates without a real difference share it.",
        "#",
    ),
    Row(
        "drain time",
        _drain,
        "From the arrival of the last record until all records were read. If some scenarios never drained, "
        "the number of those that did is in brackets.",
        "drain",
    ),
    Row(
        "recovery",
        _seconds("recovery_s"),
        "The longest time from the start or a step of the churn until the group settled, with no more lag "
        "than before.",
    ),
    Row(
        "largest lag",
        _figure("largest_lag", ",.0f"),
        "Largest lag of the whole group at any moment, records.",
        "largest lag",
    ),
    Row("mean lag", _figure("mean_lag", ",.0f"), "Mean lag of the whole group over the history.", "mean lag"),
    Row(
        "time lag p50",
        _seconds("time_lag_p50"),
        "Age of the oldest record not read yet: the median over partitions and time.",
        "time lag p50",
    ),
    Row(
        "time lag p99",
        _seconds("time_lag_p99"),
        "The same age: the 99th percentile over partitions and time.",
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
        "Sum of the arrival rates of the partitions handed over; 1.00: as much as one member can read.",
        "R-score",
    ),
    Row(
        "pause time",
        _seconds("pause_s"),
        "Member-seconds of live members without reading.",
        "pause",
    ),
)
"""The figures of a candidate."""


def verdict(results: Results) -> str:
    """Return the recommendation in one line."""
    use = _use(results["candidates"])
    return use if _all_agree(results) else f"{use} if all groups use the same"


def reasons(results: Results) -> list[str]:
    """Return the reasons for the first candidate in first place, a sentence each."""
    candidates = results["candidates"]
    best = _best(candidates)
    if not best:
        return ["No candidate succeeded in every situation."]
    why = _why(best[0])
    last = [candidate for candidate in candidates if candidate["place"] is not None][-1]
    # Means over several groups are not comparable.
    is_comparable = last["place"] != 1 and len(results["by_group"]) == 1
    if is_comparable and (difference := _compared(best[0], last)):
        why.append(f"Compared with the last, {last['candidate']}: {difference}.")
    if len(best) > 1:
        why.append(f"The {len(best)} candidates in first place do not really differ.")
    return why


def about_figures(results: Results) -> str:
    """Describe how the figures of a candidate follow from its scenarios."""
    if (replicates := results["replicates"]) == 1:
        return f"figures are means; candidates are ranked by {results['judged_by']:,} situations"
    return (
        f"figures are medians, and in brackets the 5th and 95th percentile, over {replicates:,} draws of the "
        "times of joins, leaves and kills"
    )


def for_each_group(results: Results) -> list[str]:
    """Return the recommendation for each group, or one line if all agree; none for a single group."""
    if len(results["by_group"]) < 2:
        return []
    if _all_agree(results):
        return ["The same for each group."]
    lines = []
    for group in results["by_group"]:
        why = [reason for candidate in _best(group["candidates"])[:1] for reason in _why(candidate)]
        lines.append(" ".join((f"{group['group']}: {_use(group['candidates'])}.", *why)))
    return lines


def left_out(results: Results) -> list[str]:
    """Return a line for each group that was not tried."""
    return [f"left out: {group['group']} ({group['why']})" for group in results["left_out"]]


def _best(candidates: Sequence[CandidateResult]) -> list[CandidateResult]:
    return [candidate for candidate in candidates if candidate["place"] == 1]


def _use(candidates: Sequence[CandidateResult]) -> str:
    best = [candidate["candidate"] for candidate in _best(candidates)]
    if not best:
        return "No candidate can be recommended"
    if len(best) == 1:
        return f"Use {best[0]}"
    return f"Use any of {listed(best, last='or')}"


def _all_agree(results: Results) -> bool:
    """Return whether the best candidates are the same for each group and for all groups together."""
    best = {
        frozenset(candidate["candidate"] for candidate in _best(candidates))
        for candidates in (results["candidates"], *(group["candidates"] for group in results["by_group"]))
    }
    return len(best) == 1


def _why(candidate: CandidateResult) -> list[str]:
    """Return the reasons for a place, a sentence each."""
    reasons = [reason for reason in candidate["reasons"] if not reason.startswith(SAME_PLACE)]
    return [f"{reason[0].upper()}{reason[1:]}." for reason in reasons]


def _compared(best: CandidateResult, last: CandidateResult) -> str:
    return "; ".join(
        f"{row.label} {row.show(best)}, not {row.show(last)}"
        for row in ROWS
        if row.label in _COMPARED and row.show(best) != row.show(last)
    )


def about_history(group: GroupResult) -> list[str]:
    """Describe a history and its unknown parts."""
    lines = [
        f"group {group['group']!r}: {group['partitions']:,} partitions, {group['records']:,} records in "
        f"{group['steps']:,} steps of {group['step_s']:g} s from {group['starts']}"
    ]
    if group["unknown"]:
        lines.append(
            f"{group['unknown']:.1%} of the steps of its partitions have unknown arrivals; "
            "they are interpolated in time"
        )
    partitions = {
        "have no known arrivals, which count as 0": group["never_known"],
        "appeared later than the others": group["appeared"],
        "ended long before the history did, and count as empty from then on": group["ended"],
    }
    return lines + [f"{count:,} of its partitions {what}" for what, count in partitions.items() if count]
