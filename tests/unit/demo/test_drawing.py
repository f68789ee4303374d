"""What is drawn of the backlog, and how labels keep out of each other's way."""

from __future__ import annotations

import itertools

import pytest

from demo.figures.drain import measure_drain
from demo.report import backlog_figures
from demo.results import DrainResult
from kafka_assignors.report.drawing import (
    LETTER,
    NARROWEST,
    Mark,
    axis,
    label_rows,
    layout,
    legend_below,
    marked,
)
from kafka_assignors.report.palette import member_colour
from tests.unit.demo.story import uneven_backlog

SPAN = [-1.0, 65.0]


@pytest.fixture
def runs() -> list[DrainResult]:
    return [measure_drain("range", uneven_backlog(), work_ms=100)]


@pytest.mark.parametrize(
    ("times", "rows"),
    [
        ([], []),
        ([12, 30, 48], [0, 0, 0]),
        ([12, 14, 16], [0, 1, 2]),
        ([12, 14, 32, 34], [0, 1, 0, 1]),
    ],
)
def test_labels_that_would_overlap_get_rows_of_their_own(times: list[float], rows: list[int]) -> None:
    assert label_rows([Mark(at, "kill -9 m2") for at in times], SPAN) == rows


def test_no_two_labels_of_a_row_overlap() -> None:
    marks = [Mark(at / 3, "kill -9 m2" if at % 2 else "m5 joins") for at in range(3, 120, 2)]
    rows = label_rows(marks, SPAN)
    scale = NARROWEST / (SPAN[1] - SPAN[0])
    for row in set(rows):
        of_row = [mark for mark, its in zip(marks, rows, strict=True) if its == row]
        for one, other in itertools.pairwise(of_row):
            wide = (len(one.label) + len(other.label)) / 2 * LETTER
            assert (other.at - one.at) * scale >= wide


def test_rows_of_labels_make_a_figure_higher_not_its_plot_lower() -> None:
    plain = layout(height=300, bottom=60) | {"xaxis": axis("t", SPAN)}
    high = marked(
        layout(height=300, bottom=60) | {"xaxis": axis("t", SPAN)},
        [Mark(12, "m5 joins"), Mark(13, "m1 leaves")],
    )
    assert high["margin"]["t"] - plain["margin"]["t"] == high["height"] - plain["height"] > 0
    assert [note["showarrow"] for note in high["annotations"]] == [False, True]


@pytest.mark.parametrize("height", [200, 400, 900])
def test_a_legend_is_as_far_below_a_small_plot_as_below_a_large_one(height: int) -> None:
    look = layout(height=height, bottom=80)
    legend_below(look)
    plot = height - look["margin"]["t"] - look["margin"]["b"]
    assert look["legend"]["y"] * plot == pytest.approx(-52)


def test_a_bar_says_how_far_from_the_bound_it_ends(runs: list[DrainResult]) -> None:
    figure = backlog_figures.drain_times(runs, {"range": "#000000"})
    assert figure["data"][0]["x"] == [6.0]
    assert figure["data"][0]["text"] == ["6.0 s \u00b7 2.00 \u00d7"]
    assert figure["layout"]["shapes"][0]["x0"] == 3.0
    assert figure["layout"]["annotations"][0]["text"] == "lower bound 3.0 s"


def test_without_a_bound_a_bar_says_its_time_only() -> None:
    free = [measure_drain("range", uneven_backlog(), work_ms=0)]
    figure = backlog_figures.drain_times(free, {"range": "#000000"})
    assert figure["data"][0]["text"] == ["6.0 s"]


def test_the_largest_lag_stands_beside_that_of_a_plan_on_the_bound(runs: list[DrainResult]) -> None:
    line, bound = backlog_figures.largest(runs, {"range": "#000000"})["data"]
    assert (line["x"][0], line["y"][0]) == (0.0, 40)
    assert (bound["x"], bound["y"]) == ([0.0, 3.0], [30, 0])


def test_every_member_has_a_bar_of_its_load_beside_the_least_largest(runs: list[DrainResult]) -> None:
    figure = backlog_figures.loads(runs)
    assert [(bar["name"], bar["y"], bar["customdata"]) for bar in figure["data"]] == [
        ("m1", [40], [2]),
        ("m2", [10], [1]),
    ]
    assert figure["data"][0]["marker"]["color"] == member_colour("m1")
    assert figure["layout"]["shapes"][0]["y0"] == 30
