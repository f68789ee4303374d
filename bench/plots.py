"""Draws the growth of times: log-log, with a line of slope 1 for comparison."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.problems import GROWTH, Problem
from bench.run import GROWTH_PHASES, Row

AXES = ("partitions", "members")

Points = list[tuple[int, float]]


def series(rows: Iterable[Row], kind: str, axis: str) -> dict[str, Points]:
    """Return the lines of one panel: name -> (size, seconds) points.

    Times of our plans include the encoding.  For comparison, one line is kafka-python's decoding of the same
    members, which every plan needs.
    """
    fixed, grows = ("members", "total") if axis == "partitions" else ("total", "members")
    problems = set(_along(GROWTH[kind], fixed))
    lines: dict[str, Points] = {}
    for row in rows:
        problem = Problem(row["kind"], row["topics"], row["partitions"], row["members"])
        if problem not in problems or row["phase"] not in GROWTH_PHASES:
            continue
        size = getattr(problem, grows)
        lines.setdefault(row["phase"], []).append((size, row["sticky"]["total"]))
        if row["phase"] == GROWTH_PHASES[-1]:
            lines.setdefault("kafka-python decodes", []).append((size, row["sticky"]["decode"]))
    return {name: sorted(set(points)) for name, points in sorted(lines.items())}


def _along(problems: Iterable[Problem], fixed: str) -> list[Problem]:
    """Return the problems with the most frequent value of ``fixed``."""
    problems = list(problems)
    values = [getattr(problem, fixed) for problem in problems]
    common = max(values, key=values.count)
    return [problem for problem, value in zip(problems, values, strict=True) if value == common]


def slope_one(lines: Iterable[Points]) -> Points:
    """Return a line of slope 1 from the smallest size to the end of the slowest line."""
    lines = [points for points in lines if points]
    size, seconds = max((points[-1] for points in lines), key=lambda point: point[1])
    least = min(points[0][0] for points in lines)
    return [(least, seconds * least / size), (size, seconds)]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """Draw a picture for each kind whose two panels, by partitions and by members, have lines."""
    drawn = []
    for kind in GROWTH:
        lines = {axis: series(rows, kind, axis) for axis in AXES}
        if all(any(len(points) > 1 for points in points_of.values()) for points_of in lines.values()):
            drawn.append(folder / f"bench-growth-{kind}.svg")
            _draw(kind, lines, drawn[-1])
    return drawn


_STYLE: dict[str, dict[str, Any]] = {
    "fresh": {"color": "#0072b2", "marker": "o"},
    "one joins": {"color": "#d55e00", "marker": "s"},
    "kafka-python decodes": {"color": "#555555", "marker": "^", "linestyle": "--"},
}


def _draw(kind: str, lines: dict[str, dict[str, Points]], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    # Keep text as text and ids constant, so that a new measurement is a small diff.
    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": path.name,
        "font.size": 12,
        "font.family": "sans-serif",
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(11, 4.6), layout="constrained", facecolor="white")
        panels = figure.subplots(1, len(AXES), sharey=True)
        for panel, (axis, points_of) in zip(panels, lines.items(), strict=True):
            for name in filter(points_of.get, _STYLE):
                panel.plot(*zip(*points_of[name], strict=True), label=name, linewidth=2, **_STYLE[name])
            panel.set(xscale="log", yscale="log", xlabel=axis)
            panel.grid(visible=True, which="major", color="#e4e4e4")
            for scale in (panel.xaxis, panel.yaxis):
                scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        for panel, points_of in zip(panels, lines.values(), strict=True):
            # The reference line may leave the picture, so that it does not shrink the others.
            panel.autoscale(enable=False)
            reference = zip(*slope_one(points_of.values()), strict=True)
            panel.plot(*reference, color="#777777", linewidth=1.2, linestyle=":", label="slope 1")
        panels[0].set_ylabel("seconds")
        panels[0].set_title("1,000 members, 500 topics", fontsize=12)
        panels[1].set_title("100,000 partitions, 500 topics", fontsize=12)
        panels[0].legend(frameon=False)
        figure.suptitle(f"sticky, {kind}: assign() and encoding")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
