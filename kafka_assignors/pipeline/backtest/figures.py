"""Plots of the results of a back-test."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from kafka_assignors.pipeline.backtest.phrases import ROWS
from kafka_assignors.pipeline.backtest.results import CandidateResult, PlotResult, Results
from kafka_assignors.report.drawing import LOOK, Mark, bars, mark
from kafka_assignors.simulation import parse_churn

MOST_BARS = 20
"""Maximum number of candidates in a figure.  The table has all candidates."""

BARS = {
    "drain": ("drain time", "drain_s", "drain time (s)"),
    "moves": ("partitions moved", "moved", "partitions moved"),
    "pauses": ("pause time", "pause_s", "pause (member-seconds)"),
    "late": ("time lag p99", "time_lag_p99", "time lag p99 (s)"),
}
"""Id of a figure -> label of its row in the table, key in ``CandidateResult``, title of its axis."""

HOUR, DAY = 3600.0, 86400.0
IN_A_ROW, LEGEND_ROW = 3, 22  # the legend: entries in a row, height of a row (px)
DWARFS = 4  # the recorded lag is hidden at first if it is more than this many times the largest simulated one
WRAP = 30  # maximum characters of a line of a candidate's name
_WORDS = {"join": "a member joins", "leave": "one leaves", "kill": "one is killed"}


def drawn(results: Results, colours: Mapping[str, str]) -> dict[str, go.Figure]:
    """Return figures by id: the lag of each plotted situation over time, and bars of the best candidates."""
    shown = results["candidates"][:MOST_BARS]
    show = {row.label: row.show for row in ROWS}
    figures = {f"course-{number}": course(plot, colours) for number, plot in enumerate(results["plots"])}
    for name, (label, key, title) in BARS.items():
        figures[name] = bars(
            ["<br>".join(wrap(candidate["candidate"], WRAP, break_on_hyphens=False)) for candidate in shown],
            [candidate[key] for candidate in shown],  # type: ignore[literal-required]
            [_beside(show[label](candidate), candidate) for candidate in shown],
            [colours[candidate["candidate"]] for candidate in shown],
            title,
        )
    return figures


def _beside(text: str, candidate: CandidateResult) -> str:
    """Put an interval on a line of its own, because there is little room beside a bar."""
    return text.replace(" (", "<br>(") if candidate["intervals"] else text


def course(plot: PlotResult, colours: Mapping[str, str]) -> go.Figure:
    """Draw the group's lag and, below, its time lag: a line for each candidate, the recorded lag in grey."""
    end = max(line["t"][-1] for line in plot["lines"])
    unit, name = (DAY, "days") if end > 3 * DAY else (HOUR, "hours") if end > 2 * HOUR else (1.0, "s")
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.06)
    if plot["recorded"]:
        figure.add_trace(_recorded(plot, unit), 1, 1)
    for line in plot["lines"]:
        candidate = line["candidate"]
        look: dict[str, Any] = {
            "name": candidate,
            "x": [round(at / unit, 5) for at in line["t"]],
            "line_color": colours[candidate],
            "legendgroup": candidate,
        }
        figure.add_trace(go.Scatter(look, y=line["lag"]), 1, 1)
        figure.add_trace(go.Scatter(look, y=line["time_lag"], showlegend=False), 2, 1)
    rows = -(-(1 + len(plot["lines"])) // IN_A_ROW)
    figure.update_layout(template=LOOK, height=520 + LEGEND_ROW * rows)
    figure.update_xaxes(range=[0.0, round(1.01 * end / unit, 5)])
    figure.update_xaxes(title_text=f"time since the start of the history ({name})", row=2)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="lag (records)", row=1)
    figure.update_yaxes(title_text="time lag (s)", row=2)
    return mark(figure, [Mark(step.at / unit, _WORDS[step.kind]) for step in parse_churn(plot["churn"])])


def _recorded(plot: PlotResult, unit: float) -> go.Scatter:
    largest = max(max(line["lag"]) for line in plot["lines"])
    is_hidden = max(lag for _, lag in plot["recorded"]) > DWARFS * largest
    return go.Scatter(
        name="recorded",
        visible="legendonly" if is_hidden else True,  # a click on its name shows it
        x=[at / unit for at, _ in plot["recorded"]],
        y=[lag for _, lag in plot["recorded"]],
        line={"width": 1.4, "color": "#9AA5B1"},
        fill="tozeroy",
        fillcolor="#EDF0F3",
    )
