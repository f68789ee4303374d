"""Lines of the commands to a terminal and to a pipe."""

from __future__ import annotations

import sys

import pytest
from rich.text import Text

from kafka_assignors.cli.tables import screen, show


def test_pipe_with_force_color_gets_colours_and_whole_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich takes it for a terminal of 80 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    show(Text("orders " * 30, style="yellow"))
    assert capsys.readouterr().out.splitlines() == [f"\x1b[33m{'orders ' * 30}\x1b[0m"]
    assert not screen().is_terminal
    assert not screen(stderr=True).is_terminal


def test_closed_streams_are_no_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    show(Text("orders"))
    assert not screen().is_terminal
    assert not screen(stderr=True).is_terminal
