"""The report of a back-test, opened in a browser."""

from __future__ import annotations

import pytest

from kafka_assignors.pipeline.backtest.page import render
from kafka_assignors.pipeline.backtest.results import Results
from tests.integration.demo.browser import WIDTH, Look, look_at, vivid_colours
from tests.unit.pipeline.backtest.trials import small_results

PLOTS = ["course-0", "course-1"]
BARS = ["drain", "moves", "pauses", "late"]


@pytest.fixture(scope="module")
def results() -> Results:
    return small_results()


@pytest.fixture(scope="module")
def look(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Look:
    page = tmp_path_factory.mktemp("backtest") / "report.html"
    page.write_text(render(results), encoding="utf-8")
    return look_at(page, 5000)


def test_report_draws_without_an_error(look: Look) -> None:
    assert look.failures == []
    assert set(look.page.texts) == {*PLOTS, *BARS}
    assert look.width <= WIDTH


def test_every_candidate_is_in_every_legend_and_beside_a_bar(results: Results, look: Look) -> None:
    names = [row["candidate"] for row in results["candidates"]]
    for plot in PLOTS:
        assert set(names) <= set(look.page.texts[plot])
        assert {"a member joins", "one is killed"} <= set(look.page.texts[plot])
        assert {"lag (records)", "time lag (s)"} <= set(look.page.texts[plot])
    for plot in BARS:
        assert look.page.bars[plot] == [len(names)]
        assert set(names) <= set(look.page.texts[plot])


def test_churn_labels_do_not_overlap(look: Look) -> None:
    assert len(look.labels) == 2 * len(PLOTS)
    for plot, label, other in look.labels_in_pairs():
        apart = label[2] <= other[0] or other[2] <= label[0] or label[3] <= other[1] or other[3] <= label[1]
        assert apart, (plot, label, other)


def test_every_plot_has_colours(look: Look) -> None:
    for plot, vivid, _ in vivid_colours(look):
        assert len(vivid) >= 2, plot
