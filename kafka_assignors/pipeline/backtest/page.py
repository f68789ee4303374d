"""The HTML report of a back-test."""

from __future__ import annotations

from kafka_assignors.pipeline.backtest import phrases
from kafka_assignors.pipeline.backtest.phrases import ROWS
from kafka_assignors.pipeline.backtest.results import Results
from kafka_assignors.report.page import html_page, require_plotly
from kafka_assignors.report.palette import NO_OWNER, strategy_colour

TEMPLATES = "kafka_assignors.pipeline.backtest"
"""The package with ``backtest.html``, and with ``backtest_parts.html`` for other pages."""


def render(results: Results) -> str:
    """Render a back-test as one HTML page.

    Raises:
        MissingExtraError: plotly or Jinja2 is not installed.
    """
    require_plotly("spark")
    from kafka_assignors.pipeline.backtest import figures

    colours = _colours(results)
    return html_page(
        "backtest.html",
        TEMPLATES,
        figures=figures.drawn(results, colours),
        colours=colours,
        results=results,
        phrases=phrases,
        about=[line for group in results["groups"] for line in phrases.about_history(group)],
        backtest_rows=ROWS,
        bars=figures.BARS,
        most_bars=figures.MOST_BARS,
    )


def _colours(results: Results) -> dict[str, str]:
    """Give each plotted candidate a colour; the others are grey."""
    plotted = {line["candidate"] for plot in results["plots"] for line in plot["lines"]}
    order = [candidate["candidate"] for candidate in results["candidates"]]
    own = [candidate for candidate in order if candidate in plotted]
    return dict.fromkeys(order, NO_OWNER) | {name: strategy_colour(number) for number, name in enumerate(own)}
