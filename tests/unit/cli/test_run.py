"""The command line as a whole."""

from __future__ import annotations

import io
import sys

import click
import pytest

from kafka_assignors.cli import run


@pytest.mark.parametrize(
    ("errors", "text", "written"),
    [
        ("strict", "\u00e9 \u2026 and 5 more", b"\xe9 \\u2026 and 5 more\n"),
        ("surrogateescape", "/data/\udcff", b"/data/\xff\n"),
    ],
    ids=["a character of a table", "a path that is not UTF-8"],
)
def test_character_that_the_encoding_lacks_is_no_error(
    errors: str, text: str, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that the user or the locale sets stays."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", errors=errors)
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "argv", ["command"])
    run(click.Command("command", callback=lambda: click.echo(text)))
    stdout.flush()
    assert stdout.buffer.getvalue() == written
