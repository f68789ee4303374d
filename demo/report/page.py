"""Renders the results of a demo: the answer first, then the scenes that ran, then the pipeline."""

from __future__ import annotations

from demo.failover import words as failover_words
from demo.failover.results import failover_faults
from demo.pipeline.results import pipeline_faults
from demo.results import Results, run_faults, runs_of
from demo.view.answer import RULE, answer
from demo.view.table import DRAIN_ROWS, ROWS, recorded_in_all
from kafka_assignors.pipeline.backtest import phrases
from kafka_assignors.pipeline.backtest.page import TEMPLATES
from kafka_assignors.pipeline.backtest.phrases import ROWS as BACKTEST_ROWS
from kafka_assignors.report.page import html_page, require_plotly
from kafka_assignors.report.palette import NO_OWNER, STRATEGIES, strategy_colour

EXTRA = "demo"
"""The extra with plotly and Jinja2."""

ACT_COLOURS = {"cold": STRATEGIES[1], "warm": STRATEGIES[0]}
"""Colours of the failover's acts."""


def render(results: Results) -> str:
    """Render the results of a demo as one HTML page.  Any scene, and the pipeline, may be missing."""
    require_plotly(EXTRA)
    from demo.report import figures, replay_figures

    colours = _colours(results)
    advice = answer(results) if results["strategies"] or results["backlog"] else None
    return html_page(
        "demo.html",
        "demo.report",
        TEMPLATES,
        figures=figures.drawn(results, colours, advice.chosen if advice else frozenset()),
        colours=colours,
        results=results,
        settings=results["settings"],
        answer=advice,
        rule=RULE,
        run_faults=run_faults,
        failover_faults=failover_faults,
        pipeline_faults=pipeline_faults,
        runs_of=runs_of,
        step_label=replay_figures.step_label,
        replay_rows=ROWS,
        drain_rows=DRAIN_ROWS,
        failover_words=failover_words,
        recorded_in_all=recorded_in_all,
        phrases=phrases,
        backtest_rows=BACKTEST_ROWS,
        scenes={"replay": "the replay", "backlog": "the backlog"},
    )


def _colours(results: Results) -> dict[str, str]:
    """Give each strategy one colour for the whole page.  Other candidates get unused colours, then grey."""
    names = [run["strategy"] for run in (*results["strategies"], *results["backlog"])]
    colours = {name: strategy_colour(place) for place, name in enumerate(dict.fromkeys(names))}
    free = iter([colour for colour in STRATEGIES if colour not in colours.values()])
    backtest = results["pipeline"] and results["pipeline"]["backtest"]
    for candidate in backtest["candidates"] if backtest else ():
        if candidate["candidate"] not in colours:
            colours[candidate["candidate"]] = next(free, NO_OWNER)
    return colours | ACT_COLOURS
