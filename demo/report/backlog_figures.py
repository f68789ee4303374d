"""Pure: the backlog's results in, its figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demo.results import DrainResult
from kafka_assignors.report.drawing import (
    INK,
    SOFT,
    Figure,
    Mark,
    axis,
    layout,
    legend_below,
    marked,
    number,
)
from kafka_assignors.report.palette import member_colour

ROOM_FOR_TEXT = 1.4  # of the longest bar
TIME = "time since the word \u201cgo\u201d (s)"


def time_span(runs: Sequence[DrainResult]) -> list[float]:
    """Return the time axis that all figures share, in seconds."""
    end = max((time for one in runs for time in (one["drain"], one["bound"])), default=1.0)
    return [0.0, round(1.06 * end + 0.1, 1)]


def bound_marks(runs: Sequence[DrainResult]) -> list[Mark]:
    """Mark the lower bound, which is the same for all: they drain the same data."""
    return [Mark(runs[0]["bound"], f"lower bound {runs[0]['bound']:.1f} s")] if runs else []


def _height(runs: Sequence[DrainResult]) -> int:
    """Return that of the two figures that stand side by side."""
    return max(380, 110 + 46 * len(runs))


def drain_times(runs: Sequence[DrainResult], colours: Mapping[str, str]) -> Figure:
    """Draw the drain time of each strategy as a bar, and the bound as a line that none can be left of."""
    names = [one["strategy"] for one in runs]
    end = max((one["drain"] for one in runs), default=1.0)
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": names,
        "x": [one["drain"] for one in runs],
        "marker": {"color": [colours[name] for name in names]},
        "text": [_beside_the_bound(one) for one in runs],
        "textposition": "outside",
        "textfont": {"size": 13, "color": INK},
        "cliponaxis": False,
        "hovertemplate": "%{y}: %{x:.2f} s<extra></extra>",
        "showlegend": False,
    }
    look = layout(height=_height(runs), bottom=60)
    look |= {
        "bargap": 0.28,
        "xaxis": axis("drain time (s)", [0.0, max(ROOM_FOR_TEXT * end, 0.1)]) | {"showgrid": False},
        "yaxis": axis("", None) | {"autorange": "reversed", "showgrid": False},
    }
    del look["yaxis"]["title"]
    return {"data": [bars], "layout": marked(look, bound_marks(runs))}


def _beside_the_bound(one: DrainResult) -> str:
    times = "" if one["ratio"] is None else f" \u00b7 {one['ratio']:.2f} \u00d7"
    return f"{one['drain']:.1f} s{times}"


def largest(runs: Sequence[DrainResult], colours: Mapping[str, str]) -> Figure:
    """Draw the lag of the member that has most, one line a strategy, and that of a plan on the bound."""
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": one["strategy"],
            "x": one["lag"]["t"],
            "y": one["largest"],
            "line": {"width": 2.5, "color": colours[one["strategy"]]},
            "hovertemplate": "%{y:,}<extra>" + one["strategy"] + "</extra>",
        }
        for one in runs
    ]
    if runs:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "lower bound",
                "x": [0.0, runs[0]["bound"]],
                "y": [runs[0]["least_largest"], 0],
                "line": {"width": 1.6, "color": INK, "dash": "dash"},
                "hoverinfo": "skip",
            }
        )
    look = layout(height=_height(runs), bottom=100)
    look |= {
        "hovermode": "x unified",
        "xaxis": axis(TIME, time_span(runs)) | {"showgrid": False},
        "yaxis": axis("largest lag of a member (records)", None) | {"rangemode": "tozero", "tickformat": ","},
    }
    legend_below(look)
    return {"data": data, "layout": marked(look, bound_marks(runs))}


def loads(runs: Sequence[DrainResult]) -> Figure:
    """Draw what each member had to do when it began: a group of bars a strategy; the least as a line."""
    members = sorted({member for one in runs for member in one["shares"]}, key=number)
    names = [one["strategy"] for one in runs]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": member,
            "x": names,
            "y": [one["shares"][member]["load"] for one in runs],
            "customdata": [one["shares"][member]["partitions"] for one in runs],
            "marker": {"color": member_colour(member)},
            "hovertemplate": "%{y:,} records in %{customdata} partitions<extra>" + member + "</extra>",
        }
        for member in members
    ]
    look = layout(height=330, bottom=66)
    look["margin"]["r"] = 100  # of the line's label
    look |= {
        "barmode": "group",
        "bargap": 0.25,
        "bargroupgap": 0.06,
        "xaxis": axis("", None) | {"showgrid": False},
        "yaxis": axis("load at the start (records)", None) | {"rangemode": "tozero", "tickformat": ","},
    }
    legend_below(look, below=34, entrywidth=72)
    del look["xaxis"]["title"]
    if runs:
        least = runs[0]["least_largest"]
        look["shapes"] = [
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": least,
                "y1": least,
                "line": {"color": INK, "width": 1.6, "dash": "dash"},
            }
        ]
        look["annotations"] = [
            {
                "xref": "paper",
                "x": 1,
                "xanchor": "left",
                "xshift": 6,
                "y": least,
                "align": "left",
                "text": f"least largest<br>{least:,}",
                "showarrow": False,
                "font": {"size": 12, "color": SOFT},
            }
        ]
    return {"data": data, "layout": look}
