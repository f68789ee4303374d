"""``ProgressView``: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from kafka_assignors.broker import Progress
from kafka_assignors.cli.progress import ProgressView


def test_each_step_is_a_line_and_counts_are_5_s_apart() -> None:
    now = 0.0
    out = io.StringIO()
    with ProgressView(console=Console(file=out), clock=lambda: now) as view:
        view.step(Progress("fetching jars", 0, 4))
        for done, seconds in ((1, 1.0), (2, 4.5), (3, 0.5), (4, 0.5)):
            now += seconds
            view.step(Progress("fetching jars", done, 4))
        for _ in range(3):
            view.step(Progress("starting the broker"))
    assert out.getvalue().splitlines() == ["fetching jars", "fetching jars: 2 of 4", "starting the broker"]


def test_terminal_without_cursor_control_gets_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On such a terminal rich would draw nothing before the end."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressView() as view:
        view.step(Progress("fetching jars", 0, 4))
        assert capsys.readouterr().err == "fetching jars\n"


def test_terminal_shows_no_count_for_a_step_without_a_total() -> None:
    out = io.StringIO()
    with ProgressView(console=Console(file=out, force_terminal=True, width=100)) as view:
        view.step(Progress("fetching jars", 1, 46))
        view.step(Progress("starting the broker"))
    last_line = out.getvalue().rpartition("fetching jars")[2]
    assert "starting the broker" in last_line
    assert "/46" not in last_line.partition("starting the broker")[2]
