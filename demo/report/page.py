"""Pure: the answer, the scenes' parts, and the page they make."""

from __future__ import annotations

from demo.report import answer_part, backlog_part, failover_part, pipeline_part, replay_part
from demo.results import Results
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.page import html_page
from kafka_assignors.report.palette import STRATEGIES, strategy_colour

EXTRA = "demo"
"""What brings plotly."""


def render(results: Results) -> str:
    """Draw the results of a demo as one HTML page.

    Args:
        results: as written to results.json; any of the scenes, with any number of strategies; with or without
            the pipeline.

    Returns:
        The page, with plotly.js inside.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    colours = _colours(results)
    drawn: dict[str, Figure] = {}
    parts = [("Which strategy", answer_part.part(results, colours, drawn))] if colours else []
    parts += [
        (scene.title(results), scene.part(results, colours, drawn))
        for scene, ran in ((replay_part, results["strategies"]), (backlog_part, results["backlog"]))
        if ran
    ]
    if (failover := results["failover"]) is not None:
        parts.append((failover_part.title(failover), failover_part.part(failover, drawn)))
    if (pipeline := results["pipeline"]) is not None:
        free = [colour for colour in STRATEGIES if colour not in colours.values()]
        colours = pipeline_part.with_candidates(pipeline, colours, free)
        parts.append((pipeline_part.title(pipeline), pipeline_part.part(pipeline, colours, drawn)))
    body = "\n".join(f"<article>{part}</article>" for _, part in parts)
    return html_page("; ".join(title for title, _ in parts), body, drawn, extra=EXTRA)


def _colours(results: Results) -> dict[str, str]:
    """Give each strategy one colour for the whole page, whatever scenes it is in."""
    names = [one["strategy"] for one in (*results["strategies"], *results["backlog"])]
    return {name: strategy_colour(place) for place, name in enumerate(dict.fromkeys(names))}
