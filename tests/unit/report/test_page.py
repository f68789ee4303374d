"""A page needs no network and no trust in the names it shows."""

from __future__ import annotations

import importlib.util
import re

import pytest

from kafka_assignors.errors import MissingExtraError
from kafka_assignors.report.drawing import bars
from kafka_assignors.report.page import html_page, require_plotly
from tests.unit.report.reading import figures_of, markup_of

EVIL = "</script><b>'\""


def page() -> str:
    """A page of the macros alone, with hostile names."""
    drawn = bars([EVIL], [1.0], [EVIL], ["#000000"], EVIL)
    return html_page(
        "macros.html", "tests.unit.report", figures={"bar": drawn}, colours={EVIL: "#000000"}, evil=EVIL
    )


def test_page_is_one_file_with_plotly_inside() -> None:
    text = page()
    assert len(re.findall(r"<script>\s*/\*\*\s*\* plotly\.js", text)) == 1
    assert not re.search(
        r"(src|href)=|@import|url\(", re.sub("<script>.*?</script>", "", text, flags=re.DOTALL)
    )


def test_names_are_escaped_in_markup_and_in_figures() -> None:
    text = page()
    assert "<b>" not in markup_of(text)
    assert markup_of(text).count("&lt;/script&gt;&lt;b&gt;&#39;&#34;") == 5
    assert text.count("</script>") == 2
    assert figures_of(text)["bar"]["data"][0]["y"] == [EVIL]


@pytest.mark.parametrize("module", ["plotly", "jinja2"])
def test_missing_library_is_found_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(MissingExtraError, match=rf"(?i){module}.*kafka-assignors\[demo\]"):
        require_plotly("demo")
