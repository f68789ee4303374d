"""The look of all figures: a plotly template, and the parts that several pages use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from kafka_assignors.report.palette import FONT, GRID, INK, SOFT

NARROWEST = 280  # px; width of a plot's area on a page of three columns
LETTER = 6  # px; width of a letter in a label
ROW = 17  # px; height of a row of labels above a plot
ROOM_FOR_TEXT = 1.4  # width of the axis of bars, as a multiple of the longest bar

_EDGE = "#CBD2D9"
_AXIS = {
    "title": {"font": {"size": 13, "color": SOFT}, "standoff": 8},
    "tickfont": {"size": 12, "color": SOFT},
    "gridcolor": GRID,
    "linecolor": _EDGE,
    "tickcolor": _EDGE,
    "ticks": "outside",
    "showline": True,
    "zeroline": False,
    "automargin": True,
}
LOOK = go.layout.Template(
    data={
        "scatter": [{"mode": "lines", "line": {"width": 2}}],
        "bar": [{"textposition": "outside", "textfont": {"size": 13, "color": INK}, "cliponaxis": False}],
    },
    layout={
        "margin": {"l": 64, "r": 16, "t": 30, "b": 56},
        "paper_bgcolor": "#FFFFFF",
        "plot_bgcolor": "#FFFFFF",
        "font": {"family": FONT, "size": 13, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": 13}, "namelength": -1},
        "bargap": 0.28,
        "xaxis": {**_AXIS, "showgrid": False},
        "yaxis": {**_AXIS, "tickformat": ",", "hoverformat": ",.3~f"},
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
        },
        "annotationdefaults": {
            "font": {"size": 12, "color": INK},
            "bgcolor": "#FFFFFF",
            "borderpad": 0,
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": INK,
        },
    },
)


class Mark(NamedTuple):
    """A labelled event at ``at``, in the unit of the x axis."""

    at: float
    label: str


def figure(*traces: object, **layout: object) -> go.Figure:
    """Draw traces with the look of all figures."""
    return go.Figure(list(traces), {"template": LOOK, **layout})


def bars(
    names: Sequence[str],
    values: Sequence[float | None],
    texts: Sequence[str],
    colours: Sequence[str],
    title: str,
) -> go.Figure:
    """Draw a horizontal bar for each name, from top to bottom, with a text beside it; no bar for None."""
    longest = max((value for value in values if value is not None), default=0.0)
    return figure(
        go.Bar(
            orientation="h",
            y=names,
            x=[value or 0.0 for value in values],
            text=texts,
            marker_color=colours,
            hovertemplate="%{y}: %{text}<extra></extra>",
        ),
        height=70 + 40 * len(names),
        margin_t=10,
        xaxis={"title_text": title, "range": [0.0, max(ROOM_FOR_TEXT * longest, 0.1)]},
        yaxis={"autorange": "reversed", "showgrid": False, "ticks": ""},
    )


def mark(drawn: go.Figure, marks: Sequence[Mark]) -> go.Figure:
    """Add a dotted vertical line with a label above the plot for each mark.

    A label that would overlap another moves to a higher row, with a line down to the plot.
    Marks must ascend.  The figure must have a height and a range of x.
    """
    rows = label_rows(marks, drawn.layout.xaxis.range)
    room = ROW * max(rows, default=0)
    drawn.update_layout(height=drawn.layout.height + room, margin_t=LOOK.layout.margin.t + room)
    for (at, label), row in zip(marks, rows, strict=True):
        drawn.add_vline(at, line={"color": INK, "width": 1.2, "dash": "dot"})
        place = {"x": at, "y": 1, "yref": "paper", "yanchor": "bottom"}
        drawn.add_annotation(place, text=label, showarrow=row > 0, ax=0, ay=-ROW * row)
    return drawn


def label_rows(marks: Sequence[Mark], span: Sequence[float]) -> list[int]:
    """Return the row of each label above the plot: the lowest with room for it; 0 is next to the plot.

    Marks must ascend.
    """
    scale = NARROWEST / (span[1] - span[0])
    ends: list[float] = []  # right end of each row's last label, px
    rows: list[int] = []
    for at, label in marks:
        half = (len(label) + 1) * LETTER / 2
        row = next((row for row, end in enumerate(ends) if end <= at * scale - half), len(ends))
        ends[row : row + 1] = [at * scale + half]
        rows.append(row)
    return rows
