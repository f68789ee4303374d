"""Pure: the recommendation of a demo and its reasons, in three sentences; for terminal and page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from demo.pipeline.results import PipelineResult
from demo.results import Results, StrategyResult, run_faults, runs_of

TIE = 0.10
"""A time counts as equal to the shortest one if it is longer by at most this fraction of it."""

UNEVEN = 1.25
"""Drain times cannot be compared if members worked more than this many times as fast in one as in another."""

RULE = (
    f"Times within {100 * TIE:.0f} % of the shortest count as equal (a tie). If standstills are equal, fewer "
    "moved partitions win. Standstill: seconds in which a partition's records waited because of a rebalance; "
    "summed over the replay, averaged over the partitions."
)
_MOST_NAMED = 2  # other strategies that a sentence names one by one


class Answer(NamedTuple):
    """The recommendation of a demo, and its reasons."""

    headline: str
    sentences: tuple[str, str, str]  # from the backlog, from the replay, from the back-test
    chosen: frozenset[str]  # the recommended strategies; empty where none is


def answer(results: Results) -> Answer:
    """Recommend strategies from the scenes that ran; at least one strategy must have run."""
    partitions = results["settings"]["partitions"]
    runs = runs_of(results).values()
    failed = {run["strategy"] for run in runs if run_faults(run, partitions)}
    names = {run["strategy"] for run in runs} - failed
    drains = {run["strategy"]: run["drain"] for run in results["backlog"] if run["strategy"] in names}
    stops = {
        run["strategy"]: standstill(run, partitions)
        for run in results["strategies"]
        if run["strategy"] in names and run["steps"]
    }
    # A report is written after each run, so a scene may lack some strategies; then it decides nothing.
    comparable = drains.keys() == names and not _slowed(results, names)
    by_drain = _best(drains) if comparable else []
    by_stop = _calmest(results, _best(stops)) if stops.keys() == names else []
    both = [name for name in by_drain if name in by_stop] if by_drain and by_stop else by_drain or by_stop
    return Answer(
        _headline(names, both, by_drain, by_stop),
        (
            _from_backlog(results, drains, names)
            + (f" Failed, and so not judged: {', '.join(sorted(failed))}." if failed else ""),
            _from_replay(results, stops, by_stop),
            _from_backtest(results["pipeline"], both or [*by_drain, *by_stop]),
        ),
        frozenset(both or [*by_drain, *by_stop]),
    )


def standstill(run: StrategyResult, partitions: int) -> float:
    """Return how long a partition stood still in all, in seconds: the mean over the partitions."""
    return run["pause_total"] / partitions


def _best(times: Mapping[str, float]) -> list[str]:
    """Return the name with the shortest time, and those that tie with it."""
    return [name for name, time in times.items() if time <= (1 + TIE) * min(times.values())]


def _calmest(results: Results, names: list[str]) -> list[str]:
    """Keep the names whose runs moved the fewest partitions."""
    moved = {run["strategy"]: run["moved"] for run in results["strategies"]}
    return [name for name in names if moved[name] == min(moved[other] for other in names)]


def _headline(names: set[str], both: list[str], by_drain: list[str], by_stop: list[str]) -> str:
    if not names:
        return "No strategy can be recommended: each of them failed"
    if len(names) == 1:
        return f"Only {min(names)} can be judged: there is nothing to compare it with"
    if both and by_drain and by_stop:
        return f"Use {' or '.join(both)}{': they tie' if len(both) > 1 else ''}"
    places = ((by_drain, "for uneven load"), (by_stop, "where members come and go"))
    advice = ", ".join(f"{' or '.join(best)} {where}" for best, where in places if best)
    return f"Use {advice}" if advice else "The runs do not decide between the strategies"


def _slowed(results: Results, names: set[str]) -> bool:
    """Return whether members worked much faster in some drains than in others.

    Every record costs the same work, so the drain time divided by the work of the largest load shows how
    fast the members were.
    """
    work_s = results["settings"]["work_ms"] / 1e3
    paces = [
        run["drain"] / (run["largest_load"] * work_s)
        for run in results["backlog"]
        if run["strategy"] in names and run["largest_load"] * work_s > 0
    ]
    return bool(paces) and max(paces) > UNEVEN * min(paces)


def _from_backlog(results: Results, drains: Mapping[str, float], names: set[str]) -> str:
    if not drains:
        return "No strategy drained a backlog here, so nothing shows how well plans share uneven load."
    best, others, worst = _ranked(drains)
    if _slowed(results, names):
        return (
            "Members worked at different speeds in these drains, so their times do not decide: "
            f"{drains[best]:.1f} s with {best}, {others}."
        )
    records = results["backlog"][0]["produced"]
    text = f"{best} drained the backlog of {records:,} flights in {drains[best]:.1f} s"
    if not others:
        return f"{text}."
    largest = {run["strategy"]: run["largest_load"] for run in results["backlog"]}
    loads = f"{largest[best]:,} of them, that of {worst} {largest[worst]:,}"
    return f"{text}, against {others}; its busiest member had {loads}."


def _from_replay(results: Results, stops: Mapping[str, float], by_stop: list[str]) -> str:
    if not stops:
        return "No group changed in a replay here, so nothing shows what a rebalance costs."
    best, others, worst = _ranked(stops, by_stop)
    steps = max(len(run["steps"]) for run in results["strategies"])
    times = "once" if steps == 1 else f"{steps} times"
    time = f"{stops[best]:.1f} s on average with {best}"
    text = f"While the group changed {times}, a partition stood still for {time}"
    if not others:
        return f"{text}."
    moved = {run["strategy"]: run["moved"] for run in results["strategies"]}
    return f"{text}, against {others}; {best} moved {moved[best]} partitions, {worst} {moved[worst]}."


def _ranked(times: Mapping[str, float], first: Collection[str] = ()) -> tuple[str, str, str]:
    """Return the fastest name, the others' times as text, and the slowest name; those in ``first`` first."""
    best, *others = sorted(times, key=lambda name: (name not in first, times[name]))
    tied = _best(times)
    if len(others) > _MOST_NAMED:
        others = [others[0], others[-1]]
    shown = [f"{times[name]:.1f} s with {name}{' (a tie)' if name in tied else ''}" for name in others]
    between = " to " if len(times) > _MOST_NAMED + 1 else " and "
    return best, between.join(shown), others[-1] if others else ""


def _from_backtest(pipeline: PipelineResult | None, chosen: list[str]) -> str:
    if pipeline is None:
        return "The pipeline did not run, so no back-test compares the strategies that did not run here."
    if (backtest := pipeline["backtest"]) is None:
        why = f": {pipeline['fault']}" if pipeline["fault"] else ""
        return f"The pipeline made no back-test{why}."
    tried = f"The back-test of {len(backtest['candidates'])} strategies and settings on the recorded load"
    best = [candidate for candidate in backtest["candidates"] if candidate["place"] == 1]
    if not best:
        return f"{tried} has no winner: each failed in some scenario."
    names = " or ".join(candidate["candidate"] for candidate in best)
    together = " over both scenes together" if len(backtest["by_group"]) > 1 else ""
    agrees = {candidate["strategy"] for candidate in best} & set(chosen)
    verb = "agrees" if agrees else "disagrees" if chosen else "decides"
    return f"{tried} {verb}: it puts {names} first{together}."
