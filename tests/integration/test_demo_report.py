"""The demo's report, opened in a browser: what is drawn, what is written, what can be seen."""

from __future__ import annotations

import pytest

from kafka_assignors.demo.failover.acts import TASKS
from tests.integration.browser import WIDTH, Look, look_at, vivid_colours
from tests.integration.small_demo import DRAINING, MEMBERS, PARTITIONS, STRATEGIES, Demo, small_demo

HEIGHT = 15500


@pytest.fixture(scope="module")
def demo(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return small_demo(kafka_bootstrap, tmp_path_factory)


@pytest.fixture(scope="module")
def look(demo: Demo) -> Look:
    return look_at(demo.out / "report.html", HEIGHT)


def test_the_report_draws_without_an_error(look: Look) -> None:
    assert look.failures == []
    replay = {"ownership-0", "lag-0", "ownership-1", "lag-1", "pauses", "moves"}
    backlog = {"drain-times", "largest-lag", "loads", *(f"backlog-lag-{i}" for i in range(len(DRAINING)))}
    tried = {f"{kind}-tried-{scene}" for kind in ("lag", "time-lag") for scene in (0, 1)}
    assert set(look.page.texts) == replay | backlog | {"still"} | tried | {"hours"}
    assert look.width <= WIDTH


def test_every_hold_is_a_bar_of_its_members_trace_and_every_pause_a_point(demo: Demo, look: Look) -> None:
    for place, one in enumerate(demo.results["strategies"]):
        held = [sum(hold["member"] == member for hold in one["holds"]) for member in MEMBERS]
        unowned, *members, warm_ups, waiting = look.page.bars[f"ownership-{place}"]
        assert members == held
        assert sum(held) >= PARTITIONS
        assert (warm_ups, waiting) == (len(one["openings"]), len(one["waits"]))
        assert unowned > 0  # after the kill
    paused = [pause for one in demo.results["strategies"] for pause in one["pauses"] if pause["seconds"] > 0]
    assert look.page.points["pauses"] == len(paused)


def test_axes_legends_and_churn_are_labelled(look: Look) -> None:
    time_axis = "time since the first record (s)"
    churn = ["m4 joins", "m1 leaves", "kill -9 m2"]
    for place in (0, 1):
        bands = look.page.texts[f"ownership-{place}"]
        for text in (time_axis, "partition", "no owner", "warming up", "waiting", *MEMBERS, *churn):
            assert text in bands
        for text in (time_axis, "lag (records)", "total", *MEMBERS, *churn):
            assert text in look.page.texts[f"lag-{place}"]
    for plot, axis in (("pauses", "pause of a partition (s)"), ("moves", "partitions moved so far")):
        for text in (axis, *STRATEGIES, *churn):
            assert text in look.page.texts[plot]


def test_the_backlogs_figures_name_strategies_members_and_the_bound(demo: Demo, look: Look) -> None:
    bound = f"lower bound {demo.results['backlog'][0]['bound']:.1f} s"
    texts, bars = look.page.texts, look.page.bars
    for text in ("drain time (s)", bound, *DRAINING):
        assert text in texts["drain-times"]
    for text in ("largest lag of a member (records)", "lower bound", bound, *DRAINING):
        assert text in texts["largest-lag"]
    for text in ("load at the start (records)", "m1", "m2", "m3", *DRAINING):
        assert text in texts["loads"]
    assert bars["drain-times"] == [len(DRAINING)]
    assert bars["loads"] == [len(DRAINING)] * 3
    for place in range(len(DRAINING)):
        for text in ("lag (records)", "total", "m1", "m2", "m3", bound):
            assert text in texts[f"backlog-lag-{place}"]


def test_the_failovers_figure_has_a_bar_a_task_and_event(look: Look) -> None:
    texts = look.page.texts["still"]
    for text in ("task", "longest time without progress (s)", "cold", "with standbys and warm-ups"):
        assert text in texts
    for text in ("one joins", "one is killed with -9 (broken: the session timeout, 6 s)"):
        assert text in texts
    assert look.page.bars["still"] == [TASKS] * 4


def test_the_pipelines_figures_name_candidates_churn_and_forecasts(demo: Demo, look: Look) -> None:
    pipeline = demo.results["pipeline"]
    assert pipeline is not None
    assert pipeline["backtest"] is not None
    names = [one["candidate"] for one in pipeline["backtest"]["candidates"]]
    for scene in (0, 1):
        for text in ("lag (records)", "recorded", *names):
            assert text in look.page.texts[f"lag-tried-{scene}"]
    for text in ("a member joins", "one leaves", "one is killed"):
        assert text in look.page.texts["lag-tried-0"]
        assert text not in look.page.texts["lag-tried-1"]
    for text in ("hour (UTC)", "records in the hour", "came", "forecast", "the hour before again"):
        assert text in look.page.texts["hours"]
    assert look.page.bars["hours"] == [7 * 24]


def test_labels_of_the_churn_do_not_overlap(look: Look) -> None:
    assert len(look.labels) >= 15  # of three steps in five figures
    for plot, one, other in look.labels_in_pairs():
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (plot, one, other)


def test_the_picture_shows_colours_in_every_plot(look: Look) -> None:
    for plot, vivid, area in vivid_colours(look):
        assert len(vivid) >= 2, plot  # at least two members, or two strategies
        if plot.startswith("ownership"):
            assert sum(vivid.values()) > 0.2 * area, plot
