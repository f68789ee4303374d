"""Progress on a terminal, and elsewhere."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from demo.view.live import Picture, View

PICTURE = Picture("the pipeline", ("record", "try out", "forecast"), 1, "scenarios", 3, 25, " trials")


def test_terminal_shows_events_and_the_step_of_the_last_job_with_its_count() -> None:
    out, bar = io.StringIO(), Console(file=io.StringIO(), width=100)
    console = Console(file=out, force_terminal=True, width=100, height=24, color_system=None)
    with View(console) as view:
        view.show(Picture("the failover", ("count", "drain"), 0))
        view.step("join m2")
        view.show(PICTURE)
        with bar.capture() as shown:
            bar.print(view._bar.get_renderable())
    assert "join m2" in out.getvalue()
    for part in ("the pipeline: try out", "scenarios", "3 of 25 trials"):
        assert part in shown.get()
    assert "the failover" not in shown.get()


def test_plain_view_prints_a_line_a_step_and_else_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    out, now = io.StringIO(), [0.0]
    monkeypatch.setattr("demo.view.live.time.monotonic", lambda: now[0])
    with View(Console(file=out)) as view:
        view.step("join m2")
        for now[0] in (0.0, 1.0, 6.0):
            view.show(dataclasses.replace(PICTURE, now=0, state="", total=None))
        view.show(PICTURE)
        view.show(dataclasses.replace(PICTURE, done=4))
        now[0] = 11.0
        view.show(dataclasses.replace(PICTURE, done=9))
        view.show(dataclasses.replace(PICTURE, done=25))
        view.show(dataclasses.replace(PICTURE, now=3))
    assert out.getvalue().splitlines() == [
        "join m2",
        "the pipeline: record",
        "the pipeline: record, 6 s",
        "the pipeline: try out (scenarios), 3 of 25 trials",
        "the pipeline: try out (scenarios), 9 of 25 trials",
        "the pipeline: try out (scenarios), 25 of 25 trials",
        "the pipeline: done",
    ]
