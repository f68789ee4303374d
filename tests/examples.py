"""The Python examples of README and docs, so that both kinds of test can run them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BROKER = "localhost:9092"


class Example(NamedTuple):
    """One fenced block of a page."""

    where: str
    code: str

    @property
    def needs_a_broker(self) -> bool:
        return BROKER in self.code or "development_broker(" in self.code

    def run(self, bootstrap: str = BROKER) -> None:
        """Execute it as a program of its own, against that broker."""
        code = compile(self.code.replace(BROKER, bootstrap), self.where, "exec", dont_inherit=True)
        exec(code, {"__name__": "__example__"})  # noqa: S102  # our own documentation


def examples() -> list[Example]:
    """Every ``python`` block there is."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: block.start()].count("\n") + 1
            found.append(Example(f"{page.relative_to(ROOT)}:{line}", block[1]))
    return found
