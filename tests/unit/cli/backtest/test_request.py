"""Requests to ``backtest``, with groups that have no usable history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_assignors.cli.backtest.options import Parameters
from kafka_assignors.cli.backtest.request import BacktestRequest
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.grid import NO_RATE
from kafka_assignors.pipeline.backtest.recorded import Recorded
from tests.unit.pipeline.backtest.trials import recorded

REQUEST = BacktestRequest(("range", "cooperative-lag-aware"), Parameters({}, {}), (), (), (1.0,), (None,))


def test_idle_group_is_left_out_without_assumptions() -> None:
    of = [recorded("idle", rate=None), recorded("busy")]
    asked = replace(REQUEST, scales=(1.0, 2.0))
    tried = asked.trials(of)
    assert tried.left_out == {"idle": NO_RATE}
    assert {trial.group for trial in tried.trials} == {"busy"}
    rate, members, churn = asked.assumptions(of, tried, None)
    assert rate == (
        "group 'busy': a member reads 60.0 records/s, the rate of the fastest partition during a "
        "backlog, a lower bound if its member read other partitions, too (--service-rate)"
    )
    assert members == (
        "group 'busy': 4 or 6 members, 1.3 times what the mean load needs, at least 2, "
        "but at most one a partition (--members)"
    )
    assert churn == "group 'busy': churn join@150,leave@300,kill@450 (--churn)"


def test_drawn_churn_is_an_assumption_without_its_times() -> None:
    of, asked = [recorded("g")], replace(REQUEST, replicates=20)
    *_, churn = asked.assumptions(of, asked.trials(of), None)
    assert churn == "group 'g': churn join, leave, kill, 20 draws of their times (--churn)"


def test_service_rate_is_required_if_every_group_is_idle() -> None:
    of = [recorded("a", rate=None), recorded("b", rate=None)]
    with pytest.raises(OptionError, match="2 groups were never behind for long enough"):
        REQUEST.trials(of)
    notes = replace(REQUEST, service_rates=(20.0,))
    assert notes.trials(of).left_out == {}
    assert not any("--service-rate" in note for note in notes.assumptions(of, notes.trials(of), None))


def test_forecasts_are_tried_on_groups_with_forecasts() -> None:
    tried = REQUEST.trials([recorded("plain"), recorded("foreseen", forecasts=True)])
    fed = {trial.group for trial in tried.trials if trial.scenario.strategy.by_load}
    assert fed == {"foreseen"}
    assert {trial.group for trial in tried.trials} == {"plain", "foreseen"}


def test_age_of_forecasts_is_an_assumption() -> None:
    short = recorded("g", forecasts=True)
    long = replace(short, history=replace(short.history, horizon_s=3600.0))

    def notes(of: Recorded, **surroundings: list[float]) -> list[str]:
        asked = replace(REQUEST, parameters=Parameters({}, surroundings))
        return [note for note in asked.assumptions([of], asked.trials([of]), None) if "forecasts" in note]

    assert notes(long) == [
        "group 'g': forecasts are known 130 s after their step, the default --delay and --every of a "
        "pipeline (--param forecast_delay_s)"
    ]
    assert notes(long, forecast_delay_s=[20.0]) == []
    assert notes(short, forecast_delay_s=[20.0]) == []
    assert notes(short, forecast_delay_s=[20.0, 60.0]) == [
        "group 'g': forecasts reach 60 s past their step, and have no effect if they are known 60 s after it "
        "(--param forecast_delay_s)"
    ]
    assert notes(recorded("g")) == []
