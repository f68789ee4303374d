"""What was asked of ``backtest``, on groups of which some cannot be tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_assignors.cli.backtest.asked import Asked
from kafka_assignors.cli.backtest.options import Parameters
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.grid import NO_RATE
from tests.unit.pipeline.backtest.trials import recorded

ASKED = Asked(("range", "cooperative-lag-aware"), Parameters({}, {}), (), (), (1.0,), (None,))


def test_one_idle_group_takes_no_other_with_it_and_is_not_spoken_for() -> None:
    of = [recorded("idle", rate=None), recorded("busy")]
    asked = replace(ASKED, scales=(1.0, 2.0))
    tried = asked.tried(of)
    assert tried.left_out == {"idle": NO_RATE}
    assert {trial.group for trial in tried.trials} == {"busy"}
    rate, members, churn = asked.assumed(of, tried, None)
    assert rate == (
        "group 'busy': a member reads 60.0 records/s, as its fastest partition was read while it had a "
        "backlog; more, if its member was busy with others, too (--service-rate)"
    )
    assert members == "group 'busy': 4 members, by the mean load (--members)"
    assert churn == "group 'busy': join@150,leave@300,kill@450 (--churn)"


def test_if_every_group_is_idle_the_service_rate_is_asked_for() -> None:
    of = [recorded("a", rate=None), recorded("b", rate=None)]
    with pytest.raises(OptionError, match="none of 2 groups was busy for long"):
        ASKED.tried(of)
    told = replace(ASKED, service_rates=(20.0,))
    assert told.tried(of).left_out == {}
    assert not any("--service-rate" in note for note in told.assumed(of, told.tried(of), None))


def test_forecasts_are_tried_on_the_groups_that_have_some() -> None:
    tried = ASKED.tried([recorded("plain"), recorded("foreseen", forecasts=True)])
    fed = {trial.group for trial in tried.trials if trial.scenario.strategy.by_load}
    assert fed == {"foreseen"}
    assert {trial.group for trial in tried.trials} == {"plain", "foreseen"}
