"""What is tried out on the demo's histories, and what is set beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from demo.pipeline.trials import Tried, calibration, what_to_try
from demo.results import SettingsResult
from demo.settings import Compared
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.pipeline.backtest.job import TrialResult, try_out
from kafka_assignors.simulation import History, simulate
from kafka_assignors.strategies import STRATEGIES
from tests.unit.demo.pipeline.runs import EPOCH_S, ran
from tests.unit.demo.story import SETTINGS

RUNS = [ran("backlog", "range"), ran("backlog", "sticky")]


def history(expected: float | None = None) -> History:
    return History(
        group="backlog",
        step_s=0.5,
        topics={"flights": 3},
        arrivals=np.zeros((12, 3), np.int64),
        start_lags=np.array([30, 10, 10]),
        expected=None if expected is None else np.full((12, 3), expected),
        horizon_s=None if expected is None else 10.0,
        starts_at=EPOCH_S + 10.0,
    )


def tried(settings: SettingsResult = SETTINGS, loads: Mapping[Compared, History] | None = None) -> Tried:
    return what_to_try(RUNS, loads or {"backlog": history()}, settings)


def names(trials: list[Trial]) -> list[str]:
    return [str(trial.scenario.strategy) for trial in trials]


def test_every_strategy_that_shares_work_is_tried_whether_it_ran_or_not() -> None:
    assert sorted(names(tried().backtest)) == sorted(STRATEGIES.keys() - {"failover"})


def test_one_of_them_with_forecasts_too_where_there_are_any() -> None:
    found = names(tried(loads={"backlog": history(5.0)}).backtest)
    assert "cooperative-lag-aware (load=forecast)" in found
    assert len(found) == len(STRATEGIES)


def test_failover_is_tried_where_it_ran() -> None:
    found = what_to_try([ran("backlog", "failover")], {"backlog": history()}, SETTINGS)
    assert "failover" in names(found.backtest)


def test_the_group_is_the_demos() -> None:
    for trial in tried().backtest:
        scenario = trial.scenario
        assert (scenario.members, scenario.churn) == (2, ())
        assert (scenario.pauses.heartbeat_s, scenario.pauses.session_timeout_s) == (0.5, 6.0)
        assert scenario.pauses.warm_up_s == 0.3
        assert trial.group == "backlog"


def test_a_member_is_as_fast_as_it_was_measured_else_as_its_work_allows() -> None:
    slow = ran("backlog", "range", fault="not drained within 1 s")
    guessed = what_to_try([slow], {"backlog": history()}, {**SETTINGS, "work_ms": 50.0})
    assert {trial.scenario.service_rate for trial in guessed.backtest} == {20.0}
    measured = tried()
    [rate] = {trial.scenario.service_rate for trial in measured.backtest}
    assert rate == 10.0


def test_who_spends_no_time_on_records_and_was_never_busy_is_not_tried() -> None:
    slow = ran("backlog", "range", fault="not drained within 1 s")
    found = what_to_try([slow], {"backlog": history()}, {**SETTINGS, "work_ms": 0.0})
    assert (found.backtest, found.calibration) == ([], [])


def test_trials_are_numbered_through_and_have_their_histories() -> None:
    found = tried()
    every = [*found.backtest, *found.calibration]
    assert [trial.number for trial in every] == list(range(len(every)))
    assert {trial.group for trial in every} <= found.histories.keys()
    assert len(found.calibration) == len(found.runs) == 2


def test_each_run_is_set_beside_its_own_simulation() -> None:
    found = tried()
    results = {trial.number: try_out(found.histories[trial.group], trial) for trial in found.calibration}
    one, other = calibration(RUNS, found, results)
    assert (one["strategy"], other["strategy"]) == ("range", "sticky")
    first = found.calibration[0]
    outcome = simulate(found.histories[first.group], first.scenario)
    assert outcome.drain_s is not None
    assert one["drain_simulated"] == pytest.approx(outcome.drain_s, abs=1e-3)
    assert (one["drain"], one["moved"], one["moved_simulated"]) == (6.0, 1, outcome.moved)
    assert one["note"] == ""


def test_a_run_that_cannot_be_simulated_says_why() -> None:
    runs = [RUNS[0], ran("backlog", "sticky", fault="not drained within 1 s")]
    found = what_to_try(runs, {"backlog": history()}, SETTINGS)
    failed = {trial.number: TrialResult(trial.number, error="no such thing") for trial in found.calibration}
    one, other = calibration(runs, found, failed)
    assert (one["drain_simulated"], one["note"]) == (None, "no such thing")
    assert (other["moved_simulated"], other["note"]) == (None, "not drained within 1 s")
