"""Pure: what the page says of the replay."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from demo.report import replay_figures as figures
from demo.report.lag_figure import lag
from demo.results import Results, StrategyResult
from demo.view.table import ROWS
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.markup import card, figures_table, name
from kafka_assignors.report.rows import seconds

SHORTEST_DAY = 0.5  # s; the lag is sampled four times a second, and shows no faster rhythm


def title(results: Results) -> str:
    """Say what is compared."""
    return f"What a rebalance costs: {' vs '.join(one['strategy'] for one in results['strategies'])}"


def part(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    """Write the part of the page; its figures are added to ``drawn``."""
    return "\n".join(
        (
            _header(results),
            figures_table(ROWS, results["strategies"], colours),
            _steps(results, colours),
            _grid(results, colours, drawn),
            _together(results, colours, drawn),
            _method(results),
        )
    )


def _header(results: Results) -> str:
    settings = results["settings"]
    produced = max((one["produced"] for one in results["strategies"]), default=0)
    return f"""<header><p class="eyebrow">The replay</p><h1>{escape(title(results))}</h1>
<p class="lead">{produced:,} flights of 2013, replayed at {settings["speed"]:,.0f} times real time through
{settings["partitions"]} partitions into {settings["consumers"]} consumer processes, the same for each
strategy, while the group changes: {escape(_script(results))}.</p>
<p class="note">{escape(results["dataset"])} · keyed by destination · run of
{escape(results["started"])}</p></header>"""


def _script(results: Results) -> str:
    steps = results["strategies"][0]["steps"] if results["strategies"] else []
    words = [f"{figures.step_label(step)} at {step['at']:.0f} s" for step in steps]
    return ", ".join(words) or "nothing happens to it"


def _steps(results: Results, colours: Mapping[str, str]) -> str:
    """Show each step of the churn, one row a strategy."""
    if not results["strategies"] or not results["strategies"][0]["steps"]:
        return ""
    columns = ("moved", "least", "rebalances", "settled after", "paused", "in all", "p50", "max")
    heads = "".join(f"<th>{column}</th>" for column in columns)
    lines = ""
    for index, step in enumerate(results["strategies"][0]["steps"]):
        for place, one in enumerate(results["strategies"]):
            label = "" if place else escape(figures.step_label(step))
            cells = "".join(f"<td>{value}</td>" for value in _step_cells(results, one, index))
            lines += f"""<tr{' class="next"' if place else ""}><th>{label}</th>
<td class="who">{name(one["strategy"], colours)}</td>{cells}</tr>"""
    return f"""<section><h2>Step by step</h2><p>Paused: how many partitions, then their pauses in all (in
partition-seconds), the median and the longest.</p><table class="steps"><thead><tr>
<th></th><th></th>{heads}</tr></thead><tbody>{lines}</tbody></table></section>"""


def _step_cells(results: Results, one: StrategyResult, index: int) -> tuple[str, ...]:
    step = one["steps"][index]
    return (
        str(step["moved"]),
        str(step["least_moves"]),
        str(step["rebalances"]),
        "never" if step["settled"] is None else f"{step['settled']:.1f} s",
        f"{step['paused']} of {results['settings']['partitions']}",
        seconds(step["pause_total"], 1),
        seconds(step["pause_p50"]),
        seconds(step["pause_max"]),
    )


def _grid(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    """Set ownership and lag of each strategy side by side, on the same axes."""
    span = figures.time_span(results)
    top = 1.08 * max((one["peak_lag"] for one in results["strategies"]), default=1)
    partitions = results["settings"]["partitions"]
    owned = lagging = ""
    for place, one in enumerate(results["strategies"]):
        drawn[f"ownership-{place}"] = figures.ownership(one, partitions, span)
        marks = figures.churn_marks(one["steps"])
        drawn[f"lag-{place}"] = lag(one["lag"], marks, figures.TIME, span, max(top, 1))
        caption = name(one["strategy"], colours)
        owned += card(f"ownership-{place}", caption)
        lagging += card(f"lag-{place}", caption)
    columns = "grid three" if len(results["strategies"]) > 2 else "grid"
    return f"""<section><h2>Who owned what</h2>
<p>One band a partition, coloured by its owner. Grey: no owner. Hatched: the new owner is warming up.
The thin dark line: records were waiting because of a rebalance, and nobody processed any.</p>
<div class="{columns}">{owned}</div></section>
<section><h2>Lag</h2><p>Records sent and not yet processed, stacked by the member that owned them.
{_rhythm(results)}</p><div class="{columns}">{lagging}</div></section>"""


def _rhythm(results: Results) -> str:
    """Explain the comb in the lag, where there can be one: days that are long enough to see, and several."""
    settings = results["settings"]
    day = 86400 / settings["speed"]
    if not SHORTEST_DAY <= day <= settings["duration"] / 3:
        return ""
    return f"""The fine comb is the data's own rhythm: a day of flights and a night without take about
{day:.1f} s."""


def _together(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    drawn["pauses"] = figures.pauses(results, colours)
    drawn["moves"] = figures.moves(results, figures.time_span(results), colours)
    least = ", ".join(f"{escape(one['strategy'])} {one['least_moves']}" for one in results["strategies"])
    return f"""<section><div class="grid"><div><h2>Pauses</h2>
<p>A point is one partition in one step. The axis is logarithmic.</p>
{card("pauses")}</div>
<div><h2>Moves</h2><p>Hand-overs, added up; the least possible: {least}.</p>
{card("moves")}</div></div></section>"""


def _method(results: Results) -> str:
    settings = results["settings"]
    usual = ", ".join(
        f"{escape(one['strategy'])} {seconds(one['usual_wait_p50'])} (p99 {seconds(one['usual_wait_p99'])})"
        for one in results["strategies"]
    )
    late = ", ".join(
        f"{escape(one['strategy'])} {one['lateness'] * 1e3:.0f} ms" for one in results["strategies"]
    )
    undrained = [
        f" {escape(one['strategy'])} was {escape(one['fault'])}."
        for one in results["strategies"]
        if one["fault"]
    ]
    end = "".join(undrained) or " At the end everything was processed and committed."
    return f"""<section class="method"><h2>How it was measured</h2><ul>
<li>Each member is a process of its own. It polls up to {settings["batch"]} records, spends
{settings["work_ms"]:g} ms on each, logs each when it is done, and commits: at least once. For a
partition it really gained it first spends {settings["warm_up_ms"]:g} ms, one partition after the other; one
that comes straight back costs nothing.</li>
<li>All numbers come from the event logs of the members and of the producer, compared offset by offset; what
was sent agrees with the broker's end offsets.{end}</li>
<li>The latest record was sent so long after it was due: {late}.</li>
<li>A pause begins with the last record of a partition processed before a rebalance, or when the next record
arrives, and ends with the first one processed after it. Two cooperative rounds of one step add up. It counts
for the kill that took the partition's owner, else for the step before the rebalance.
kafka-python hands out no records while a join is in flight, so cooperative members pause too.</li>
<li>Without a rebalance, records of a partition also wait while their member is busy with another of its
partitions; median: {usual}. That is part of the pauses above.</li>
<li>Heartbeats every {settings["heartbeat_ms"]} ms; after {settings["session_timeout_ms"] / 1000:g} s without
one the broker takes a member for dead.
Moves and least moves count the partitions of departed members too; what goes to another member and comes
back is two moves.</li>
</ul></section>"""
