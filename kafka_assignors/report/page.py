"""The page around a report's parts.  It contains plotly.js, so it needs no network.  Pure."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from html import escape

from kafka_assignors.errors import MissingExtraError
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.markup import CSS


def require_plotly(extra: str) -> None:
    """Check early that `html_page` can run.

    Args:
        extra: the extra that installs plotly for the caller.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    if importlib.util.find_spec("plotly") is None:
        raise MissingExtraError(extra, "plotly (which draws the report)")


def plotly_js() -> str:
    """Return plotly.js, about 5 MB."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def html_page(title: str, body: str, figures: Mapping[str, Figure], *, extra: str) -> str:
    """Return a report as one page.

    Args:
        title: of the page, as text.
        body: as HTML.
        figures: id of an element -> the figure drawn in it.
        extra: the extra that installs plotly for the caller.

    Returns:
        The page, with plotly.js inside.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    require_plotly(extra)
    return "\n".join(
        (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{CSS}</style>",
            f"<script>{plotly_js()}</script></head><body><main>{body}</main>",
            f"<script>const figures = {_json(figures)};{_DRAW}</script></body></html>",
        )
    )


_DRAW = """
const config = {responsive: true, displaylogo: false, displayModeBar: false};
for (const [id, figure] of Object.entries(figures)) Plotly.newPlot(id, figure.data, figure.layout, config);
"""


def _json(value: object) -> str:
    """Return JSON that cannot end its script element."""
    return json.dumps(value, separators=(",", ":")).replace("</", "<\\/")
