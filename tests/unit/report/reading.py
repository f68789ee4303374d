"""Reads a rendered page: its figures, its text, its table cells."""

from __future__ import annotations

import html
import json
import re
from typing import Any


def figures_of(page: str) -> dict[str, Any]:
    """Return the figures as plotly.js gets them, by the ids of their elements."""
    match = re.search(r"const figures = (.*?);\nconst config", page, re.DOTALL)
    assert match is not None
    figures: dict[str, Any] = json.loads(match.group(1))
    return figures


def markup_of(page: str) -> str:
    """Return the page without its scripts and styles."""
    return re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL)


def text_of(page: str) -> str:
    """Return what a reader sees, with single spaces."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", markup_of(page))).split())


def section_of(page: str, heading: str) -> str:
    """Return the section with a heading."""
    markup = markup_of(page)
    return markup[markup.index(f"<h2>{heading}</h2>") :].partition("</section>")[0]


def cells_of(section: str) -> list[list[str]]:
    """Return the text of each cell, row by row, without the head."""
    rows = re.findall(r"<tr.*?</tr>", section.partition("<tbody>")[2], re.DOTALL)
    return [[text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows]
