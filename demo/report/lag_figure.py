"""Pure: the lag of one run, drawn; the same for both scenes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from demo.results import LagResult
from kafka_assignors.report.drawing import INK, Figure, Mark, axis, layout, legend_below, marked, number
from kafka_assignors.report.palette import member_colour


def lag(series: LagResult, marks: Sequence[Mark], title: str, span: Sequence[float], top: float) -> Figure:
    """Draw the lag per member, stacked, so that the upper edge is the total.

    Args:
        series: of one run.
        marks: what happened.
        title: of the time axis.
        span: of the time axis.
        top: of the lag axis, shared by all strategies.
    """
    data = [
        _area(series["t"], series["members"][member], member, member_colour(member))
        for member in sorted(series["members"], key=number)
    ]
    if any(series["unowned"]):
        data.append(_area(series["t"], series["unowned"], "no owner", "#9AA5B1"))
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": "total",
            "x": series["t"],
            "y": series["total"],
            "line": {"color": INK, "width": 1.4},
            "hovertemplate": "%{y:,} records<extra>total</extra>",
        }
    )
    look = layout(height=330, bottom=86)
    look |= {
        "hovermode": "x unified",
        "xaxis": axis(title, span) | {"showgrid": False},
        "yaxis": axis("lag (records)", [0, top]) | {"tickformat": ","},
    }
    legend_below(look, traceorder="normal", entrywidth=72)
    return {"data": data, "layout": marked(look, marks)}


def _area(t: Sequence[float], values: Sequence[int], name: str, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "stackgroup": "lag",
        "x": list(t),
        "y": list(values),
        "line": {"width": 0, "color": colour},
        "fillcolor": colour,
        "hovertemplate": "%{y:,}<extra>" + name + "</extra>",
    }
