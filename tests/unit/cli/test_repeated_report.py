"""A report that is shown repeatedly: in place on a terminal, one after the other elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import pytest
from rich.text import Text

from kafka_assignors.cli.repeated_report import WatchedReport, show_report


class Number:
    """A report of one number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def as_json(self) -> Mapping[str, int]:
        return {"number": self.number}


def interrupted_after(count: int) -> Iterator[Number]:
    """Yield reports, then interrupt."""
    yield from map(Number, range(count))
    raise KeyboardInterrupt


@pytest.mark.parametrize("is_terminal", [True, False])
def test_reports_follow_one_another_without_cursor_control(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    """On a terminal with TERM=dumb rich would draw nothing before the end."""
    monkeypatch.setenv("TERM", "dumb" if is_terminal else "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes a pipe for a terminal
    reports = interrupted_after(3)
    watched = WatchedReport(
        lambda: next(reports),
        lambda report, timed: Text(f"report {report.number}{', timed' * timed}"),
        lambda report, _console, _height: Text(f"in place {report.number}"),
    )
    show_report(watched, "table", watch=True, every=0.1)
    assert capsys.readouterr().out == "report 0, timed\n\nreport 1, timed\n\nreport 2, timed\n"
