"""The sessions of the planner page print the output on the page."""

from __future__ import annotations

import doctest
import re
from typing import Any

from tests.support.examples import ROOT

PAGE = ROOT / "docs" / "explanation" / "planner.md"


def test_session_prints_the_output_on_the_page() -> None:
    """One session over the whole page, as a reader would type it."""
    names: dict[str, Any] = {}
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert blocks
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        session = doctest.DocTestParser().get_doctest(block[1], names, PAGE.name, str(PAGE), line)
        failures: list[str] = []
        doctest.DocTestRunner().run(session, out=failures.append, clear_globs=False)
        assert not failures, "".join(failures)
        names = session.globs
