"""The Python examples of README and docs, so that both kinds of test can run them."""

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
        """Execute it as a program of its own, against that broker, with names that are there before."""
        code = compile(self.code.replace(BROKER, bootstrap), self.where, "exec", dont_inherit=True)
        exec(code, {"__name__": "__example__", **names})  # noqa: S102  # our own documentation


def examples(kind: str = "python") -> list[Example]:
    """Every block of a kind there is; ``python spark``: those that need a session."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: block.start()].count("\n") + 1
            found.append(Example(f"{page.relative_to(ROOT)}:{line}", block[1]))
    return found
