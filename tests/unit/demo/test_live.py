from __future__ import annotations

import io

import pytest
from rich.console import Console

from kafka_assignors.demo.live import LiveView, PlainView, band, chart, dashboard
from tests.unit.demo.test_watch import busy, snapshot


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
        "strategy 1 of 2",
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
    monkeypatch.setattr("kafka_assignors.demo.live.time.monotonic", lambda: next(times))
    out = io.StringIO()
    with PlainView(out) as view:
        view.step("join m2")
        for _ in range(3):
            view.update(snapshot(busy()))
    assert out.getvalue().splitlines() == [
        "join m2",
        "range: replaying 4 s, 2 members, 7 of 15 records, lag 8, 1 moved",
    ]
