"""Pure: the failover's results in, its figure out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demo.failover.results import EventResult
from kafka_assignors.report.drawing import INK, Figure, axis, layout, legend_below
from kafka_assignors.report.palette import STRATEGIES

COLOURS: Mapping[str, str] = {"cold": STRATEGIES[1], "warm": STRATEGIES[0]}
NAMES = {"cold": "cold", "warm": "with standbys and warm-ups"}
KINDS = {"join": "one joins", "kill": "one is killed with -9"}
_DOMAINS = {"join": [0.0, 0.47], "kill": [0.53, 1.0]}
_NOT_MOVED = 0.45  # opacity


def still(events: Sequence[EventResult]) -> Figure:
    """Draw how long each task was without progress: cold beside warm, the join beside the kill."""
    top = 1.15 * max((task["still"] for event in events for task in event["tasks"]), default=1.0)
    look = layout(height=430, bottom=110)
    look |= {"barmode": "group", "bargap": 0.25, "bargroupgap": 0.05, "shapes": [], "annotations": []}
    data: list[dict[str, Any]] = []
    for place, kind in enumerate(_DOMAINS, 1):
        here = [event for event in events if event["kind"] == kind]
        data += [_bars(event, place) for event in here]
        number = "" if place == 1 else str(place)
        look[f"xaxis{number}"] = axis("task", None) | {
            "domain": _DOMAINS[kind],
            "showgrid": False,
            "dtick": 1,
            "anchor": f"y{number}",
        }
        title = "longest time without progress (s)"
        look[f"yaxis{number}"] = axis(title, [0.0, top]) | {"anchor": f"x{number}"}
        timeout = max((event["session_timeout"] for event in here), default=0.0)
        look["annotations"].append(_heading(kind, timeout))
        if timeout:
            look["shapes"].append(_line(timeout, number))
    legend_below(look)
    return {"data": data, "layout": look}


def _bars(event: EventResult, place: int) -> dict[str, Any]:
    """Of one event; tasks that stayed where they were are paler."""
    number = "" if place == 1 else str(place)
    tasks, act = event["tasks"], event["act"]
    return {
        "type": "bar",
        "name": NAMES[act],
        "legendgroup": act,
        "showlegend": place == 1,
        "x": [task["task"] for task in tasks],
        "y": [task["still"] for task in tasks],
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "marker": {
            "color": COLOURS[act],
            "opacity": [1.0 if task["moved"] else _NOT_MOVED for task in tasks],
        },
        "customdata": [[task["waited"], task["changelog"], task["usual"]] for task in tasks],
        "hovertemplate": "task %{x}: %{y:.2f} s, usually %{customdata[2]} s<br>waited for %{customdata[0]:,} "
        "of %{customdata[1]:,} records<extra>" + NAMES[act] + "</extra>",
    }


def _heading(kind: str, timeout: float) -> dict[str, Any]:
    line = f" (broken: the session timeout, {timeout:g} s)" if timeout else ""
    return {
        "xref": "paper",
        "yref": "paper",
        "x": sum(_DOMAINS[kind]) / 2,
        "xanchor": "center",
        "y": 1,
        "yanchor": "bottom",
        "text": KINDS[kind] + line,
        "showarrow": False,
        "font": {"size": 14, "color": INK},
    }


def _line(at: float, number: str) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": f"x{number} domain",
        "x0": 0,
        "x1": 1,
        "yref": f"y{number}",
        "y0": at,
        "y1": at,
        "line": {"color": INK, "width": 1.2, "dash": "dash"},
    }
