"""Pure: results in, figures out, as the plain objects that plotly.js takes (data, layout)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from kafka_assignors.demo.palette import NOBODY, member_colour, strategy_colour
from kafka_assignors.demo.results import HoldResult, Results, StepResult, StrategyResult

INK, SOFT, GRID = "#1F2933", "#616E7C", "#E4E7EB"
PAUSE = "#1F2933"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif"
CHURN_WORDS = {"join": "{} joins", "leave": "{} leaves", "kill": "kill -9 {}"}


class Figure(TypedDict):
    """What ``Plotly.newPlot`` draws."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


def time_span(results: Results) -> list[float]:
    """Return the time axis that all figures share, in seconds, from just before the first record."""
    end = max((one["end"] for one in results["strategies"]), default=1.0)
    return [-1.0, round(end + 1, 1)]


def ownership(one: StrategyResult, partitions: int, span: Sequence[float]) -> Figure:
    """Draw one band a partition: who owned it, where nobody did, and where records waited.

    A band is as high as its row; the thin dark line in it marks a pause.
    """
    data = [_bars(_gaps(one, partitions, span), name="no owner", colour=NOBODY)]
    by_member: dict[str, list[HoldResult]] = defaultdict(list)
    for hold in one["holds"]:
        by_member[hold["member"]].append(hold)
    data += [
        _bars(by_member[member], name=member, colour=member_colour(member))
        for member in sorted(by_member, key=_number)
    ]
    warm = _bars(one["openings"], name="warming up", colour="rgba(255,255,255,0.25)")
    warm["marker"]["pattern"] = {"shape": "/", "fgcolor": INK, "size": 5, "solidity": 0.35}
    data.append(warm)
    waits: list[HoldResult] = [
        {"member": w["member"], "partition": w["partition"], "start": w["start"], "end": w["end"]}
        for w in one["waits"]
    ]
    data.append(_bars(waits, name="waiting", colour=PAUSE, width=0.22))
    layout = _layout(height=max(300, 90 + 19 * partitions), bottom=86)
    layout |= {
        "barmode": "overlay",
        "xaxis": _axis("time since the first record (s)", span) | {"showgrid": False},
        "yaxis": _axis("partition", [partitions - 0.4, -0.6])
        | {"tickmode": "linear", "dtick": max(1, partitions // 18), "showgrid": False},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": -0.17,
            "yanchor": "top",
            "traceorder": "normal",
            "entrywidth": 72,
        },
    }
    return {"data": data, "layout": _with_churn(layout, one["steps"])}


def _bars(holds: Iterable[HoldResult], *, name: str, colour: str, width: float = 0.86) -> dict[str, Any]:
    kept = list(holds)
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [hold["partition"] for hold in kept],
        "base": [hold["start"] for hold in kept],
        "x": [round(hold["end"] - hold["start"], 3) for hold in kept],
        "width": width,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": [[hold["end"], hold["member"]] for hold in kept],
        "hovertemplate": "partition %{y}: %{customdata[1]}<br>%{base:.2f} to %{customdata[0]:.2f} s"
        f"<extra>{name}</extra>",
    }


def _gaps(one: StrategyResult, partitions: int, span: Sequence[float]) -> list[HoldResult]:
    """Return when partitions had no owner."""
    found: list[HoldResult] = []
    ends = dict.fromkeys(range(partitions), span[0])
    for hold in sorted(one["holds"], key=lambda hold: hold["start"]):
        partition = hold["partition"]
        if ends[partition] < hold["start"]:
            found.append(
                {"member": "nobody", "partition": partition, "start": ends[partition], "end": hold["start"]}
            )
        ends[partition] = max(ends[partition], hold["end"])
    found += [
        {"member": "nobody", "partition": partition, "start": end, "end": one["end"]}
        for partition, end in ends.items()
        if end < one["end"]
    ]
    return found


def lag(one: StrategyResult, span: Sequence[float], top: float) -> Figure:
    """Draw the lag per member, stacked, so that the upper edge is the total.

    Args:
        one: the run.
        span: of the time axis.
        top: of the lag axis, shared by all strategies.
    """
    series = one["lag"]
    data = [
        _area(series["t"], series["members"][member], member, member_colour(member))
        for member in sorted(series["members"], key=_number)
    ]
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
    layout = _layout(height=330, bottom=86)
    layout |= {
        "hovermode": "x unified",
        "xaxis": _axis("time since the first record (s)", span) | {"showgrid": False},
        "yaxis": _axis("lag (records)", [0, top]) | {"tickformat": ","},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": -0.24,
            "yanchor": "top",
            "traceorder": "normal",
            "entrywidth": 72,
        },
    }
    return {"data": data, "layout": _with_churn(layout, one["steps"])}


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


def pauses(results: Results) -> Figure:
    """Draw every partition's pause in every step as a point, beside a box, on a logarithmic axis."""
    steps = results["strategies"][0]["steps"] if results["strategies"] else []
    labels = [step_label(step) for step in steps]
    data: list[dict[str, Any]] = []
    for place, one in enumerate(results["strategies"]):
        kept = [pause for pause in one["pauses"] if pause["seconds"] > 0]
        data.append(
            {
                "type": "box",
                "name": one["strategy"],
                "x": [labels[pause["step"]] for pause in kept],
                "y": [pause["seconds"] for pause in kept],
                "customdata": [
                    [pause["partition"], "moved" if pause["moved"] else "stayed"] for pause in kept
                ],
                "boxpoints": "all",
                "jitter": 0.6,
                "pointpos": 0,
                "marker": {"color": strategy_colour(place), "size": 5, "opacity": 0.7},
                "line": {"color": strategy_colour(place), "width": 1.5},
                "fillcolor": "rgba(255,255,255,0)",
                "hovertemplate": "partition %{customdata[0]} %{customdata[1]}: %{y:.2f} s<extra></extra>",
            }
        )
    layout = _layout(height=400, bottom=70)
    layout |= {
        "boxmode": "group",
        "boxgap": 0.3,
        "boxgroupgap": 0.25,
        "xaxis": _axis("step of the churn", None)
        | {"categoryorder": "array", "categoryarray": labels, "showgrid": False},
        "yaxis": _axis("pause of a partition (s)", None)
        | {"type": "log", "tickvals": [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20], "tickformat": "~g"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": data, "layout": layout}


def moves(results: Results, span: Sequence[float]) -> Figure:
    """Draw the partitions handed over so far, one line of steps a strategy."""
    data: list[dict[str, Any]] = []
    for place, one in enumerate(results["strategies"]):
        times = [handover["t"] for handover in one["handovers"]]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": one["strategy"],
                "x": [span[0], *times, one["end"]],
                "y": [0, *range(1, len(times) + 1), len(times)],
                "line": {"shape": "hv", "width": 2.5, "color": strategy_colour(place)},
                "hovertemplate": "%{y} moved by %{x:.1f} s<extra>" + one["strategy"] + "</extra>",
            }
        )
    layout = _layout(height=400, bottom=70)
    layout |= {
        "xaxis": _axis("time since the first record (s)", span) | {"showgrid": False},
        "yaxis": _axis("partitions moved so far", None) | {"rangemode": "tozero"},
        "legend": {"orientation": "h", "x": 0, "y": 1.08, "yanchor": "bottom"},
    }
    steps = results["strategies"][0]["steps"] if results["strategies"] else []
    return {"data": data, "layout": _with_churn(layout, steps)}


def step_label(step: StepResult) -> str:
    """Name a step: ``m5 joins``, ``kill -9 m2``."""
    return CHURN_WORDS[step["kind"]].format(step["member"])


def _with_churn(layout: dict[str, Any], steps: Iterable[StepResult]) -> dict[str, Any]:
    """Add a dashed vertical line with a label above the plot for each step."""
    kept = list(steps)
    layout["shapes"] = [
        {
            "type": "line",
            "x0": step["at"],
            "x1": step["at"],
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": INK, "width": 1.2, "dash": "dot"},
        }
        for step in kept
    ]
    layout["annotations"] = [
        {
            "x": step["at"],
            "yref": "paper",
            "y": 1,
            "yanchor": "bottom",
            "xanchor": "center",
            "text": step_label(step),
            "showarrow": False,
            "font": {"size": 12, "color": INK},
        }
        for step in kept
    ]
    return layout


def _layout(*, height: int, bottom: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 64, "r": 16, "t": 30, "b": bottom},
        "paper_bgcolor": "#FFFFFF",
        "plot_bgcolor": "#FFFFFF",
        "font": {"family": FONT, "size": 13, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": 13}},
        "bargap": 0,
    }


def _axis(title: str, span: Sequence[float] | None) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "title": {"text": title, "font": {"size": 13, "color": SOFT}, "standoff": 8},
        "gridcolor": GRID,
        "linecolor": "#CBD2D9",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "#CBD2D9",
        "tickfont": {"size": 12, "color": SOFT},
    }
    return axis | {"range": list(span)} if span is not None else axis


def _number(member: str) -> int:
    return int(member.lstrip("m"))
