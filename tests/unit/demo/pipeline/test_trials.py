"""The trials on the demo's histories."""

from __future__ import annotations

import numpy as np
import pytest

from demo.pipeline.trials import START_TO_JOIN_S, list_trials, start_s
from demo.results import SettingsResult
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.simulation import History, Pauses
from kafka_assignors.strategies import STRATEGIES
from tests.unit.demo.pipeline.runs import EPOCH_S, finished_run
from tests.unit.demo.story import SETTINGS, eager_join


def tried(*ran: str, settings: SettingsResult = SETTINGS, expected: float | None = None) -> list[Trial]:
    history = History(
        group="backlog",
        step_s=0.5,
        topics={"flights": 3},
        arrivals=np.zeros((12, 3), np.int64),
        start_lags=np.array([30, 10, 10]),
        expected=None if expected is None else np.full((12, 3), expected),
        horizon_s=None if expected is None else 10.0,
        starts_at=EPOCH_S + 10.0,
    )
    return list_trials([finished_run("backlog", name) for name in ran], {"backlog": history}, settings)


def names(trials: list[Trial]) -> list[str]:
    return sorted(str(trial.scenario.strategy) for trial in trials)


def test_every_strategy_that_shares_work_is_tried_and_failover_if_it_ran() -> None:
    assert names(tried("range", "sticky")) == sorted(STRATEGIES.keys() - {"failover"})
    assert names(tried("failover")) == sorted(STRATEGIES)


def test_one_strategy_is_tried_with_forecasts_too_if_there_are_any() -> None:
    with_forecasts = set(names(tried("range", expected=5.0))) - set(names(tried("range")))
    assert with_forecasts == {"cooperative-lag-aware (load=forecast)"}


def test_trials_have_the_group_and_the_costs_of_the_demo() -> None:
    trials = tried("range")
    assert [trial.number for trial in trials] == list(range(len(trials)))
    for trial in trials:
        scenario = trial.scenario
        assert (trial.group, scenario.members, scenario.churn, scenario.service_rate) == (
            "backlog",
            2,
            (),
            10,
        )
        assert scenario.pauses == Pauses(
            start_s=0.0, heartbeat_s=0.5, warm_up_s=0.3, session_timeout_s=6.0, continuous=False
        )


def test_records_that_cost_no_work_give_members_no_speed() -> None:
    assert tried("range", settings={**SETTINGS, "work_ms": 0.0}) == []


def test_start_of_a_joining_member_is_measured() -> None:
    """Member m2 joins at 13 s, and its process is up at 13.2 s."""
    assert start_s(eager_join()) == pytest.approx(0.2 + START_TO_JOIN_S)
