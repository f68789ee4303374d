"""What came of trials, as the results of a back-test."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest import job
from kafka_assignors.pipeline.backtest.grid import NO_RATE, Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.job import TrialResult, try_out
from kafka_assignors.pipeline.backtest.phrases import about_history
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.pipeline.backtest.results import RunResult
from kafka_assignors.pipeline.backtest.summary import MOST_LINES, summed_up
from kafka_assignors.simulation import History, Outcome, parse_churn, recommend
from tests.unit.pipeline.backtest.trials import (
    STARTED,
    STRATEGIES,
    grid,
    reader_of,
    recorded,
    results,
    small_results,
    tried,
)

RUN = RunResult(history="h", cores=2, scenarios=4, failed=0, seconds=1.5)


def one_group(what: Grid) -> tuple[list[Recorded], list[Trial], list[TrialResult]]:
    of = [recorded()]
    return of, *tried(of, what)


def test_candidates_have_place_reasons_and_means_of_the_recommendation() -> None:
    of, trials, found = one_group(grid())
    totals = results(of, trials, found)
    outcomes = [one.outcome for one in found if one.outcome]
    ranking = recommend(outcomes).ranking
    assert [(one["candidate"], one["place"], one["reasons"]) for one in totals["candidates"]] == [
        (str(one), one.place, list(one.reasons)) for one in ranking
    ]
    assert totals["judged_by"] == 4
    for one in totals["candidates"]:
        its = [outcome for outcome in outcomes if outcome.strategy == one["strategy"]]
        assert one["scenarios"] == 4
        assert one["moved"] == pytest.approx(np.mean([o.moved for o in its]), abs=1e-3)
        assert one["time_lag_p99"] == pytest.approx(np.mean([o.time_lag_p99 for o in its]), abs=1e-3)


def test_drain_time_is_the_mean_of_drained_situations() -> None:
    of, trials, found = one_group(grid(["range"]))
    for number, drain in enumerate((None, 10.0, 20.0, None)):
        outcome = found[number].outcome
        assert outcome is not None
        found[number] = replace(found[number], outcome=replace(outcome, drain_s=drain))
    [one] = results(of, trials, found)["candidates"]
    assert (one["drained"], one["drain_s"]) == (2, 15.0)


def test_figure_of_replicates_is_the_median_of_their_means_with_an_interval() -> None:
    churn = (parse_churn("join@100,kill@300"), ())
    what = replace(grid(["range", "sticky"]), churn=churn, scales=(1.0,), replicates=21)
    of = [recorded()]
    trials, found, simulated = what.trials([of[0].history]), [], dict[tuple[str, int | None], Outcome]()
    for trial in trials:
        scenario, kind = trial.scenario, (trial.scenario.strategy.name, trial.scenario.members)
        if kind not in simulated:  # one simulation is enough, because the figures are replaced
            outcome = try_out(of[0].history, trial).outcome
            assert outcome is not None
            simulated[kind] = outcome
        # In each replicate 3 and 4 members: r and 3 r; without churn 5 and 5.
        moved = 5 if trial.replicate == 0 else trial.replicate * (1 if scenario.members == 3 else 3)
        drain_s = None if trial.replicate else 2.0
        outcome = replace(simulated[kind], churn=scenario.script, moved=moved, drain_s=drain_s)
        found.append(TrialResult(trial.number, outcome))
    found[0] = TrialResult(0, error="no")
    totals = results(of, trials, found)
    assert totals["replicates"] == 21
    assert totals["judged_by"] == 2 * 22
    assert {row["replicate"] for row in totals["scenarios"]} == set(range(22))
    sticky = next(candidate for candidate in totals["candidates"] if candidate["strategy"] == "sticky")
    means = [(replicate + 3 * replicate + 5 + 5) / 4 for replicate in range(1, 22)]  # r + 2.5
    assert sticky["moved"] == np.median(means) == 13.5
    assert sticky["intervals"]["moved"] == (4.5, 22.5)
    assert (sticky["drain_s"], sticky["intervals"]["drain_s"], sticky["drained"]) == (2.0, (2.0, 2.0), 2)
    assert set(sticky["intervals"]) == {row for row in sticky if isinstance(sticky[row], float)}  # type: ignore[literal-required]
    assert results(of, *tried(of, grid(["range"])))["candidates"][0]["intervals"] == {}


def test_candidate_that_failed_where_others_did_not_is_last_without_a_place() -> None:
    of, trials, found = one_group(grid())
    found[0] = TrialResult(0, error="ValueError: broken")  # range, with three members
    totals = results(of, trials, found)
    assert [one["strategy"] for one in totals["candidates"]][-1] == "range"
    last = totals["candidates"][-1]
    assert (last["place"], last["failed"], last["scenarios"]) == (None, 1, 4)
    assert last["reasons"] == ["failed in 1 of 4 scenarios"]
    assert totals["judged_by"] == 4
    assert totals["failures"] == ["1 of 12: ValueError: broken"]
    assert totals["scenarios"][0]["error"] == "ValueError: broken"
    assert totals["scenarios"][0]["moved"] is None
    assert totals["scenarios"][0]["strategy"] == "range"


def test_situation_in_which_all_failed_does_not_count() -> None:
    of, trials, found = one_group(grid())
    for number in range(len(STRATEGIES)):
        found[number] = TrialResult(number, error="nobody can")
    totals = results(of, trials, found)
    assert totals["judged_by"] == 3
    assert all(one["place"] is not None for one in totals["candidates"])


def test_no_candidate_is_ranked_if_each_failed_somewhere() -> None:
    of, trials, found = one_group(grid())
    for number in (0, 4, 8):  # each strategy in another situation
        found[number] = TrialResult(number, error="no")
    totals = results(of, trials, found)
    assert [one["place"] for one in totals["candidates"]] == [None, None, None]
    assert totals["notes"] == ["every candidate failed or was not tried in some situation"]


def test_failure_of_all_trials_raises_the_first_reason() -> None:
    of, trials, _ = one_group(grid())
    found = [TrialResult(trial.number, error=f"reason {trial.number}") for trial in trials]
    with pytest.raises(KafkaAssignorsError, match="every scenario failed; the first: reason 0"):
        results(of, trials, found)


def test_exception_of_a_simulation_is_the_result_of_its_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    of = recorded()
    [trial, *_] = grid().trials([of.history])

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a mistake\nof ours")

    monkeypatch.setattr(job, "simulate", broken)
    found = try_out(of.history, trial)
    assert (found.outcome, found.error) == (None, "ZeroDivisionError: a mistake of ours")


def test_outcome_of_a_trial_has_a_series_but_no_moves_or_time_lags() -> None:
    of = recorded()
    [trial, *_] = grid().trials([of.history])
    outcome = try_out(of.history, trial).outcome
    assert outcome is not None
    assert (outcome.moves, outcome.time_lags.size) == ((), 0)
    assert outcome.series is not None


def test_churn_beyond_the_history_keeps_its_error_message() -> None:
    of = recorded()
    [trial, *_] = grid().trials([of.history])
    short = History("g", 10.0, {"t": 6}, of.history.arrivals[:5], of.history.start_lags, service_rate=60.0)
    assert "not within the history of 50 s" in try_out(short, trial).error


def test_each_group_has_its_own_ranking() -> None:
    of = [recorded("g"), recorded("h")]
    trials, found = tried(of, grid(["range", "cooperative-sticky"]))
    for number, (trial, one) in enumerate(zip(trials, found, strict=True)):
        assert one.outcome is not None
        late = (trial.scenario.strategy.name == "range") == (trial.group == "g")
        found[number] = replace(one, outcome=replace(one.outcome, time_lag_p99=600.0 if late else 30.0))
    totals = results(of, trials, found)
    assert [ranking["group"] for ranking in totals["by_group"]] == ["g", "h"]
    places = [
        [(one["strategy"], one["place"]) for one in ranking["candidates"]] for ranking in totals["by_group"]
    ]
    assert places == [[("cooperative-sticky", 1), ("range", 2)], [("range", 1), ("cooperative-sticky", 2)]]
    for ranking in totals["by_group"]:
        assert (ranking["judged_by"], ranking["candidates"][0]["time_lag_p99"]) == (4, 30.0)
        assert "time lag (p99) 30.0 s, 600.0 s for" in ranking["candidates"][0]["reasons"][0]
    assert totals["judged_by"] == 8
    for plot, its in zip(totals["plots"], places, strict=True):  # the best of a group is plotted first
        assert [line["candidate"] for line in plot["lines"]] == [strategy for strategy, _ in its]


def test_candidate_tried_on_some_groups_is_ranked_only_for_these() -> None:
    """Else the groups without forecasts would have no say in the ranking of all."""
    of = [recorded("g"), recorded("h", forecasts=True)]
    chosen = candidates(STRATEGIES, {"rebalance_on_skew": [False]}, forecasts=True)
    totals = results(of, *tried(of, replace(grid(), candidates=chosen)))
    assert totals["judged_by"] == 8
    *ranked, fed = totals["candidates"]
    assert all(one["place"] for one in ranked)
    assert (fed["candidate"], fed["place"]) == ("cooperative-lag-aware (load=forecast)", None)
    assert fed["reasons"] == ["was tried in 4 of 8 situations: not on every group"]
    plain, foreseen = (
        {one["candidate"]: one["place"] for one in ranking["candidates"]} for ranking in totals["by_group"]
    )
    assert fed["candidate"] not in plain
    assert foreseen[fed["candidate"]] is not None
    assert fed["candidate"] in [line["candidate"] for line in totals["plots"][1]["lines"]]


def test_groups_that_were_not_tried_are_listed_with_the_reason() -> None:
    of = [recorded("idle", rate=None), recorded("g")]
    what = grid(["range"])
    trials, found = tried(of, what)
    totals = summed_up(
        of,
        trials,
        found,
        run=RUN,
        started=STARTED,
        read_series=reader_of(found),
        left_out=what.left_out([one.history for one in of]),
    )
    assert totals["left_out"] == [{"group": "idle", "why": NO_RATE}]
    for per_group in (totals["groups"], totals["by_group"], totals["plots"]):
        assert [one["group"] for one in per_group] == ["g"]


def test_plot_shows_the_situation_with_the_most_lag() -> None:
    totals = small_results()
    rankings = {ranking["group"]: ranking["candidates"] for ranking in totals["by_group"]}
    assert [plot["group"] for plot in totals["plots"]] == ["g", "h"]
    for plot in totals["plots"]:
        assert (plot["load"], plot["members"]) == (f"{plot['group']} x1.2", 3)  # more load, fewer members
        assert plot["recorded"] == []  # what was recorded is another load
        names = [one["candidate"] for one in rankings[plot["group"]]]
        assert [line["candidate"] for line in plot["lines"]] == names
        assert len(plot["lines"]) <= MOST_LINES


def test_plot_of_the_recorded_load_has_the_recorded_lag() -> None:
    of = [recorded()]
    [plot] = results(of, *tried(of, replace(grid(), scales=(1.0,))))["plots"]
    assert plot["recorded"][:5] == [(10.0, 0.0), (20.0, 1.0), (30.0, 2.0), (60.0, 5.0), (70.0, 6.0)]


def test_results_are_valid_json() -> None:
    totals = small_results()
    assert json.loads(json.dumps(totals, allow_nan=False))["kind"] == "backtest"
    group = totals["groups"][0]
    assert (group["unknown"], group["never_known"], group["appeared"], group["ended"]) == (0.025, 1, 2, 3)
    assert about_history(group)[-1].startswith("3 of its partitions ended")
    assert (group["steps"], group["step_s"], group["records"]) == (60, 10.0, 84_000)
