"""The demo's report, opened in a browser: what is drawn, what is written, what can be seen."""

from __future__ import annotations

import pytest

from demo.failover.acts import TASKS
from demo.view.answer import answer
from tests.integration.demo.browser import WIDTH, Look, look_at, vivid_colours
from tests.integration.demo.small_demo import MEMBERS, PARTITIONS, STRATEGIES, Demo
from tests.unit.report.reading import text_of

HEIGHT = 20_000
FIRST_SCREEN = 800  # px


@pytest.fixture(scope="module")
def look(demo: Demo) -> Look:
    return look_at(demo.out / "report.html", HEIGHT)


@pytest.fixture(scope="module")
def whole_look(whole: Demo) -> Look:
    return look_at(whole.out / "report.html", HEIGHT)


def figures_of_two_scenes() -> set[str]:
    each = range(len(STRATEGIES))
    replay = {f"{kind}-{i}" for kind in ("ownership", "lag") for i in each}
    backlog = {"largest-lag", *(f"backlog-lag-{i}" for i in each)}
    return {"answer-drain", "answer-standstill"} | replay | backlog


def test_report_draws_without_an_error(look: Look) -> None:
    assert look.failures == []
    assert set(look.page.texts) == figures_of_two_scenes()
    assert look.width <= WIDTH


@pytest.mark.long
def test_full_report_draws_without_an_error(whole_look: Look) -> None:
    assert whole_look.failures == []
    others = {"still-join", "still-kill", "course-0", "course-1"}
    assert set(whole_look.page.texts) == figures_of_two_scenes() | others
    assert whole_look.width <= WIDTH


def test_first_screen_shows_the_answer_and_its_picture(demo: Demo, look: Look) -> None:
    text = text_of((demo.out / "report.html").read_text(encoding="utf-8"))
    advice = answer(demo.results)
    for sentence in (advice.headline, *advice.sentences):
        assert sentence in text
    for plot in ("answer-drain", "answer-standstill"):
        *_, bottom = look.boxes[plot]
        assert bottom < FIRST_SCREEN
        assert look.page.bars[plot] == [len(STRATEGIES)]
        assert set(STRATEGIES) <= set(look.page.texts[plot])


def test_holds_warm_ups_and_waits_are_bars(demo: Demo, look: Look) -> None:
    for place, entry in enumerate(demo.results["strategies"]):
        held = [sum(hold["member"] == member for hold in entry["holds"]) for member in MEMBERS]
        unowned, *members, warm_ups, waiting = look.page.bars[f"ownership-{place}"]
        assert members == held
        assert sum(held) >= PARTITIONS
        assert (warm_ups, waiting) == (len(entry["openings"]), len(entry["waits"]))
        assert unowned > 0  # after the kill


def test_axes_legends_and_churn_are_labelled(look: Look) -> None:
    time_axis = "time since the first record (s)"
    churn = ["m4 joins", "m1 leaves", "kill -9 m2"]
    for place in range(len(STRATEGIES)):
        bands = look.page.texts[f"ownership-{place}"]
        for text in (time_axis, "partition", "no owner", "warming up", "waiting", *MEMBERS, *churn):
            assert text in bands
        for text in (time_axis, "lag (records)", "total", *MEMBERS, *churn):
            assert text in look.page.texts[f"lag-{place}"]


def test_backlog_figures_name_strategies_members_and_the_bound(demo: Demo, look: Look) -> None:
    bound = f"lower bound {demo.results['backlog'][0]['bound']:.1f} s"
    texts = look.page.texts
    for text in ("largest lag of a member (records)", "lower bound", bound, *STRATEGIES):
        assert text in texts["largest-lag"]
    for place in range(len(STRATEGIES)):
        for text in ("lag (records)", "total", "m1", "m2", "m3", bound):
            assert text in texts[f"backlog-lag-{place}"]


@pytest.mark.long
def test_failover_figure_has_a_bar_for_each_task_and_event(whole_look: Look) -> None:
    for plot in ("still-join", "still-kill"):
        texts = whole_look.page.texts[plot]
        for text in ("task", "longest time without progress (s)", "cold", "with standbys and warm-ups"):
            assert text in texts
        assert whole_look.page.bars[plot] == [TASKS] * 2


@pytest.mark.long
def test_pipeline_figures_name_candidates_and_churn(whole: Demo, whole_look: Look) -> None:
    pipeline = whole.results["pipeline"]
    assert pipeline is not None
    assert pipeline["backtest"] is not None
    names = [entry["candidate"] for entry in pipeline["backtest"]["candidates"]]
    for scene in (0, 1):
        for text in ("lag (records)", "recorded", *names):
            assert text in whole_look.page.texts[f"course-{scene}"]
    for text in ("a member joins", "one leaves", "one is killed"):
        assert text in whole_look.page.texts["course-0"]
        assert text not in whole_look.page.texts["course-1"]


LOOKS = ["look", pytest.param("whole_look", marks=pytest.mark.long)]


@pytest.mark.parametrize("which", LOOKS)
def test_churn_labels_do_not_overlap(request: pytest.FixtureRequest, which: str) -> None:
    look: Look = request.getfixturevalue(which)
    assert len(look.labels) >= 15  # of three steps in six figures
    for plot, label, other in look.labels_in_pairs():
        apart = label[2] <= other[0] or other[2] <= label[0] or label[3] <= other[1] or other[3] <= label[1]
        assert apart, (plot, label, other)


@pytest.mark.parametrize("which", LOOKS)
def test_every_plot_has_colours(request: pytest.FixtureRequest, which: str) -> None:
    look: Look = request.getfixturevalue(which)
    demo: Demo = request.getfixturevalue({"look": "demo", "whole_look": "whole"}[which])
    runs = demo.results["strategies"]
    span = max(run["end"] for run in runs) + 2  # seconds on the axis of all plots
    whole_area = demo.results["settings"]["partitions"] * span
    for plot, vivid, area in vivid_colours(look):
        assert len(vivid) >= 2, plot  # at least two members, or two strategies
        if plot.startswith("ownership"):
            holds = runs[int(plot.removeprefix("ownership-"))]["holds"]
            owned = sum(hold["end"] - hold["start"] for hold in holds) / whole_area
            assert sum(vivid.values()) > 0.25 * owned * area, plot
