"""Pure: the part that the page opens with: which strategy, why, and one picture."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from demo.results import Results
from demo.view.answer import RULE, Answer, answer, standstill
from kafka_assignors.report.drawing import INK, Figure, axis, layout
from kafka_assignors.report.markup import card

_ROOM_FOR_TEXT = 1.5  # of the longest bar
_GAP = 0.05  # between two panels, as a part of the width


def part(results: Results, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    """Write the part; its figure is added to ``drawn``."""
    advice = answer(results)
    drawn["answer"] = picture(results, advice, colours)
    took = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in results["seconds"].items())
    reasons = "".join(f"<li>{escape(sentence)}</li>" for sentence in advice.sentences)
    return f"""<header><p class="eyebrow">Which strategy</p><h1>{escape(advice.headline)}</h1>
<ol class="lead">{reasons}</ol></header>
{card("answer")}
<p class="note wide">{escape(RULE)}</p>
<p class="note wide">{escape(results["dataset"])} · run of {escape(results["started"])} · {took}</p>"""


def picture(results: Results, advice: Answer, colours: Mapping[str, str]) -> Figure:
    """Draw a bar a strategy: the drain of the backlog, and beside it the standstill in the replay."""
    panels: list[tuple[str, list[tuple[str, float, str]]]] = []
    if backlog := results["backlog"]:
        panels.append(
            (
                f"Time to drain the backlog (dotted: the least possible, {backlog[0]['bound']:.1f} s)",
                [
                    (one["strategy"], one["drain"], "unfinished" if one["fault"] else f"{one['drain']:.1f} s")
                    for one in backlog
                ],
            )
        )
    if replay := [one for one in results["strategies"] if one["steps"]]:
        partitions = results["settings"]["partitions"]
        stops = [(one, standstill(one, partitions)) for one in replay]
        panels.append(
            (
                "Standstill of a partition while the group changed",
                [(one["strategy"], stop, f"{stop:.1f} s, {one['moved']} moves") for one, stop in stops],
            )
        )
    names = [name for name, *_ in max((bars for _, bars in panels), key=len, default=[])]
    look = layout(height=96 + 44 * max(len(names), 1), bottom=44)
    look |= {"showlegend": False, "shapes": [], "annotations": []}
    data: list[dict[str, Any]] = []
    for place, (title, bars) in enumerate(panels):
        number = "" if place == 0 else str(place + 1)
        width = (1 - _GAP * (len(panels) - 1)) / len(panels)
        begin = place * (width + _GAP)
        data.append(_bars(bars, number, colours))
        longest = max((seconds for _, seconds, _ in bars), default=0.0)
        look[f"xaxis{number}"] = axis("seconds", [0.0, max(_ROOM_FOR_TEXT * longest, 0.1)]) | {
            "domain": [begin, begin + width],
            "anchor": f"y{number}",
            "showgrid": False,
        }
        look[f"yaxis{number}"] = axis("", None) | {
            "anchor": f"x{number}",
            "categoryorder": "array",
            "categoryarray": names,
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "showticklabels": place == 0,
            "ticks": "",
            "tickvals": names,
            "ticktext": [f"<b>{name}</b>" if name in advice.chosen else name for name in names],
            "tickfont": {"size": 14, "color": INK},
        }
        look["annotations"].append(_title(title, begin))
    if backlog:
        look["shapes"].append(_bound(backlog[0]["bound"]))
    return {"data": data, "layout": look}


def _bars(bars: list[tuple[str, float, str]], number: str, colours: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": [name for name, *_ in bars],
        "x": [round(seconds, 3) for _, seconds, _ in bars],
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "marker": {"color": [colours[name] for name, *_ in bars]},
        "text": [text for *_, text in bars],
        "textposition": "outside",
        "textfont": {"size": 14, "color": INK},
        "width": 0.7,
        "cliponaxis": False,
        "hovertemplate": "%{y}: %{x:.2f} s<extra></extra>",
    }


def _title(text: str, begin: float) -> dict[str, Any]:
    return {
        "xref": "paper",
        "yref": "paper",
        "x": begin,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "text": f"<b>{text}</b>",
        "showarrow": False,
        "font": {"size": 13, "color": INK},
    }


def _bound(at: float) -> dict[str, Any]:
    line = {"color": INK, "width": 1.6, "dash": "dot"}
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}
