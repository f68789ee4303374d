"""Pure: the page around the figures."""

from __future__ import annotations

import json
from html import escape

from kafka_assignors.demo.palette import strategy_colour
from kafka_assignors.demo.report import figures
from kafka_assignors.demo.report.figures import Figure
from kafka_assignors.demo.report.plotlyjs import plotly_js
from kafka_assignors.demo.report.style import CSS
from kafka_assignors.demo.results import Results, StrategyResult
from kafka_assignors.demo.rows import ROWS


def render(results: Results) -> str:
    """Draw the results of a demo as one HTML page.

    Args:
        results: as written to results.json; any number of strategies.

    Returns:
        The page, with plotly.js inside.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    names = [one["strategy"] for one in results["strategies"]]
    title = f"What a rebalance costs: {' vs '.join(names)}"
    drawn: dict[str, Figure] = {}
    body = "\n".join(
        (
            _header(results, title),
            _table(results),
            _steps(results),
            _grid(results, drawn),
            _together(results, drawn),
            _method(results),
        )
    )
    return "\n".join(
        (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{CSS}</style>",
            f"<script>{plotly_js()}</script></head><body><main>{body}</main>",
            f"<script>const figures = {_json(drawn)};{_DRAW}</script></body></html>",
        )
    )


_DRAW = """
const config = {responsive: true, displaylogo: false, displayModeBar: false};
for (const [id, figure] of Object.entries(figures)) Plotly.newPlot(id, figure.data, figure.layout, config);
"""


def _json(value: object) -> str:
    """Write JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("</", "<\\/")


def _header(results: Results, title: str) -> str:
    settings = results["settings"]
    produced = max((one["produced"] for one in results["strategies"]), default=0)
    return f"""<header><h1>{escape(title)}</h1>
<p class="lead">{produced:,} flights of 2013, replayed at {settings["speed"]:,.0f} times real time through
{settings["partitions"]} partitions into {settings["consumers"]} consumer processes, the same for each
strategy, while the group changes: {escape(_script(results))}.</p>
<p class="note">{escape(results["dataset"])} · keyed by destination · run of
{escape(results["started"])}</p></header>"""


def _script(results: Results) -> str:
    steps = results["strategies"][0]["steps"] if results["strategies"] else []
    words = [f"{figures.step_label(step)} at {step['at']:.0f} s" for step in steps]
    return ", ".join(words) or "nothing happens to it"


def _table(results: Results) -> str:
    heads = "".join(
        f"<th>{_dot(place)}{escape(one['strategy'])}</th>" for place, one in enumerate(results["strategies"])
    )
    lines = "".join(
        f"<tr><th>{escape(row.label)}</th>"
        + "".join(f"<td>{_value(row.show(one))}</td>" for one in results["strategies"])
        + f'<td class="meaning">{escape(row.meaning)}</td></tr>'
        for row in ROWS
    )
    return f"""<section><h2>In figures</h2><table class="figures"><thead><tr><th></th>{heads}
<th class="meaning">what it means</th></tr></thead><tbody>{lines}</tbody></table></section>"""


def _value(text: str) -> str:
    """Set what stands in brackets smaller."""
    main, bracket, rest = text.partition(" (")
    return escape(main) + (f" <small>({escape(rest)}</small>" if bracket else "")


def _steps(results: Results) -> str:
    """Show each step of the churn, one group of columns a strategy."""
    if not results["strategies"] or not results["strategies"][0]["steps"]:
        return ""
    columns = ("moved", "least", "rebalances", "settled after", "pause p50", "pause max")
    top = "".join(
        f'<th colspan="{len(columns)}" class="group">{_dot(place)}{escape(one["strategy"])}</th>'
        for place, one in enumerate(results["strategies"])
    )
    names = "".join(f"<th>{name}</th>" for name in columns) * len(results["strategies"])
    lines = ""
    for place, step in enumerate(results["strategies"][0]["steps"]):
        cells = "".join(_step_cells(one, place) for one in results["strategies"])
        lines += f"<tr><th>{escape(figures.step_label(step))}</th>{cells}</tr>"
    return f"""<section><h2>Step by step</h2><table class="steps"><thead><tr><th></th>{top}</tr>
<tr><th></th>{names}</tr></thead><tbody>{lines}</tbody></table></section>"""


def _step_cells(one: StrategyResult, place: int) -> str:
    step = one["steps"][place]
    settled = "never" if step["settled"] is None else f"{step['settled']:.1f} s"
    values = (
        str(step["moved"]),
        str(step["least_moves"]),
        str(step["rebalances"]),
        settled,
        f"{step['pause_p50']:.2f} s",
        f"{step['pause_max']:.2f} s",
    )
    return "".join(f"<td{' class=first' if i == 0 else ''}>{value}</td>" for i, value in enumerate(values))


def _grid(results: Results, drawn: dict[str, Figure]) -> str:
    """Set ownership and lag of each strategy side by side, on the same axes."""
    span = figures.time_span(results)
    top = 1.08 * max((one["peak_lag"] for one in results["strategies"]), default=1)
    partitions = results["settings"]["partitions"]
    owned = lagging = ""
    for place, one in enumerate(results["strategies"]):
        drawn[f"ownership-{place}"] = figures.ownership(one, partitions, span)
        drawn[f"lag-{place}"] = figures.lag(one, span, max(top, 1))
        owned += _card(f"ownership-{place}", one, place)
        lagging += _card(f"lag-{place}", one, place)
    return f"""<section><h2>Who owned what</h2>
<p>One band a partition, coloured by its owner. Grey: no owner. Hatched: the new owner is warming up.
The thin dark line: records were waiting because of a rebalance, and nobody processed any.</p>
<div class="grid">{owned}</div></section>
<section><h2>Lag</h2><p>Records sent and not yet processed, stacked by the member that owned them.
The fine comb is the data's own rhythm: a day of flights and a night without take about
{86400 / results["settings"]["speed"]:.1f} s.</p><div class="grid">{lagging}</div></section>"""


def _dot(place: int) -> str:
    return f'<span class="dot" style="background:{strategy_colour(place)}"></span>'


def _card(identifier: str, one: StrategyResult, place: int) -> str:
    return f"""<figure><figcaption>{_dot(place)}{escape(one["strategy"])}</figcaption>
<div id="{identifier}" class="plot"></div></figure>"""


def _together(results: Results, drawn: dict[str, Figure]) -> str:
    drawn["pauses"] = figures.pauses(results)
    drawn["moves"] = figures.moves(results, figures.time_span(results))
    return """<section><div class="grid"><div><h2>Pauses</h2>
<p>A point is one partition in one step. The axis is logarithmic.</p>
<figure><div id="pauses" class="plot"></div></figure></div>
<div><h2>Moves</h2><p>Partitions that went to another member, added up.</p>
<figure><div id="moves" class="plot"></div></figure></div></div></section>"""


def _method(results: Results) -> str:
    settings = results["settings"]
    usual = ", ".join(
        f"{escape(one['strategy'])} {one['usual_wait_p50']:.2f} s (p99 {one['usual_wait_p99']:.2f} s)"
        for one in results["strategies"]
    )
    return f"""<section class="method"><h2>How it was measured</h2><ul>
<li>Each member is a process of its own. It polls up to {settings["batch"]} records, spends
{settings["work_ms"]:g} ms on each, logs them, and commits: at least once. For a partition it really gained it
first spends {settings["warm_up_ms"]:g} ms, one partition after the other; one that comes straight back costs
nothing.</li>
<li>All numbers come from the event logs of the members and of the producer, compared offset by offset; what
was sent agrees with the broker's end offsets, and at the end everything was committed.</li>
<li>A pause begins with the last record of a partition processed before a rebalance, or when the next record
arrives, and ends with the first one processed after it. Two cooperative rounds of one step add up.
kafka-python hands out no records while a join is in flight, so cooperative members pause too.</li>
<li>Without a rebalance, records of a partition also wait while their member is busy with another of its
partitions; median: {usual}. That is part of the pauses above.</li>
<li>Heartbeats every {settings["heartbeat_ms"]} ms; after {settings["session_timeout_ms"] / 1000:g} s without
one the broker takes a member for dead.
Moves and least moves count the partitions of departed members too.</li>
</ul></section>"""
