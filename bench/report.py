"""The results of a run: ``bench.json``, and the table, pictures and page made from it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from bench import plots, table
from bench.lag import fetching
from bench.programs import ROOT
from bench.run import Row
from bench.stateful import table as stateful_table

PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
BEGIN, END = "<!-- begin: out/bench.md -->\n", "<!-- end: out/bench.md -->\n"
LAG_MARKERS = "<!-- begin: out/bench-lag.md -->\n", "<!-- end: out/bench-lag.md -->\n"
STATEFUL_MARKERS = "<!-- begin: out/bench-stateful.md -->\n", "<!-- end: out/bench-stateful.md -->\n"
AT_TOP = {
    "cores": "2",
    "memory": "24 GiB",
    "processor": "Intel(R) Xeon(R) Processor",
    "Python": "3.11.7",
    "kafka-python": "3.0.12",
    "numpy": "2.4.6",
}
"""The machine in the page's first paragraph; the page repeats only facts that differ from it."""


@dataclass
class Report:
    """A run's facts.

    Attributes:
        arguments: of the command; empty: the defaults of ``make bench``.
        growth: more rows, only for the pictures.
    """

    machine: dict[str, str]
    arguments: list[str]
    rows: list[Row] = field(default_factory=list)
    growth: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lag: list[Row] = field(default_factory=list)
    stateful: list[Row] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write the facts.  Called after every row, so an interrupted run keeps its rows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read the facts that ``save`` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def markdown(self, *, selected: bool = False) -> str:
        """Return the table, or only its part on the page, with the legend and the command."""
        shown = [row for row in self.rows if selected and table.is_on_page(row)] or self.rows
        remarks = "".join(f"- {line}\n" for line in [*table.findings(self.rows), *self.notes])
        legend = table.PAGE_LEGEND if selected else table.LEGEND
        rows = table.markdown(shown, selected=selected)
        return f"{legend}\n\n{rows}\n{remarks}\n{self._repeat(selected=selected)}"

    def lag_markdown(self, *, selected: bool = False) -> str:
        """Return the table about fetching lag, which must exist."""
        return f"{fetching.markdown(self.lag)}\n{self._repeat(selected=selected)}"

    def stateful_markdown(self, *, selected: bool = False) -> str:
        """Return the tables about plans for stateful members, or only their rows on the page."""
        tables = stateful_table.markdown(self.stateful, selected=selected)
        return f"{tables}\n{self._repeat(selected=selected)}"

    def _repeat(self, *, selected: bool) -> str:
        """Return command and machine; on the page without the facts in its first paragraph."""
        command = shlex.join(["python", "-m", "bench", *self.arguments]) if self.arguments else "make bench"
        facts = {
            name: value for name, value in self.machine.items() if not selected or AT_TOP.get(name) != value
        }
        return f"`{command}`: {', '.join(f'{name} {value}' for name, value in facts.items())}.\n"

    def render(self, path: Path) -> list[Path]:
        """Write table and pictures beside the facts in ``path``."""
        written = []
        if self.lag:
            written.append(path.with_name(f"{path.stem}-lag.md"))
            written[-1].write_text(self.lag_markdown(), encoding="utf-8")
        if self.stateful:
            written.append(path.with_name(f"{path.stem}-stateful.md"))
            written[-1].write_text(self.stateful_markdown(), encoding="utf-8")
        if not self.rows and not self.growth:
            return written
        text = path.with_suffix(".md")
        text.write_text(self.markdown(), encoding="utf-8")
        return [text, *written, *plots.draw([*self.rows, *self.growth], path.parent)]

    def publish(self) -> list[Path]:
        """Write the figures into the page, and the pictures beside it."""
        page = PAGE.read_text(encoding="utf-8")
        if self.lag:
            page = between_markers(page, self.lag_markdown(selected=True), LAG_MARKERS)
        if self.stateful:
            page = between_markers(page, self.stateful_markdown(selected=True), STATEFUL_MARKERS)
        if self.rows or self.growth:
            page = between_markers(page, self.markdown(selected=True))
        PAGE.write_text(page, encoding="utf-8")
        return [PAGE, *(plots.draw([*self.rows, *self.growth], IMAGES) if self.rows or self.growth else [])]


def between_markers(page: str, text: str, markers: tuple[str, str] = (BEGIN, END)) -> str:
    """Return the page with a text between markers.

    Raises:
        ValueError: the page does not have each marker once, in this order.
    """
    first, last = markers
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end or first in rest or last in after:
        raise ValueError(f"the page needs {first.strip()} and {last.strip()}, once each and in this order")
    return f"{before}{begin}\n{text}\n{end}{after}"
