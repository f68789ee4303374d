"""Pure: the page around the scenes' parts, with plotly's JavaScript inside."""

from __future__ import annotations

import importlib.util
import json
from html import escape

from kafka_assignors.demo.palette import strategy_colour
from kafka_assignors.demo.report import backlog_part, replay_part
from kafka_assignors.demo.report.drawing import Figure
from kafka_assignors.demo.report.markup import CSS
from kafka_assignors.demo.results import Results
from kafka_assignors.errors import MissingExtraError


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
        results: as written to results.json; either scene, or both, with any number of strategies.

    Returns:
        The page, with plotly.js inside.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    colours = _colours(results)
    drawn: dict[str, Figure] = {}
    parts = [
        (scene.title(results), scene.part(results, colours, drawn))
        for scene, ran in ((replay_part, results["strategies"]), (backlog_part, results["backlog"]))
        if ran
    ]
    body = "\n".join(f"<article>{part}</article>" for _, part in parts)
    title = "; ".join(title for title, _ in parts)
    return "\n".join(
        (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{CSS}</style>",
            f"<script>{plotly_js()}</script></head><body><main>{body}</main>",
            f"<script>const figures = {_json(drawn)};{_DRAW}</script></body></html>",
        )
    )


def _colours(results: Results) -> dict[str, str]:
    """Give each strategy one colour for the whole page, whatever scenes it is in."""
    names = [one["strategy"] for one in (*results["strategies"], *results["backlog"])]
    return {name: strategy_colour(place) for place, name in enumerate(dict.fromkeys(names))}


_DRAW = """
const config = {responsive: true, displaylogo: false, displayModeBar: false};
for (const [id, figure] of Object.entries(figures)) Plotly.newPlot(id, figure.data, figure.layout, config);
"""


def _json(value: object) -> str:
    """Write JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("</", "<\\/")
