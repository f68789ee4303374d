"""The HTML report of a back-test.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any, cast

from kafka_assignors.pipeline.backtest import figures
from kafka_assignors.pipeline.backtest.phrases import about_group, for_each_group, left_out, reasons, verdict
from kafka_assignors.pipeline.backtest.results import CandidateResult, PlotResult, Results
from kafka_assignors.pipeline.backtest.rows import ROWS
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.markup import card, figures_table, name
from kafka_assignors.report.page import html_page
from kafka_assignors.report.palette import NO_OWNER, strategy_colour

EXTRA = "spark"
"""The extra with plotly."""

MOST_BARS = 20
"""Maximum candidates in a figure; the table has all."""

_BARS = {
    "drain": (
        "drain time",
        "After the last record arrived.",
        "drain_s",
        "drain time (s)",
    ),
    "moves": ("partitions moved", "Hand-overs, mean per scenario.", "moved", "partitions moved"),
    "pauses": ("pause time", "Without reading, for joins and warm-ups.", "pause_s", "pause (member-seconds)"),
    "late": (
        "time lag p99",
        "One in a hundred is older.",
        "time_lag_p99",
        "time lag p99 (s)",
    ),
}


def render(results: Results) -> str:
    """Render a back-test as one HTML page.

    Args:
        results: the results, as in results.json.

    Returns:
        The page, with plotly.js inside.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    colours = _colours(results)
    drawn: dict[str, Figure] = {}
    parts = [
        _header(results),
        recommendation(results, colours),
        all_figures(results, colours),
        *(course(str(number), plot, colours, drawn) for number, plot in enumerate(results["plots"])),
        _bars(results, colours, drawn),
        _method(results),
    ]
    title = f"Back-test: {', '.join(group['group'] for group in results['groups'])}"
    return html_page(title, "<article>" + "\n".join(parts) + "</article>", drawn, extra=EXTRA)


def _as_row(candidate: CandidateResult) -> Any:
    """Make a row for the table, which shows ``strategy`` as the name."""
    return {**candidate, "strategy": candidate["candidate"]}


def _colours(results: Results) -> dict[str, str]:
    """Give each plotted candidate a colour; the others are grey."""
    plotted = {line["candidate"] for plot in results["plots"] for line in plot["lines"]}
    order = [candidate["candidate"] for candidate in results["candidates"]]
    own = [candidate for candidate in order if candidate in plotted]
    return dict.fromkeys(order, NO_OWNER) | {
        candidate: strategy_colour(number) for number, candidate in enumerate(own)
    }


def _header(results: Results) -> str:
    run = results["run"]
    about = [line for group in results["groups"] for line in about_group(group)]
    lines = _list([*about, *left_out(results)])
    return f"""<header><p class="eyebrow">Back-test</p><h1>{escape(verdict(results))}</h1>
<p class="lead">{run["scenarios"]:,} scenarios: {len(results["candidates"]):,} candidates, each simulated
through its own planner on what was recorded.</p><div class="method">{lines}</div>
<p class="note">{escape(run["history"])} · run of {escape(results["started"])} · {run["seconds"]:,.1f} s on
{run["cores"]} cores</p></header>"""


def all_figures(results: Results, colours: Mapping[str, str]) -> str:
    """Show the figures of all candidates as a table."""
    return figures_table(ROWS, [_as_row(candidate) for candidate in results["candidates"]], colours)


def recommendation(results: Results, colours: Mapping[str, str]) -> str:
    """Show the recommendation, and the reasons for the place of each candidate."""
    lines = ""
    for candidate in results["candidates"]:
        why = "; ".join(candidate["reasons"])
        place = "-" if candidate["place"] is None else str(candidate["place"])
        lines += f"""<tr><th>{place}</th><td class="who">{name(candidate["candidate"], colours)}</td>
<td class="meaning">{escape(why)}</td></tr>"""
    groups = for_each_group(results)
    by_group = f'<section><h2>For each group</h2><div class="method">{_list(groups)}</div></section>'
    notes = _list([*results["notes"], *results["failures"]])
    return f"""<section><h2>Recommendation</h2><p>{escape(" ".join(reasons(results)))}</p>
<table class="figures steps"><thead><tr><th>place</th><th></th><th class="meaning">why</th></tr></thead>
<tbody>{lines}</tbody></table><div class="method">{notes}</div></section>{by_group if groups else ""}"""


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def course(
    identifier: str,
    plot: PlotResult,
    colours: Mapping[str, str],
    drawn: dict[str, Figure],
    heading: str = "",
) -> str:
    """Show the course of one situation; its two figures are added to ``drawn``."""
    drawn[f"lag-{identifier}"] = figures.lag_over_time(plot, colours)
    drawn[f"time-lag-{identifier}"] = figures.time_lag_over_time(plot, colours)
    grey = "; grey (a click on its name): as it was recorded" if plot["recorded"] else ""
    return f"""<section><h2>{escape(heading or plot["load"])}</h2><p>{plot["members"]} members that read
{plot["service_rate"]:,.1f} records/s each, churn {escape(plot["churn"]) or "none"}: of the situations tried
the one with the most lag{grey}.</p>{card(f"lag-{identifier}", "Lag")}
<div class="wide">{card(f"time-lag-{identifier}", "Time lag")}</div></section>"""


def _bars(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    shown = results["candidates"][:MOST_BARS]
    rows = {row.label: row for row in ROWS}
    cards = ""
    for identifier, (label, what, figure, title) in _BARS.items():
        drawn[identifier] = figures.bars(
            shown,
            colours,
            value=_figure(figure),
            show=rows[label].show,
            title=title,
        )
        cards += f"""<div><h2>{escape(label.capitalize())}</h2><p>{escape(what)}</p>
{card(identifier)}</div>"""
    rest = len(results["candidates"]) - len(shown)
    more = f"<p>The best {MOST_BARS}; the table has {rest} more.</p>" if rest > 0 else ""
    return f"""<section>{more}<div class="grid">{cards}</div></section>"""


def _figure(name: str) -> Callable[[CandidateResult], float | None]:
    return lambda candidate: cast(Mapping[str, float | None], candidate)[name]


def _method(results: Results) -> str:
    return f"""<section class="method"><h2>How it was found</h2><ul>
<li>Each scenario is a discrete simulation: records arrive as they were recorded, members read at their rate,
and every rebalance goes through the planner the consumers run. Figures are means over scenarios.</li>
<li>Places do not come of these means: candidates are compared in each of the {results["judged_by"]:,}
situations that all were tried in (group, load, members, churn), by the ratio of their figures, and the
geometric mean of the ratios counts. So no group or load outweighs another.</li>
<li>What differs by less than 15 % does not count as different: simulated runs come that close to measured
ones. Goals decide in this order: all worked off, time lag, recovery, drain time, lag, then pauses and
moves.</li>
<li>All scenarios are in results.parquet, their courses in series.parquet.</li></ul></section>"""
