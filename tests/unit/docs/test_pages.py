"""The documentation is true: its examples run, its links lead somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import isfunction
from pathlib import Path

import pytest

from kafka_assignors.strategies import STRATEGIES
from tests.support.examples import PAGES, ROOT, Example, examples

ALONE = [example for example in examples() if not example.needs_a_broker]
TEXTS = [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("example", ALONE, ids=lambda e: str(e.where))
def test_example_runs(example: Example) -> None:
    example.run()


def test_every_strategy_has_a_page_with_an_example() -> None:
    for name in STRATEGIES:
        assert any(e.where.startswith(f"docs/strategies/{name}.md:") for e in examples()), name


def test_api_pages_list_every_function_that_an_example_imports() -> None:
    api = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference/api").glob("*.md"))
    imports = re.compile(r"^from (kafka_assignors\S*) import (\w.*)$", re.MULTILINE)
    imported = {
        f"{module}.{name}"
        for example in examples()
        for module, names in imports.findall(example.code)
        for name in names.split(", ")
        if isfunction(getattr(import_module(module), name))
    }
    assert imported
    assert {name for name in imported if f"autofunction:: {name}\n" not in api} == set()


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
