"""Plots of the results of a back-test.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_assignors.pipeline.backtest.results import CandidateResult, LineResult, PlotResult
from kafka_assignors.report.drawing import INK, Figure, Mark, axis, layout, legend_below, marked
from kafka_assignors.simulation import parse

HOUR, DAY = 3600.0, 86400.0
ROOM_FOR_TEXT = 1.3  # width of the axis, as a multiple of the longest bar
IN_A_ROW, ENTRY, LEGEND_ROW = 3, 330, 22  # of a legend: px of an entry, px of a row
DWARFS = 4  # a recorded lag this many times the largest simulated one is hidden at first
WRAP = 30  # maximum letters of a line of a candidate's name
_WORDS = {"join": "a member joins", "leave": "one leaves", "kill": "one is killed"}


def lag_over_time(plot: PlotResult, colours: Mapping[str, str]) -> Figure:
    """Draw the lag of the whole group, one line a candidate, and the recorded one in grey."""
    drawn = _over_time(plot, colours, lambda line: line["lag"], "lag (records)", "%{y:,.0f} records")
    if plot["recorded"]:
        unit, _ = _unit(plot)
        largest = max((max(line["lag"]) for line in plot["lines"]), default=0.0)
        dwarfs = max(lag for _, lag in plot["recorded"]) > DWARFS * largest
        drawn["data"].insert(
            0,
            {
                "type": "scatter",
                "mode": "lines",
                "name": "recorded",
                "visible": "legendonly" if dwarfs else True,  # a click on its name shows it
                "x": [time / unit for time, _ in plot["recorded"]],
                "y": [lag for _, lag in plot["recorded"]],
                "line": {"width": 1.4, "color": "#9AA5B1"},
                "fill": "tozeroy",
                "fillcolor": "#EDF0F3",
                "hovertemplate": "%{y:,.0f} records<extra>recorded</extra>",
            },
        )
    return drawn


def time_lag_over_time(plot: PlotResult, colours: Mapping[str, str]) -> Figure:
    """Draw the age of the oldest unread record, one line a candidate."""
    return _over_time(plot, colours, lambda line: line["time_lag"], "time lag (s)", "%{y:,.1f} s")


def _over_time(
    plot: PlotResult,
    colours: Mapping[str, str],
    values: Callable[[LineResult], Sequence[float]],
    title: str,
    hover: str,
) -> Figure:
    unit, name = _unit(plot)
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": line["candidate"],
            "x": [round(time / unit, 5) for time in line["t"]],
            "y": list(values(line)),
            "line": {"width": 2, "color": colours[line["candidate"]]},
            "hovertemplate": f"{hover}<extra>{line['candidate']}</extra>",
        }
        for line in plot["lines"]
    ]
    end = max((line["t"][-1] for line in plot["lines"]), default=1.0) / unit
    rows = -(-(1 + len(data)) // IN_A_ROW)
    look = layout(height=340 + LEGEND_ROW * rows, bottom=64 + LEGEND_ROW * rows)
    look |= {
        "xaxis": axis(f"time since the start of the history ({name})", [0.0, round(1.01 * end, 5)])
        | {"showgrid": False},
        "yaxis": axis(title, None) | {"rangemode": "tozero", "tickformat": ","},
    }
    legend_below(look, entrywidth=ENTRY, traceorder="normal")
    marks = [Mark(step.at / unit, _WORDS[step.kind]) for step in parse(plot["churn"])]
    return {"data": data, "layout": marked(look, marks)}


def _unit(plot: PlotResult) -> tuple[float, str]:
    """Choose seconds, hours or days by the length of the plot."""
    end = max((line["t"][-1] for line in plot["lines"]), default=1.0)
    return (DAY, "days") if end > 3 * DAY else (HOUR, "hours") if end > 2 * HOUR else (1.0, "s")


def bars(
    candidates: Sequence[CandidateResult],
    colours: Mapping[str, str],
    *,
    value: Callable[[CandidateResult], float | None],
    show: Callable[[CandidateResult], str],
    title: str,
) -> Figure:
    """Draw one figure of each candidate as a bar, the best candidate on top.

    Args:
        candidates: in the order of their places.
        colours: colour of each candidate.
        value: returns the figure; None: no bar.
        show: returns the text beside the bar.
        title: title of the axis.
    """
    values = [value(candidate) for candidate in candidates]
    longest = max((number for number in values if number is not None), default=0.0)
    drawn: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": [wrapped(candidate["candidate"]) for candidate in candidates],
        "x": [number or 0.0 for number in values],
        "marker": {"color": [colours[candidate["candidate"]] for candidate in candidates]},
        "text": [show(candidate) for candidate in candidates],
        "textposition": "outside",
        "textfont": {"size": 12, "color": INK},
        "cliponaxis": False,
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "showlegend": False,
    }
    look = layout(height=90 + 40 * len(candidates), bottom=56)
    look |= {
        "bargap": 0.3,
        "xaxis": axis(title, [0.0, max(ROOM_FOR_TEXT * longest, 1.0)]) | {"showgrid": False},
        "yaxis": axis("", None) | {"autorange": "reversed", "showgrid": False},
    }
    del look["yaxis"]["title"]
    return {"data": [drawn], "layout": look}


def wrapped(candidate: str) -> str:
    """Wrap a long name, with its parameters below it."""
    if len(candidate) <= WRAP:
        return candidate
    name, bracket, rest = candidate.partition(" (")
    parameters = (bracket + rest).strip()
    lines = [name]
    for word in parameters.split(" "):
        if lines[-1] is not name and len(lines[-1]) + 1 + len(word) <= WRAP:
            lines[-1] += f" {word}"
        elif word:
            lines.append(word)
    return "<br>".join(lines)
