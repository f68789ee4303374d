"""Labels above a plot do not overlap; all figures have one look."""

from __future__ import annotations

import itertools

import pytest

from kafka_assignors.report.drawing import LETTER, LOOK, NARROWEST, Mark, bars, figure, label_rows, mark

SPAN = [-1.0, 65.0]


@pytest.mark.parametrize(
    ("times", "rows"),
    [([], []), ([12, 30, 48], [0, 0, 0]), ([12, 14, 16], [0, 1, 2]), ([12, 14, 32, 34], [0, 1, 0, 1])],
)
def test_labels_that_would_overlap_get_rows_of_their_own(times: list[float], rows: list[int]) -> None:
    assert label_rows([Mark(at, "kill -9 m2") for at in times], SPAN) == rows


def test_no_two_labels_of_a_row_overlap() -> None:
    marks = [Mark(at / 3, "kill -9 m2" if at % 2 else "m5 joins") for at in range(3, 120, 2)]
    rows = label_rows(marks, SPAN)
    scale = NARROWEST / (SPAN[1] - SPAN[0])
    for row in set(rows):
        of_row = [mark for mark, its in zip(marks, rows, strict=True) if its == row]
        for left, right in itertools.pairwise(of_row):
            wide = (len(left.label) + len(right.label)) / 2 * LETTER
            assert (right.at - left.at) * scale >= wide


def test_rows_of_labels_make_a_figure_higher_not_its_plot_lower() -> None:
    marked = mark(
        figure(height=300, xaxis={"range": SPAN}), [Mark(12, "m5 joins"), Mark(13, "m1 leaves")]
    ).layout
    assert marked.margin.t - LOOK.layout.margin.t == marked.height - 300 > 0
    assert [note.showarrow for note in marked.annotations] == [False, True]
    assert [line.x0 for line in marked.shapes] == [12, 13]


def test_bars_leave_room_for_their_texts_and_none_has_no_bar() -> None:
    drawn = bars(["a", "b"], [10.0, None], ["10 s", "-"], ["#000000", "#FFFFFF"], "seconds")
    assert (drawn.data[0].y, drawn.data[0].x, drawn.data[0].text) == (("a", "b"), (10.0, 0.0), ("10 s", "-"))
    assert drawn.layout.xaxis.range[1] > 10
    assert drawn.layout.template == LOOK
