"""Layout, axes and marks of all figures, as the plain objects that plotly.js takes.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

INK, SOFT, GRID = "#1F2933", "#616E7C", "#E4E7EB"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif"

NARROWEST = 280  # px; width of a plot's area on a page of three columns
LETTER = 6  # px; of a label
ROW = 17  # px; of labels above a plot
BELOW = 52  # px; from a plot to the legend below it: the numbers and the title of its axis


class Figure(TypedDict):
    """Input of ``Plotly.newPlot``."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class Mark(NamedTuple):
    """A labelled event at ``at`` seconds."""

    at: float
    label: str


def number(member: str) -> int:
    """Return the 3 of ``m3``, by which members are sorted."""
    return int(member.lstrip("m"))


def marked(layout: dict[str, Any], marks: Sequence[Mark]) -> dict[str, Any]:
    """Add a dotted vertical line with a label above the plot for each mark.

    Labels that would overlap get rows of their own, and a line down to the plot.
    """
    rows = label_rows(marks, layout["xaxis"]["range"])
    room = ROW * max(rows, default=0)
    layout["height"] += room
    layout["margin"]["t"] += room
    layout["shapes"] = [
        {
            "type": "line",
            "x0": mark.at,
            "x1": mark.at,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": INK, "width": 1.2, "dash": "dot"},
        }
        for mark in marks
    ]
    layout["annotations"] = [
        {
            "x": mark.at,
            "yref": "paper",
            "y": 1,
            "yanchor": "bottom",
            "xanchor": "center",
            "text": mark.label,
            "ax": 0,
            "ay": -ROW * row,
            "showarrow": row > 0,
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": INK,
            "bgcolor": "#FFFFFF",
            "borderpad": 0,
            "font": {"size": 12, "color": INK},
        }
        for mark, row in zip(marks, rows, strict=True)
    ]
    return layout


def label_rows(marks: Sequence[Mark], span: Sequence[float]) -> list[int]:
    """Return the row above a plot in which each label fits, 0 being the lowest; marks ascend."""
    scale = NARROWEST / (span[1] - span[0])
    ends: list[float] = []  # of the last label of each row, in px
    rows: list[int] = []
    for mark in marks:
        half = (len(mark.label) + 1) * LETTER / 2
        begin, end = mark.at * scale - half, mark.at * scale + half
        row = next((row for row, taken in enumerate(ends) if taken <= begin), len(ends))
        ends[row : row + 1] = [end]
        rows.append(row)
    return rows


def layout(*, height: int, bottom: int) -> dict[str, Any]:
    """Return the layout that all figures share."""
    return {
        "height": height,
        "margin": {"l": 64, "r": 16, "t": 30, "b": bottom},
        "paper_bgcolor": "#FFFFFF",
        "plot_bgcolor": "#FFFFFF",
        "font": {"family": FONT, "size": 13, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": 13}},
        "bargap": 0,
    }


def legend_below(layout: dict[str, Any], *, below: int = BELOW, **more: object) -> None:
    """Put the legend ``below`` px below the plot; plotly counts in heights of the plot."""
    margin = layout["margin"]
    plot = layout["height"] - margin["t"] - margin["b"]
    layout["legend"] = {"orientation": "h", "x": 0, "y": -below / plot, "yanchor": "top", **more}


def axis(title: str, span: Sequence[float] | None) -> dict[str, Any]:
    """Return an axis with a title, over ``span``, or over the data if it is None."""
    settings: dict[str, Any] = {
        "title": {"text": title, "font": {"size": 13, "color": SOFT}, "standoff": 8},
        "gridcolor": GRID,
        "linecolor": "#CBD2D9",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "#CBD2D9",
        "tickfont": {"size": 12, "color": SOFT},
        "automargin": True,
    }
    return settings | {"range": list(span)} if span is not None else settings
