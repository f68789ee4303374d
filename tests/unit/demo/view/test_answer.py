"""The answer a demo gives: its choice follows from the results, and its words are true of any results."""

from __future__ import annotations

import copy
from typing import Literal

import pytest

from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.results import DrainResult, Results, StrategyResult
from demo.view.answer import answer
from tests.unit.demo.pipeline.runs import pipeline
from tests.unit.demo.story import eager_join, results_of, uneven_backlog

NAMES = ("range", "cooperative-sticky", "cooperative-lag-aware")


def replayed(name: str, pause_total: float, moved: int) -> StrategyResult:
    one = copy.deepcopy(measure("range", eager_join()))
    one["strategy"], one["pause_total"], one["moved"] = name, pause_total, moved
    return one


def drained(name: str, drain: float) -> DrainResult:
    """A drain by members as fast as in every other: it takes as long as the largest load."""
    one = copy.deepcopy(measure_drain("range", uneven_backlog(), work_ms=100))
    one["strategy"], one["drain"], one["largest_load"] = name, drain, round(100 * drain)
    return one


@pytest.fixture
def results() -> Results:
    """Two partitions, one step of the churn; the third strategy drains fastest, the second stops least."""
    return results_of(
        [replayed(*run) for run in zip(NAMES, (9.0, 4.0, 6.0), (19, 10, 12), strict=True)],
        [drained(*run) for run in zip(NAMES, (6.0, 5.5, 4.0), strict=True)],
        pipeline("cooperative-lag-aware (load=forecast)", "range"),
    )


def test_best_of_each_scene_is_recommended_for_it_with_every_measured_time(results: Results) -> None:
    headline, (backlog, replay, backtest), chosen = answer(results)
    assert headline == (
        "Use cooperative-lag-aware for uneven load, cooperative-sticky where members come and go"
    )
    assert chosen == {"cooperative-lag-aware", "cooperative-sticky"}
    assert backlog == (
        "cooperative-lag-aware drained the backlog of 50 flights in 4.0 s, against 5.5 s with "
        "cooperative-sticky and 6.0 s with range; its busiest member had 400, with range 600."
    )
    assert replay == (
        "While the group changed once, a partition stood still for 2.0 s on average with cooperative-sticky, "
        "against 3.0 s with cooperative-lag-aware and 4.5 s with range; cooperative-sticky moved 10 "
        "partitions, range 19."
    )
    assert backtest == (
        "The back-test of 2 strategies and settings on the recorded load agrees: it puts "
        "cooperative-lag-aware (load=forecast) first."
    )


@pytest.mark.parametrize(("stop", "tie"), [(3.9, ""), (4.2, " (a tie)")])
def test_strategy_that_is_best_in_both_scenes_or_ties_is_recommended(
    results: Results, stop: float, tie: str
) -> None:
    results["strategies"][2]["pause_total"], results["strategies"][2]["moved"] = stop, 10
    if not tie:
        results["strategies"][1]["pause_total"] = 8.0
    advice = answer(results)
    assert advice.headline == "Use cooperative-lag-aware"
    assert advice.chosen == {"cooperative-lag-aware"}
    assert advice.sentences[1].count("(a tie)") == bool(tie)
    assert "agrees: it puts cooperative-lag-aware (load=forecast) first." in advice.sentences[2]


def test_fewer_moves_decide_between_standstills_that_tie(results: Results) -> None:
    results["strategies"][0]["pause_total"] = 3.9
    advice = answer(results)
    assert "cooperative-sticky where members come and go" in advice.headline
    assert "range" not in advice.headline
    assert "2.0 s on average with cooperative-sticky, against 1.9 s with range (a tie)" in advice.sentences[1]


def test_back_test_that_recommends_another_strategy_disagrees(results: Results) -> None:
    results["strategies"][2]["pause_total"] = 3.0
    results["pipeline"] = pipeline("sticky", "range")
    assert answer(results).sentences[2].endswith("disagrees: it puts sticky first.")


def test_strategies_that_tie_in_everything_are_all_recommended(results: Results) -> None:
    for drain, replay in zip(results["backlog"], results["strategies"], strict=True):
        drain["drain"], drain["largest_load"] = 5.0, 500
        replay["pause_total"], replay["moved"] = 4.0, 10
    advice = answer(results)
    assert advice.headline == "Use range or cooperative-sticky or cooperative-lag-aware: they tie"
    assert advice.sentences[0].count("(a tie)") == 2


def test_strategy_that_failed_is_not_recommended_however_fast(results: Results) -> None:
    results["backlog"][2]["fault"] = "not drained within 4 s"
    advice = answer(results)
    assert advice.headline == "Use cooperative-sticky"
    assert advice.sentences[0].endswith("with range 600. Failed, and so not judged: cooperative-lag-aware.")
    assert "cooperative-lag-aware" not in advice.sentences[1]
    for one in results["strategies"]:
        one["lost"] = 1
    assert answer(results).headline == "No strategy can be recommended: each of them failed"


@pytest.mark.parametrize(("figure", "value"), [("lost", 5), ("double_owned", 3), ("owned_at_end", 1)])
def test_strategy_with_a_fault_in_one_scene_is_not_judged(
    results: Results, figure: Literal["lost", "double_owned", "owned_at_end"], value: int
) -> None:
    results["strategies"][2][figure] = value
    advice = answer(results)
    assert advice.chosen == {"cooperative-sticky"}
    assert advice.sentences[0].endswith("Failed, and so not judged: cooperative-lag-aware.")


def test_drains_on_a_machine_that_slowed_some_of_them_do_not_decide(results: Results) -> None:
    results["backlog"][2]["drain"] = 5.2
    advice = answer(results)
    assert advice.headline == "Use cooperative-sticky where members come and go"
    assert advice.sentences[0] == (
        "Members worked at different speeds in these drains, so their times do not decide: 5.2 s with "
        "cooperative-lag-aware, 5.5 s with cooperative-sticky (a tie) and 6.0 s with range."
    )


def test_scene_that_did_not_run_is_named_and_the_other_one_decides(results: Results) -> None:
    results["backlog"] = []
    advice = answer(results)
    assert advice.headline == "Use cooperative-sticky where members come and go"
    assert advice.sentences[0].startswith("No strategy drained a backlog here")


def test_replay_without_churn_tells_nothing_of_rebalances(results: Results) -> None:
    for one in results["strategies"]:
        one["steps"] = []
    advice = answer(results)
    assert advice.headline == "Use cooperative-lag-aware for uneven load"
    assert advice.sentences[1].startswith("No group changed in a replay here")
    results["backlog"] = []
    assert answer(results).headline == "The runs show no difference between the strategies"


def test_scene_that_only_some_strategies_have_run_does_not_decide(results: Results) -> None:
    """A report is written after each run."""
    del results["backlog"][1:]
    assert answer(results).headline == "Use cooperative-sticky where members come and go"


def test_one_strategy_alone_is_not_recommended(results: Results) -> None:
    del results["backlog"][1:], results["strategies"][1:]
    advice = answer(results)
    assert advice.headline == "Only range can be judged: there is nothing to compare it with"
    assert advice.sentences[0] == "range drained the backlog of 50 flights in 6.0 s."


@pytest.mark.parametrize(
    ("fault", "message"),
    [("", "made no back-test."), ("record: <gone>", "made no back-test: record: <gone>.")],
)
def test_missing_back_test_says_why(results: Results, fault: str, message: str) -> None:
    assert results["pipeline"] is not None
    results["pipeline"]["backtest"], results["pipeline"]["fault"] = None, fault
    assert message in answer(results).sentences[2]
    results["pipeline"] = None
    assert answer(results).sentences[2].startswith("The pipeline did not run")


def test_best_and_worst_of_many_others_are_named(results: Results) -> None:
    results["strategies"] = []
    results["backlog"] = [drained(name, 4.0 + place) for place, name in enumerate("abcd")]
    assert (
        answer(results)
        .sentences[0]
        .endswith(" 5.0 s with b to 7.0 s with d; its busiest member had 400, with d 700.")
    )
