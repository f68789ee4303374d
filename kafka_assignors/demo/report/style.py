"""The look of the page."""

from __future__ import annotations

from kafka_assignors.demo.report.figures import FONT, GRID, INK, SOFT

CSS = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: #F5F7FA; color: {INK}; font: 15px/1.55 {FONT}; }}
main {{ max-width: 1320px; margin: 0 auto; padding: 40px 24px 64px; }}
h1 {{ margin: 0 0 10px; font-size: 32px; line-height: 1.2; letter-spacing: -0.01em; }}
h2 {{ margin: 0 0 6px; font-size: 20px; line-height: 1.3; }}
p {{ margin: 0 0 14px; max-width: 900px; color: {SOFT}; }}
.lead {{ max-width: 900px; font-size: 17px; color: {INK}; }}
.note {{ font-size: 13px; }}
section {{ margin-top: 40px; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(520px, 1fr)); gap: 20px; }}
.grid > * {{ min-width: 0; }}
figure {{ margin: 0; padding: 14px 14px 6px; background: #FFF; border: 1px solid {GRID}; border-radius: 10px;
}} figcaption {{ padding: 0 4px 4px; font-weight: 600; font-size: 16px; }}
.dot {{ display: inline-block; width: 10px; height: 10px; margin-right: 8px; border-radius: 50%; }}
table {{ width: 100%; border-collapse: collapse; background: #FFF; border: 1px solid {GRID}; border-radius:
10px;
  overflow: hidden; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 9px 14px; text-align: right; border-top: 1px solid {GRID}; white-space: nowrap; }}
thead th {{ border-top: 0; color: {SOFT}; font-weight: 600; font-size: 13px; }}
tbody th, thead th:first-child {{ text-align: left; font-weight: 600; }}
.figures thead th, thead th.group {{ font-size: 15px; color: {INK}; }}
.figures td {{ font-weight: 600; font-size: 16px; }}
.steps th, .steps td {{ padding: 9px 10px; }}
.figures .meaning {{ width: 55%; text-align: left; white-space: normal; font-weight: 400; font-size: 14px;
  color: {SOFT}; }}
small {{ font-weight: 400; color: {SOFT}; }}
thead th.group {{ text-align: center; border-left: 1px solid {GRID}; }}
td.first {{ border-left: 1px solid {GRID}; }}
.method li {{ margin-bottom: 6px; max-width: 1000px; color: {SOFT}; }}
.method ul {{ padding-left: 20px; }}
@media (max-width: 1100px) {{ .grid {{ grid-template-columns: 1fr; }} }}
"""
