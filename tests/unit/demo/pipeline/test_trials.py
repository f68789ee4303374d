"""The trials on the demo's histories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.trials import START_TO_JOIN_S, list_trials, start_s
from demo.results import SettingsResult
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.simulation import History
from kafka_assignors.strategies import STRATEGIES
from tests.unit.demo.pipeline.runs import EPOCH_S, finished_run
from tests.unit.demo.story import SETTINGS, eager_join

RUNS = [finished_run("backlog", "range"), finished_run("backlog", "sticky")]


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


def tried(
    settings: SettingsResult = SETTINGS, expected: float | None = None, runs: Sequence[FinishedRun] = RUNS
) -> list[Trial]:
    return list_trials(runs, {"backlog": history(expected)}, settings)


def names(trials: list[Trial]) -> list[str]:
    return [str(trial.scenario.strategy) for trial in trials]


def test_every_strategy_that_shares_work_is_tried_whether_it_ran_or_not() -> None:
    assert sorted(names(tried())) == sorted(STRATEGIES.keys() - {"failover"})


def test_one_of_them_is_tried_with_forecasts_too_where_there_are_any() -> None:
    found = names(tried(expected=5.0))
    assert "cooperative-lag-aware (load=forecast)" in found
    assert len(found) == len(STRATEGIES)


def test_failover_is_tried_where_it_ran() -> None:
    assert "failover" in names(tried(runs=[finished_run("backlog", "failover")]))


def test_trials_have_the_group_and_the_costs_of_the_demo() -> None:
    trials = tried()
    assert [trial.number for trial in trials] == list(range(len(trials)))
    for trial in trials:
        scenario = trial.scenario
        assert (scenario.members, scenario.churn, scenario.service_rate) == (2, (), 10.0)
        assert (scenario.pauses.heartbeat_s, scenario.pauses.session_timeout_s) == (0.5, 6.0)
        assert (scenario.pauses.warm_up_s, scenario.pauses.start_s) == (0.3, 0.0)
        assert trial.group == "backlog"


def test_records_that_cost_no_work_give_members_no_speed() -> None:
    assert tried({**SETTINGS, "work_ms": 0.0}) == []


def test_start_of_a_joining_member_is_measured() -> None:
    """Member m2 joins at 13 s, and its process is up at 13.2 s."""
    assert start_s(eager_join()) == pytest.approx(0.2 + START_TO_JOIN_S)
