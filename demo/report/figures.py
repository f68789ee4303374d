"""All figures of a demo's report, and those of the answer and the failover."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import plotly.graph_objects as go

from demo.failover.results import EventResult
from demo.report import backlog_figures, replay_figures
from demo.results import Results
from demo.view.answer import standstill
from kafka_assignors.pipeline.backtest.figures import course
from kafka_assignors.report.drawing import bars, figure
from kafka_assignors.report.palette import INK

ACTS = {"cold": "cold", "warm": "with standbys and warm-ups"}
_NOT_MOVED = 0.45  # opacity


def drawn(results: Results, colours: Mapping[str, str], chosen: Collection[str]) -> dict[str, go.Figure]:
    """Draw the scenes that ran; ``chosen`` are the recommended strategies.

    Returns:
        Id of an element of the page -> its figure.
    """
    figures = answer(results, colours, chosen)
    if results["strategies"]:
        figures |= replay_figures.drawn(results)
    if results["backlog"]:
        figures |= backlog_figures.drawn(results["backlog"], colours)
    if results["failover"]:
        events = results["failover"]["events"]
        top = 1.15 * max((task["still"] for event in events for task in event["tasks"]), default=1.0)
        for kind in ("join", "kill"):
            figures[f"still-{kind}"] = still([e for e in events if e["kind"] == kind], colours, top)
    if (pipeline := results["pipeline"]) and pipeline["backtest"]:
        for place, plot in enumerate(pipeline["backtest"]["plots"]):
            figures[f"course-{place}"] = course(plot, colours)
    return figures


def answer(results: Results, colours: Mapping[str, str], chosen: Collection[str]) -> dict[str, go.Figure]:
    """Draw bars: each strategy's time to drain the backlog, and its standstill in the replay."""

    def panel(runs: Sequence[tuple[str, float, str]]) -> go.Figure:
        names, values, texts = zip(*runs, strict=True)
        labels = [f"<b>{name}</b>" if name in chosen else name for name in names]
        return bars(labels, values, texts, [colours[name] for name in names], "seconds")

    figures = {}
    if backlog := results["backlog"]:
        figures["answer-drain"] = panel(
            [
                (r["strategy"], r["drain"], "unfinished" if r["fault"] else f"{r['drain']:.1f} s")
                for r in backlog
            ]
        )
        figures["answer-drain"].add_vline(
            backlog[0]["bound"], line={"color": INK, "width": 1.6, "dash": "dot"}
        )
    if replay := [run for run in results["strategies"] if run["steps"]]:
        stops = [(run, standstill(run, results["settings"]["partitions"])) for run in replay]
        figures["answer-standstill"] = panel(
            [(run["strategy"], stop, f"{stop:.1f} s<br>{run['moved']} moves") for run, stop in stops]
        )
    return figures


def still(events: Sequence[EventResult], colours: Mapping[str, str], top: float) -> go.Figure:
    """Draw how long each task made no progress, cold beside warm; tasks that were not moved are paler."""
    timeout = max((event["session_timeout"] for event in events), default=0.0)
    result = figure(
        *(_tasks(event, colours[event["act"]]) for event in events),
        height=400,
        barmode="group",
        bargroupgap=0.05,
        xaxis={"title_text": "task", "dtick": 1},
        yaxis={"title_text": "longest time without progress (s)", "range": [0.0, top]},
    )
    if timeout:
        result.add_hline(timeout, line={"color": INK, "width": 1.2, "dash": "dash"})
    return result


def _tasks(event: EventResult, colour: str) -> go.Bar:
    name, tasks = ACTS[event["act"]], event["tasks"]
    return go.Bar(
        name=name,
        x=[task["task"] for task in tasks],
        y=[task["still"] for task in tasks],
        marker={"color": colour, "opacity": [1.0 if task["moved"] else _NOT_MOVED for task in tasks]},
        customdata=[[task["waited"], task["changelog"], task["usual"]] for task in tasks],
        hovertemplate="task %{x}: %{y:.2f} s, usually %{customdata[2]} s<br>waited for %{customdata[0]:,} "
        f"of %{{customdata[1]:,}} records<extra>{name}</extra>",
    )
