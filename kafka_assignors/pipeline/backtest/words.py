"""Pure: a back-test in plain words, for terminal and page."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_assignors.pipeline.backtest.results import CandidateResult, GroupResult, Results
from kafka_assignors.pipeline.backtest.rows import ROWS

__all__ = ["about_group", "for_each_group", "left_out", "reasons", "verdict"]

NO_DIFFERENCE = "no real difference to "
MOST_NAMES = 3
TELLING = ("drain time", "largest lag", "time lag p99", "partitions moved")


def verdict(results: Results) -> str:
    """What to use, in one line."""
    said = _use(results["candidates"])
    return said if _all_agree(results) else f"{said}, if one is to do for all groups"


def reasons(results: Results) -> list[str]:
    """Why, a sentence each; of several that are as good those of the first."""
    candidates = results["candidates"]
    best = [one for one in candidates if one["place"] == 1]
    if not best:
        return ["Every candidate failed in some scenario."]
    found = _why(best[0])
    last = [one for one in candidates if one["place"] is not None][-1]
    if last["place"] != 1 and len(results["by_group"]) == 1:  # means over groups would say little
        found.append(f"beside the last one, {last['candidate']}: {_beside(best[0], last)}")
    if len(best) > 1:
        found.append(f"between the {len(best)} in first place there is no real difference")
    return [_sentence(reason) for reason in found]


def for_each_group(results: Results) -> list[str]:
    """What to use for each group: a line each, or one where it is the same; none of a single group."""
    if len(results["by_group"]) < 2:
        return []
    if _all_agree(results):
        return ["The same for each group."]
    found = []
    for group in results["by_group"]:
        best = [one for one in group["candidates"] if one["place"] == 1]
        why = [_sentence(reason) for one in best[:1] for reason in _why(one)]
        found.append(" ".join((f"{group['group']}: {_use(group['candidates'])}.", *why)))
    return found


def left_out(results: Results) -> list[str]:
    """Groups that were not tried, a line each."""
    return [f"left out: {one['group']} ({one['why']})" for one in results["left_out"]]


def _use(candidates: Sequence[CandidateResult]) -> str:
    best = [one["candidate"] for one in candidates if one["place"] == 1]
    if not best:
        return "No candidate can be recommended"
    if len(best) == 1:
        return f"Use {best[0]}"
    names = ", ".join(best[:MOST_NAMES])
    more = f" or {len(best) - MOST_NAMES} more" if len(best) > MOST_NAMES else ""
    return f"Use any of {names}{more}"


def _all_agree(results: Results) -> bool:
    """Whether each group's best are those of all together."""
    best = [
        {one["candidate"] for one in candidates if one["place"] == 1}
        for candidates in (results["candidates"], *(group["candidates"] for group in results["by_group"]))
    ]
    return all(one == best[0] for one in best)


def _why(one: CandidateResult) -> list[str]:
    return [reason for reason in one["reasons"] if not reason.startswith(NO_DIFFERENCE)]


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


def _beside(best: CandidateResult, last: CandidateResult) -> str:
    """The figures that matter most, of both."""
    return "; ".join(
        f"{row.label} {row.show(best)}, not {row.show(last)}"
        for row in ROWS
        if row.label in TELLING and row.show(best) != row.show(last)
    )


def about_group(one: GroupResult) -> list[str]:
    """What a history is, and what of it is not known."""
    found = [
        f"group {one['group']!r}: {one['partitions']:,} partitions, {one['records']:,} records in "
        f"{one['steps']:,} steps of {one['step_s']:g} s from {one['starts']}"
    ]
    if one["unknown"]:
        found.append(f"{one['unknown']:.1%} of its arrivals are not known; they are interpolated in time")
    if one["never_known"]:
        found.append(
            f"of {one['never_known']:,} of its partitions nothing is known; they are taken for empty"
        )
    if one["appeared"]:
        found.append(f"{one['appeared']:,} of its partitions were first seen later than the others")
    return found
