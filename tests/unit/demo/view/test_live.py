from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from demo.view.live import Picture, View

PICTURE = Picture("the pipeline", ("record", "try out", "forecast"), 1, "scenarios", 3, 25)


def drawn(*pictures: Picture) -> str:
    """Draw pictures on a terminal; return an event and the last picture."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=24, color_system=None)
    with View(console) as view:
        for picture in pictures:
            view.show(picture)
        view.step("join m2")
        bar = Console(file=io.StringIO(), width=100)
        with bar.capture() as shown:
            bar.print(view._bar.get_renderable())
    return out.getvalue().partition("join m2")[1] + shown.get()


def test_terminal_shows_the_step_with_its_count() -> None:
    text = drawn(PICTURE)
    for part in ("join m2", "the pipeline: try out", "scenarios", "3 of 25"):
        assert part in text


def test_terminal_begins_anew_with_another_job() -> None:
    text = drawn(PICTURE, Picture("the failover", ("count", "drain"), 0))
    assert "the failover" in text
    assert "try out" not in text


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
        "the pipeline: try out (scenarios), 3 of 25",
        "the pipeline: try out (scenarios), 9 of 25",
        "the pipeline: try out (scenarios), 25 of 25",
        "the pipeline: done",
    ]


def test_unit_of_a_step_is_named() -> None:
    picture = Picture("the replay, range", ("join m5", "drain"), 0, "lag 3", 4, 20, " s")
    assert picture.line == "the replay, range: join m5 (lag 3), 4 of 20 s"
