"""What a run leaves behind: ``bench.json``, and made from it alone the table, the pictures and the page."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import plots, table
from tests.bench.programs import ROOT
from tests.bench.run import Row

PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
BEGIN, END = "<!-- begin: out/bench.md -->\n", "<!-- end: out/bench.md -->\n"


@dataclass
class Report:
    """A run's facts.

    Attributes:
        machine: where and with what it ran.
        arguments: of the command, none for ``make bench`` as it is.
        rows: of the table.
        growth: more rows, only for the pictures.
        notes: what could not be measured, and why.
    """

    machine: dict[str, str]
    arguments: list[str]
    rows: list[Row] = field(default_factory=list)
    growth: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write the facts; after every row, so that a run that is broken off has not been for nothing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read what ``save`` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def markdown(self) -> str:
        """The table, and all one has to know to read it or to repeat it."""
        command = (
            shlex.join(["python", "-m", "tests.bench", *self.arguments]) if self.arguments else "make bench"
        )
        facts = ", ".join(f"{name} {value}" for name, value in self.machine.items())
        remarks = "".join(f"- {line}\n" for line in [*table.findings(self.rows), *self.notes])
        return f"{table.LEGEND}\n\n{table.markdown(self.rows)}\n{remarks}\n`{command}`: {facts}.\n"

    def render(self, path: Path) -> list[Path]:
        """Write table and pictures beside the facts in ``path``."""
        text = path.with_suffix(".md")
        text.write_text(self.markdown(), encoding="utf-8")
        return [text, *plots.draw([*self.rows, *self.growth], path.parent)]

    def publish(self) -> list[Path]:
        """Put the table into the page, and the pictures beside it."""
        PAGE.write_text(between_markers(PAGE.read_text(encoding="utf-8"), self.markdown()), encoding="utf-8")
        return [PAGE, *plots.draw([*self.rows, *self.growth], IMAGES)]


def between_markers(page: str, text: str) -> str:
    """The page with that text between its markers.

    Raises:
        ValueError: the markers are not there, once each and in this order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"the page needs {BEGIN.strip()} and {END.strip()}, once each and in this order")
    return f"{before}{begin}\n{text}\n{end}{after}"
