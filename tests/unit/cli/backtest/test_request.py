"""Assumptions of ``backtest``, with groups that have no usable history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafka_assignors.cli.backtest.request import assumptions
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.grid import NO_RATE, Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.recorded import Recorded
from tests.unit.pipeline.backtest.trials import recorded

GRID = Grid(candidates(("range", "cooperative-lag-aware"), {}, forecasts=False))
FED_GRID = Grid(candidates(("range", "cooperative-lag-aware"), {}, forecasts=True))


def trials_of(grid: Grid, of: Sequence[Recorded]) -> list[Trial]:
    return grid.trials([recording.history for recording in of])


def left_out(grid: Grid, of: Sequence[Recorded]) -> dict[str, str]:
    return grid.left_out([recording.history for recording in of])


def assumed(grid: Grid, of: Sequence[Recorded]) -> list[str]:
    return list(assumptions(grid, of, trials_of(grid, of), None))


def test_idle_group_is_left_out_without_assumptions() -> None:
    of = [recorded("idle", rate=None), recorded("busy")]
    grid = replace(GRID, scales=(1.0, 2.0))
    assert left_out(grid, of) == {"idle": NO_RATE}
    assert {trial.group for trial in trials_of(grid, of)} == {"busy"}
    rate, members, churn = assumed(grid, of)
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
    *_, churn = assumed(replace(GRID, replicates=20), [recorded("g")])
    assert churn == "group 'g': churn join, leave, kill, 20 draws of their times (--churn)"


def test_every_assumed_churn_is_named() -> None:
    """A group of one member has no kill."""
    grid = replace(GRID, members=(1, 3))
    *_, churn = assumed(grid, [recorded("g")])
    assert churn == "group 'g': churn join@150,leave@300; or join@150,leave@300,kill@450 (--churn)"
    *_, churn = assumed(replace(grid, replicates=20), [recorded("g")])
    assert churn == ("group 'g': churn join, leave; or join, leave, kill, 20 draws of their times (--churn)")


def test_service_rate_is_required_if_every_group_is_idle() -> None:
    of = [recorded("a", rate=None), recorded("b", rate=None)]
    with pytest.raises(OptionError, match="2 groups were never behind for long enough"):
        trials_of(GRID, of)
    grid = replace(GRID, service_rates=(20.0,))
    assert left_out(grid, of) == {}
    assert not any("--service-rate" in note for note in assumed(grid, of))


def test_forecasts_are_tried_on_groups_with_forecasts() -> None:
    trials = trials_of(FED_GRID, [recorded("plain"), recorded("foreseen", forecasts=True)])
    fed = {trial.group for trial in trials if trial.scenario.strategy.by_load}
    assert fed == {"foreseen"}
    assert {trial.group for trial in trials} == {"plain", "foreseen"}


def test_age_of_forecasts_is_an_assumption() -> None:
    short = recorded("g", forecasts=True)
    long = replace(short, history=replace(short.history, horizon_s=3600.0))

    def notes(of: Recorded, **surroundings: list[float]) -> list[str]:
        grid = replace(FED_GRID, surroundings=surroundings)
        return [note for note in assumed(grid, [of]) if "forecasts" in note]

    assert notes(long) == [
        "group 'g': forecasts are known 120 s after their step, as in a pipeline with its "
        "defaults (--param forecast_delay_s)"
    ]
    assert notes(long, forecast_delay_s=[20.0]) == []
    assert notes(short, forecast_delay_s=[20.0]) == []
    assert notes(short, forecast_delay_s=[20.0, 60.0]) == [
        "group 'g': forecasts reach 60 s past their step, and have no effect if they are known 60 s after it "
        "(--param forecast_delay_s)"
    ]
    assert notes(recorded("g")) == []
