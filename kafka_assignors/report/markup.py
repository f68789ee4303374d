"""Pieces of HTML for reports, and their CSS.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from kafka_assignors.report.drawing import FONT, GRID, INK, SOFT
from kafka_assignors.report.rows import ResultT, Row

MEANINGS_BESIDE = 4  # with more strategies, a column of text does not fit

CSS = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
html {{ overflow-y: scroll; }}
body {{ margin: 0; background: #F5F7FA; color: {INK}; font: 15px/1.55 {FONT}; }}
main {{ max-width: 1320px; margin: 0 auto; padding: 40px 24px 64px; }}
h1 {{ margin: 0 0 10px; font-size: 32px; line-height: 1.2; letter-spacing: -0.01em; }}
h2 {{ margin: 0 0 6px; font-size: 20px; line-height: 1.3; }}
p {{ margin: 0 0 14px; max-width: 900px; color: {SOFT}; }}
.lead {{ max-width: 900px; font-size: 17px; color: {INK}; }}
ol.lead {{ margin: 0 0 18px; padding-left: 24px; max-width: none; }}
.lead li {{ margin-bottom: 6px; }}
.note {{ font-size: 13px; }}
section {{ margin-top: 40px; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(520px, 1fr)); gap: 20px; }}
.grid > * {{ min-width: 0; }}
.grid > div {{ display: flex; flex-direction: column; }}
.grid > div > figure {{ flex: 1; }}
figure {{ margin: 0; padding: 14px 14px 6px; background: #FFF; border: 1px solid {GRID}; border-radius: 10px;
}} figcaption {{ padding: 0 4px 4px; font-weight: 600; font-size: 16px; }}
.dot {{ display: inline-block; width: 10px; height: 10px; margin-right: 8px; border-radius: 50%; }}
table {{ width: 100%; border-collapse: collapse; background: #FFF; border: 1px solid {GRID}; border-radius:
10px;
  overflow: hidden; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 9px 14px; text-align: right; border-top: 1px solid {GRID}; white-space: nowrap; }}
thead th {{ border-top: 0; color: {SOFT}; font-weight: 600; font-size: 13px; }}
tbody th, thead th:first-child {{ text-align: left; font-weight: 600; }}
.figures thead th {{ font-size: 15px; color: {INK}; }}
.figures td {{ font-weight: 600; font-size: 16px; }}
.steps td.who {{ text-align: left; }}
.steps tr.next th, .steps tr.next td {{ border-top-color: transparent; }}
.figures .meaning {{ width: 55%; text-align: left; white-space: normal; font-weight: 400; font-size: 14px;
  color: {SOFT}; }}
small {{ font-weight: 400; color: {SOFT}; }}
.many th, .many td {{ padding: 9px 8px; }}
.many thead th, .many td {{ white-space: normal; }}
.method li, .many + ul li {{ margin-bottom: 6px; max-width: 1000px; color: {SOFT}; }}
.eyebrow {{ margin: 0 0 2px; font-size: 13px; font-weight: 600; letter-spacing: 0.08em;
  text-transform: uppercase; }}
article + article {{ margin-top: 72px; padding-top: 40px; border-top: 2px solid {GRID}; }}
.three {{ grid-template-columns: repeat(auto-fit, minmax(360px, 1fr)); }}
.wide {{ margin-top: 20px; }}
.method ul, .many + ul {{ padding-left: 20px; }}
@media (max-width: 1100px) {{ .grid {{ grid-template-columns: 1fr; }} }}
"""


def figures_table(rows: Sequence[Row[ResultT]], runs: Sequence[ResultT], colours: Mapping[str, str]) -> str:
    """Return the figures: a column for each strategy beside the meanings, or a row for each above them."""
    if len(runs) > MEANINGS_BESIDE:
        return _table_of_many(rows, runs, colours)
    heads = "".join(f"<th>{name(str(run['strategy']), colours)}</th>" for run in runs)
    lines = "".join(
        f"<tr><th>{escape(row.label)}</th>"
        + "".join(f"<td>{_value(row.show(run))}</td>" for run in runs)
        + f'<td class="meaning">{escape(row.meaning)}</td></tr>'
        for row in rows
    )
    return f"""<section><h2>In figures</h2><table class="figures"><thead><tr><th></th>{heads}
<th class="meaning">what it means</th></tr></thead><tbody>{lines}</tbody></table></section>"""


def _table_of_many(rows: Sequence[Row[ResultT]], runs: Sequence[ResultT], colours: Mapping[str, str]) -> str:
    heads = "".join(f"<th>{escape(row.label)}</th>" for row in rows)
    lines = "".join(
        f"<tr><th>{name(str(run['strategy']), colours)}</th>"
        + "".join(f"<td>{_value(row.show(run))}</td>" for row in rows)
        + "</tr>"
        for run in runs
    )
    meanings = "".join(f"<li><b>{escape(row.label)}</b>: {escape(row.meaning)}</li>" for row in rows)
    return f"""<section><h2>In figures</h2><table class="many"><thead><tr><th></th>{heads}</tr></thead>
<tbody>{lines}</tbody></table><ul>{meanings}</ul></section>"""


def _value(text: str) -> str:
    """Set text in brackets smaller."""
    main, bracket, rest = text.partition(" (")
    return escape(main) + (f" <small>({escape(rest)}</small>" if bracket else "")


def name(strategy: str, colours: Mapping[str, str]) -> str:
    """Return a strategy's name behind a dot in its colour."""
    return f'<span class="dot" style="background:{colours[strategy]}"></span>{escape(strategy)}'


def card(identifier: str, caption: str = "") -> str:
    """Return an empty figure element under a caption, which is HTML."""
    head = caption and f"<figcaption>{caption}</figcaption>"
    return f"""<figure>{head}
<div id="{identifier}" class="plot"></div></figure>"""
