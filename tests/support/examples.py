"""The Python examples of README and docs, for unit and integration tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BROKER = "localhost:9092"


class Example(NamedTuple):
    """One fenced block of a page."""

    where: str
    code: str

    @property
    def needs_a_broker(self) -> bool:
        return BROKER in self.code or "development_broker(" in self.code

    def run(self, bootstrap: str = BROKER, **names: object) -> None:
        """Execute the block as a program against a broker, with ``names`` predefined."""
        code = compile(self.code.replace(BROKER, bootstrap), self.where, "exec", dont_inherit=True)
        exec(code, {"__name__": "__example__", **names})  # noqa: S102  # our own documentation


def examples(kind: str = "python") -> list[Example]:
    """Return every block of a kind; ``python spark`` are blocks that need a session."""
    blocks = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: block.start()].count("\n") + 1
            blocks.append(Example(f"{page.relative_to(ROOT)}:{line}", block[1]))
    return blocks
