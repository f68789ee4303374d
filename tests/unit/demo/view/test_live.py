from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from demo.group.work import Work
from demo.view.live import LiveView, PlainView, band, chart, completed, dashboard, steps_of
from demo.view.watch import Phase, RunView
from tests.unit.demo.story import S
from tests.unit.demo.view.test_watch import busy, snapshot


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_the_dashboard_fills_the_screen_and_no_more(width: int, height: int) -> None:
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None)
    lines = console.render_lines(dashboard(snapshot(busy()), "join m2", width, height), pad=False)
    text = ["".join(segment.text for segment in line) for line in lines]
    assert len(text) == height
    assert max(map(len, text)) == width
    whole = "\n".join(text)
    for part in (
        "range",
        "the replay, strategy 1 of 2",
        "✓ join m2",
        "▶ kill m1 in 1 s",
        "drain",
        "moved so far 1",
        "lag 8 records",
    ):
        assert part in whole
    assert any("m1" in line and "100" in line and "running" in line for line in text)


def test_the_band_names_owners_and_marks_orphans() -> None:
    upper, lower = band(("m1", None, "m2"), 60)
    assert upper.plain.split() == ["0", "1", "2"]
    assert lower.plain.split() == ["m1", "··", "m2"]


def test_a_long_band_wraps_without_numbers() -> None:
    rows = band(("m1",) * 100, 40)
    assert len(rows) == 6
    assert all(len(row.plain) <= 40 for row in rows)


def test_the_chart_is_as_high_and_wide_as_asked() -> None:
    assert chart((0, 4, 8), 10, 2) == ["  █", " ██"]
    assert chart((), 10, 1) == [""]
    assert len(chart(tuple(range(100)), 20, 3)[0]) == 20


def test_the_live_view_leaves_the_alternate_screen() -> None:
    out = io.StringIO()
    with LiveView(Console(file=out, force_terminal=True, width=80, height=24)) as view:
        view.step("starting the broker")
        view.update(snapshot(busy()))
    assert "starting the broker" in out.getvalue()
    assert out.getvalue().index("\x1b[?1049h") < out.getvalue().index("\x1b[?1049l")


def test_the_plain_view_prints_steps_at_once_and_pictures_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((100.0, 101.0, 106.0, 106.0, 107.0))  # at the start; early; late, and so noted; early
    monkeypatch.setattr("demo.view.live.time.monotonic", lambda: next(times))
    out = io.StringIO()
    with PlainView(out) as view:
        view.step("join m2")
        for _ in range(3):
            view.update(snapshot(busy()))
    assert out.getvalue().splitlines() == [
        "join m2",
        "range: replaying 4 s, 2 members, 7 of 15 records, lag 8, 1 moved",
    ]


def backlog_at(phase: Phase) -> RunView:
    return RunView("backlog", "cooperative-lag-aware", 2, 5, phase, elapsed=4, duration=12.4, to_send=30)


@pytest.mark.parametrize(
    ("phase", "line", "clock", "part"),
    [
        ("filling", "▶ fill   · members join   · drain", "filling  4 s ", 15 / 30),
        ("starting", "✓ fill   ▶ members join   · drain", "starting  4 s ", 7 / 30),
        ("draining", "✓ fill   ✓ members join   ▶ drain", "draining  4 s, at least 12 s", 7 / 30),
        ("done", "✓ fill   ✓ members join   ✓ drain", "done  4 s ", 7 / 30),
    ],
)
def test_the_backlog_is_filled_then_joined_then_drained(
    phase: Phase, line: str, clock: str, part: float
) -> None:
    console = Console(width=80, height=24, file=io.StringIO(), force_terminal=True, color_system=None)
    picture = busy().snapshot(4 * S, backlog_at(phase))
    lines = console.render_lines(dashboard(picture, "go", 80, 24), pad=False)
    whole = "\n".join("".join(segment.text for segment in one) for one in lines)
    for text in ("the backlog, strategy 2 of 5", "cooperative-lag-aware", line, clock):
        assert text in whole
    assert completed(picture) == pytest.approx(part)


def test_a_replay_is_done_when_its_time_is_over() -> None:
    picture = snapshot(busy())
    assert completed(picture) == 0.4
    late = dataclasses.replace(picture.run, elapsed=99)
    assert completed(dataclasses.replace(picture, run=late)) == 1.0
    starting = dataclasses.replace(picture.run, phase="starting")
    assert completed(dataclasses.replace(picture, run=starting)) == 0.0


def test_a_line_of_the_plain_view_says_how_far_the_backlog_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((100.0, 106.0, 106.0))
    monkeypatch.setattr("demo.view.live.time.monotonic", lambda: next(times))
    out = io.StringIO()
    with PlainView(out) as view:
        view.update(busy().snapshot(4 * S, backlog_at("filling")))
    assert out.getvalue() == "cooperative-lag-aware: filling 4 s, 15 of 30 records\n"


WORK = Work("the pipeline", ("record", "try out", "forecast"), 1, "scenarios", 3, 25)


def test_the_steps_of_a_long_job_are_marked() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(steps_of(WORK, 76))
    text = out.getvalue()
    assert "the pipeline" in text
    for part in ("✓ record", "▶ try out", "scenarios  3 of 25", "· forecast"):
        assert part in text
    assert max(map(len, text.splitlines())) == 80


def test_the_live_view_shows_a_long_job_in_place_of_the_last_picture() -> None:
    out = io.StringIO()
    with LiveView(Console(file=out, force_terminal=True, width=80, height=24)) as view:
        view.update(snapshot(busy()))
        view.work(WORK)
    assert "▶ try out" in out.getvalue()


def test_the_plain_view_prints_a_line_a_step_of_a_long_job_and_else_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, now = io.StringIO(), [0.0]
    monkeypatch.setattr("demo.view.live.time.monotonic", lambda: now[0])
    view = PlainView(out)
    view.work(dataclasses.replace(WORK, now=0, said="", total=None))
    view.work(WORK)
    view.work(dataclasses.replace(WORK, done=4))
    now[0] = 5.0
    view.work(dataclasses.replace(WORK, done=9))
    view.work(dataclasses.replace(WORK, now=3))
    assert out.getvalue().splitlines() == [
        "the pipeline: record",
        "the pipeline: try out (scenarios), 3 of 25",
        "the pipeline: try out (scenarios), 9 of 25",
        "the pipeline: done",
    ]
