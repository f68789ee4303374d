"""The command line as a whole."""

from __future__ import annotations

import io
import sys

import click
import pytest

from kafka_assignors.cli import run


def test_characters_that_the_encoding_lacks_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables have such characters, for example the one before ``and 5 more``."""
    written = io.BytesIO()
    stdout = io.TextIOWrapper(written, encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "argv", ["command"])
    run(click.Command("command", callback=lambda: click.echo("\u00e9 \u2026 and 5 more")))
    stdout.flush()
    assert written.getvalue() == b"\xe9 \\u2026 and 5 more\n"
