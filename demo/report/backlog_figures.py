"""Figures of the backlog, and the figure of lag, which the replay has too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from demo.results import DrainResult, LagResult
from kafka_assignors.report.drawing import Mark, figure, mark
from kafka_assignors.report.palette import INK, member_colour, member_number

TIME = "time since the start signal (s)"


def drawn(runs: Sequence[DrainResult], colours: Mapping[str, str]) -> dict[str, go.Figure]:
    """Draw all figures of the backlog; the lag of each strategy has the same axes."""
    end = max(time for run in runs for time in (run["drain"], run["bound"]))
    span = [0.0, round(1.06 * end + 0.1, 1)]
    top = max(1.04 * max(run["produced"] for run in runs), 1)
    bound = [Mark(runs[0]["bound"], f"lower bound {runs[0]['bound']:.1f} s")]  # equal in all runs
    figures = {"largest-lag": mark(largest(runs, colours, span), bound)}
    for place, run in enumerate(runs):
        figures[f"backlog-lag-{place}"] = mark(lag(run["lag"], TIME, span, top), bound)
    return figures


def largest(runs: Sequence[DrainResult], colours: Mapping[str, str], span: Sequence[float]) -> go.Figure:
    """Draw the lag of the member with the largest lag, one line a strategy, and that of an optimal plan."""
    least = {"x": [0.0, runs[0]["bound"]], "y": [runs[0]["least_largest"], 0]}
    return figure(
        *(
            go.Scatter(
                name=run["strategy"], x=run["lag"]["t"], y=run["largest"], line_color=colours[run["strategy"]]
            )
            for run in runs
        ),
        go.Scatter(
            name="lower bound", **least, line={"color": INK, "width": 1.6, "dash": "dash"}, hoverinfo="skip"
        ),
        height=380,
        hovermode="x unified",
        xaxis={"title_text": TIME, "range": span},
        yaxis={"title_text": "largest lag of a member (records)", "rangemode": "tozero"},
    )


def lag(series: LagResult, title: str, span: Sequence[float], top: float) -> go.Figure:
    """Draw the lag per member, stacked, so that the upper edge is the total.

    ``title`` and ``span`` are of the time axis, ``top`` of the lag axis.
    """
    areas = [
        (name, series["members"][name], member_colour(name))
        for name in sorted(series["members"], key=member_number)
    ]
    if any(series["unowned"]):
        areas.append(("no owner", series["unowned"], "#9AA5B1"))
    return figure(
        *(
            go.Scatter(
                name=name,
                x=series["t"],
                y=values,
                stackgroup="lag",
                line={"width": 0, "color": colour},
                fillcolor=colour,
            )
            for name, values, colour in areas
        ),
        go.Scatter(name="total", x=series["t"], y=series["total"], line={"color": INK, "width": 1.4}),
        height=340,
        legend_entrywidth=72,
        hovermode="x unified",
        xaxis={"title_text": title, "range": span},
        yaxis={"title_text": "lag (records)", "range": [0, top]},
    )
