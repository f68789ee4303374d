"""Pure: what the page says of the backlog."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from demo.report import backlog_figures as figures
from demo.report.lag_figure import lag
from demo.results import Results
from demo.view.table import DRAIN_ROWS
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.markup import card, figures_table, name

MOST_IN_A_TITLE = 3  # strategies


def title(results: Results) -> str:
    """Say what is compared."""
    names = [one["strategy"] for one in results["backlog"]]
    what = " vs ".join(names) if len(names) <= MOST_IN_A_TITLE else f"{len(names)} strategies"
    return f"How long a backlog takes: {what}"


def part(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    """Write the part of the page; its figures are added to ``drawn``."""
    return "\n".join(
        (
            _header(results),
            figures_table(DRAIN_ROWS, results["backlog"], colours),
            _together(results, colours, drawn),
            _each(results, colours, drawn),
            _method(results),
        )
    )


def _header(results: Results) -> str:
    settings, runs = results["settings"], results["backlog"]
    return f"""<header><p class="eyebrow">The backlog</p><h1>{escape(title(results))}</h1>
<p class="lead">{runs[0]["produced"]:,} flights of 2013 wait in {settings["partitions"]} partitions, keyed by
destination and so unevenly spread, before {settings["consumers"]} consumer processes begin, all at once. A
record costs each of them {settings["work_ms"]:g} ms. Who has most decides when all is done.</p>
<p class="note">{escape(results["dataset"])} · the same data for each strategy · run of
{escape(results["started"])}</p></header>"""


def _together(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    runs = results["backlog"]
    drawn["drain-times"] = figures.drain_times(runs, colours)
    drawn["largest-lag"] = figures.largest(runs, colours)
    drawn["loads"] = figures.loads(runs)
    return f"""<section><div class="grid"><div><h2>Drain time</h2>
<p>Until the last record was processed. No plan can end left of the line.</p>
{card("drain-times")}</div>
<div><h2>Largest lag</h2><p>Of the member that has most at the moment. Broken: a plan on the bound.</p>
{card("largest-lag")}</div></div></section>
<section><h2>Load at the start</h2><p>What each member had to do when all began.</p>
{card("loads")}</section>"""


def _each(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    """Set the lag per member of each strategy side by side, on the same axes."""
    runs = results["backlog"]
    span, top = figures.time_span(runs), max(1.04 * max(one["produced"] for one in runs), 1)
    cards = ""
    for place, one in enumerate(runs):
        drawn[f"backlog-lag-{place}"] = lag(one["lag"], figures.bound_marks(runs), figures.TIME, span, top)
        cards += card(f"backlog-lag-{place}", name(one["strategy"], colours))
    return f"""<section><h2>Who still has work</h2><p>Records not yet processed, stacked by the member that
owned them: a colour that ends early is a member that idles.</p>
<div class="grid three">{cards}</div></section>"""


def _method(results: Results) -> str:
    settings, runs = results["settings"], results["backlog"]
    undrained = [f" {escape(one['strategy'])} was {escape(one['fault'])}." for one in runs if one["fault"]]
    end = "".join(undrained) or " At the end everything was processed and committed."
    return f"""<section class="method"><h2>How it was measured</h2><ul>
<li>Each strategy has a topic and a group of its own. The backlog is there before the first member starts,
and nothing of it is committed. Members join, share the partitions and warm up for them
({settings["warm_up_ms"]:g} ms each), but get no records before all have done so; then all are told to go at
once. The time counts from there.</li>
<li>The lower bound is max(records / members, records of the heaviest partition) times
{settings["work_ms"]:g} ms. What polling, logging and committing cost (up to {settings["batch"]} records at a
time) is not in it.</li>
<li>All numbers come from the event logs of the members and of the producer, compared offset by offset; what
was sent agrees with the broker's end offsets.{end}</li>
</ul></section>"""
