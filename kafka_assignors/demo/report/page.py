"""Pure: the page around the figures, with plotly's JavaScript inside."""

from __future__ import annotations

import importlib.util
import json
from html import escape

from kafka_assignors.demo.palette import strategy_colour
from kafka_assignors.demo.report import figures
from kafka_assignors.demo.report.figures import FONT, GRID, INK, SOFT, Figure
from kafka_assignors.demo.results import Results, StrategyResult
from kafka_assignors.demo.table import ROWS, seconds
from kafka_assignors.errors import MissingExtraError

MEANINGS_BESIDE = 4  # strategies that leave room for a column of text
SHORTEST_DAY = 0.5  # s; the lag is sampled four times a second, and shows no faster rhythm


def require_plotly() -> None:
    """Say now what `render` would say at the end.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    if importlib.util.find_spec("plotly") is None:
        raise MissingExtraError("demo", "plotly (which draws the report)")


def plotly_js() -> str:
    """Return plotly.js, about 5 MB: the one thing taken from plotly, which ships no types."""
    require_plotly()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


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
            f"<title>{escape(title)}</title><style>{_CSS}</style>",
            f"<script>{plotly_js()}</script></head><body><main>{body}</main>",
            f"<script>const figures = {_json(drawn)};{_DRAW}</script></body></html>",
        )
    )


_CSS = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: #F5F7FA; color: {INK}; font: 15px/1.55 {FONT}; }}
main {{ max-width: 1320px; margin: 0 auto; padding: 40px 24px 64px; }}
h1 {{ margin: 0 0 10px; font-size: 32px; line-height: 1.2; letter-spacing: -0.01em; }}
h2 {{ margin: 0 0 6px; font-size: 20px; line-height: 1.3; }}
p {{ margin: 0 0 14px; max-width: 900px; color: {SOFT}; }}
.lead {{ max-width: 900px; font-size: 17px; color: {INK}; }}
.note {{ font-size: 13px; }}
section {{ margin-top: 40px; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(520px, 1fr)); gap: 20px; }}
.grid > * {{ min-width: 0; }}
figure {{ margin: 0; padding: 14px 14px 6px; background: #FFF; border: 1px solid {GRID}; border-radius: 10px;
}} figcaption {{ padding: 0 4px 4px; font-weight: 600; font-size: 16px; }}
.dot {{ display: inline-block; width: 10px; height: 10px; margin-right: 8px; border-radius: 50%; }}
table {{ width: 100%; border-collapse: collapse; background: #FFF; border: 1px solid {GRID}; border-radius:
10px;
  overflow: hidden; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 9px 14px; text-align: right; border-top: 1px solid {GRID}; white-space: nowrap; }}
thead th {{ border-top: 0; color: {SOFT}; font-weight: 600; font-size: 13px; }}
tbody th, thead th:first-child {{ text-align: left; font-weight: 600; }}
.figures thead th {{ font-size: 15px; color: {INK}; }}
.figures td {{ font-weight: 600; font-size: 16px; }}
.steps td.who {{ text-align: left; }}
.steps tr.next th, .steps tr.next td {{ border-top-color: transparent; }}
.figures .meaning {{ width: 55%; text-align: left; white-space: normal; font-weight: 400; font-size: 14px;
  color: {SOFT}; }}
small {{ font-weight: 400; color: {SOFT}; }}
.many th, .many td {{ padding: 9px 8px; }}
.many thead th, .many td {{ white-space: normal; }}
.method li, .many + ul li {{ margin-bottom: 6px; max-width: 1000px; color: {SOFT}; }}
.method ul, .many + ul {{ padding-left: 20px; }}
@media (max-width: 1100px) {{ .grid {{ grid-template-columns: 1fr; }} }}
"""

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
    """Show the figures: a column a strategy beside their meanings, or a row a strategy above them."""
    if len(results["strategies"]) > MEANINGS_BESIDE:
        return _table_of_many(results)
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


def _table_of_many(results: Results) -> str:
    heads = "".join(f"<th>{escape(row.label)}</th>" for row in ROWS)
    lines = "".join(
        f"<tr><th>{_dot(place)}{escape(one['strategy'])}</th>"
        + "".join(f"<td>{_value(row.show(one))}</td>" for row in ROWS)
        + "</tr>"
        for place, one in enumerate(results["strategies"])
    )
    meanings = "".join(f"<li><b>{escape(row.label)}</b>: {escape(row.meaning)}</li>" for row in ROWS)
    return f"""<section><h2>In figures</h2><table class="many"><thead><tr><th></th>{heads}</tr></thead>
<tbody>{lines}</tbody></table><ul>{meanings}</ul></section>"""


def _value(text: str) -> str:
    """Set what stands in brackets smaller."""
    main, bracket, rest = text.partition(" (")
    return escape(main) + (f" <small>({escape(rest)}</small>" if bracket else "")


def _steps(results: Results) -> str:
    """Show each step of the churn, one row a strategy."""
    if not results["strategies"] or not results["strategies"][0]["steps"]:
        return ""
    columns = ("moved", "least", "rebalances", "settled after", "paused", "in all", "p50", "max")
    heads = "".join(f"<th>{name}</th>" for name in columns)
    lines = ""
    for index, step in enumerate(results["strategies"][0]["steps"]):
        for place, one in enumerate(results["strategies"]):
            name = "" if place else escape(figures.step_label(step))
            cells = "".join(f"<td>{value}</td>" for value in _step_cells(results, one, index))
            lines += f"""<tr{' class="next"' if place else ""}><th>{name}</th>
<td class="who">{_dot(place)}{escape(one["strategy"])}</td>{cells}</tr>"""
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
{_rhythm(results)}</p><div class="grid">{lagging}</div></section>"""


def _rhythm(results: Results) -> str:
    """Explain the comb in the lag, where there can be one: days that are long enough to see, and several."""
    settings = results["settings"]
    day = 86400 / settings["speed"]
    if not SHORTEST_DAY <= day <= settings["duration"] / 3:
        return ""
    return f"""The fine comb is the data's own rhythm: a day of flights and a night without take about
{day:.1f} s."""


def _dot(place: int) -> str:
    return f'<span class="dot" style="background:{strategy_colour(place)}"></span>'


def _card(identifier: str, one: StrategyResult, place: int) -> str:
    return f"""<figure><figcaption>{_dot(place)}{escape(one["strategy"])}</figcaption>
<div id="{identifier}" class="plot"></div></figure>"""


def _together(results: Results, drawn: dict[str, Figure]) -> str:
    drawn["pauses"] = figures.pauses(results)
    drawn["moves"] = figures.moves(results, figures.time_span(results))
    least = ", ".join(f"{escape(one['strategy'])} {one['least_moves']}" for one in results["strategies"])
    return f"""<section><div class="grid"><div><h2>Pauses</h2>
<p>A point is one partition in one step. The axis is logarithmic.</p>
<figure><div id="pauses" class="plot"></div></figure></div>
<div><h2>Moves</h2><p>Hand-overs to another member, added up; the least possible: {least}.</p>
<figure><div id="moves" class="plot"></div></figure></div></div></section>"""


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
