"""Pure: the replay's results in, its figures out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from demo.results import HoldResult, Results, StepResult, StrategyResult
from kafka_assignors.report.drawing import INK, Figure, Mark, axis, layout, legend_below, marked, number
from kafka_assignors.report.palette import NO_OWNER, member_colour

PAUSE = INK
TIME = "time since the first record (s)"
CHURN_WORDS = {"join": "{} joins", "leave": "{} leaves", "kill": "kill -9 {}"}


def time_span(results: Results) -> list[float]:
    """Return the time axis that all figures share, in seconds, from just before the first record."""
    end = max((one["end"] for one in results["strategies"]), default=1.0)
    return [-1.0, round(end + 1, 1)]


def ownership(one: StrategyResult, partitions: int, span: Sequence[float]) -> Figure:
    """Draw one band a partition: who owned it, where nobody did, and where records waited.

    A band is as high as its row; the thin dark line in it marks a pause.
    """
    data = [_bars(_gaps(one, partitions, span), name="no owner", colour=NO_OWNER)]
    by_member: dict[str, list[HoldResult]] = defaultdict(list)
    for hold in one["holds"]:
        by_member[hold["member"]].append(hold)
    data += [
        _bars(by_member[member], name=member, colour=member_colour(member))
        for member in sorted(by_member, key=number)
    ]
    warm = _bars(one["openings"], name="warming up", colour="rgba(255,255,255,0.25)")
    warm["marker"]["pattern"] = {"shape": "/", "fgcolor": INK, "size": 5, "solidity": 0.35}
    data.append(warm)
    waits: list[HoldResult] = [
        {"member": w["member"], "partition": w["partition"], "start": w["start"], "end": w["end"]}
        for w in one["waits"]
    ]
    data.append(_bars(waits, name="waiting", colour=PAUSE, width=0.22))
    look = layout(height=max(300, 90 + 19 * partitions), bottom=86)
    look |= {
        "barmode": "overlay",
        "xaxis": axis(TIME, span) | {"showgrid": False},
        "yaxis": axis("partition", [partitions - 0.4, -0.6])
        | {"tickmode": "linear", "dtick": max(1, partitions // 18), "showgrid": False},
    }
    legend_below(look, traceorder="normal", entrywidth=72)
    return {"data": data, "layout": marked(look, churn_marks(one["steps"]))}


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


def pauses(results: Results, colours: Mapping[str, str]) -> Figure:
    """Draw every partition's pause in every step as a point, beside a box, on a logarithmic axis."""
    steps = results["strategies"][0]["steps"] if results["strategies"] else []
    labels = [step_label(step) for step in steps]
    data: list[dict[str, Any]] = []
    for one in results["strategies"]:
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
                "marker": {"color": colours[one["strategy"]], "size": 5, "opacity": 0.7},
                "line": {"color": colours[one["strategy"]], "width": 1.5},
                "fillcolor": "rgba(255,255,255,0)",
                "hovertemplate": "partition %{customdata[0]} %{customdata[1]}: %{y:.2f} s<extra></extra>",
            }
        )
    look = layout(height=400, bottom=86)
    look |= {
        "boxmode": "group",
        "boxgap": 0.3,
        "boxgroupgap": 0.25,
        "xaxis": axis("step of the churn", None)
        | {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": labels,
            "range": [-0.5, len(labels) - 0.5],  # also of a step that paused nothing
            "showgrid": False,
        },
        "yaxis": axis("pause of a partition (s)", None)
        | {"type": "log", "tickvals": [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20], "tickformat": "~g"},
    }
    legend_below(look)
    return {"data": data, "layout": look}


def moves(results: Results, span: Sequence[float], colours: Mapping[str, str]) -> Figure:
    """Draw the partitions handed over so far, one line of steps a strategy."""
    data: list[dict[str, Any]] = []
    for one in results["strategies"]:
        times = [handover["t"] for handover in one["handovers"]]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": one["strategy"],
                "x": [span[0], *times, one["end"]],
                "y": [0, *range(1, len(times) + 1), len(times)],
                "line": {"shape": "hv", "width": 2.5, "color": colours[one["strategy"]]},
                "hovertemplate": "%{y} moved by %{x:.1f} s<extra>" + one["strategy"] + "</extra>",
            }
        )
    look = layout(height=400, bottom=86)
    look |= {
        "xaxis": axis(TIME, span) | {"showgrid": False},
        "yaxis": axis("partitions moved so far", None) | {"rangemode": "tozero"},
    }
    legend_below(look)
    steps = results["strategies"][0]["steps"] if results["strategies"] else []
    return {"data": data, "layout": marked(look, churn_marks(steps))}


def step_label(step: StepResult) -> str:
    """Name a step: ``m5 joins``, ``kill -9 m2``."""
    return CHURN_WORDS[step["kind"]].format(step["member"])


def churn_marks(steps: Iterable[StepResult]) -> list[Mark]:
    """Return the steps as marks on a time axis."""
    return [Mark(step["at"], step_label(step)) for step in steps]
