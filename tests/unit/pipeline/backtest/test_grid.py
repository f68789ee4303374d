"""What a back-test tries out."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.grid import (
    NO_FORECASTS,
    NO_RATE,
    Candidate,
    Grid,
    candidates,
    draws,
    usual_churn,
    usual_members,
)
from kafka_assignors.simulation import History, parse_churn, simulate
from kafka_assignors.simulation.scenario import Parameter
from kafka_assignors.strategies import STRATEGIES


def history(group: str = "g", *, rate: float | None = 30.0, steps: int = 60) -> History:
    """Six partitions with 100 records/s together, in steps of 10 s."""
    arrivals = np.tile(np.array([300, 200, 200, 100, 100, 100]), (steps, 1))
    return History(group, 10.0, {"t": 6}, arrivals, np.zeros(6, np.int64), service_rate=rate)


def labels(found: tuple[Candidate, ...]) -> list[str]:
    return [str(one.strategy) for one in found]


def test_strategies_get_only_their_own_parameters() -> None:
    found = candidates(
        ["range", "cooperative-lag-aware"],
        {"min_improvement": [0.1, 0.3], "rebalance_on_skew": [False], "replan_s": [None, 60]},
        forecasts=False,
    )
    assert labels(found) == [
        "range",
        "range (replan_s=60)",
        "cooperative-lag-aware (min_improvement=0.1)",
        "cooperative-lag-aware (min_improvement=0.1, replan_s=60)",
        "cooperative-lag-aware (min_improvement=0.3)",
        "cooperative-lag-aware (min_improvement=0.3, replan_s=60)",
    ]
    assert [one.replan_s for one in found] == [None, 60] * 3
    assert all(one.skew is None for one in found)


def test_lag_strategies_are_tried_with_and_without_skew_watcher_and_forecast() -> None:
    names = ["sticky", "lag-aware", "cooperative-lag-aware"]
    assert labels(candidates(names, {}, forecasts=False)) == [
        "sticky",
        "lag-aware",
        "lag-aware (rebalance_on_skew=True)",
        "cooperative-lag-aware",
        "cooperative-lag-aware (rebalance_on_skew=True)",
    ]
    fed = candidates(["cooperative-lag-aware"], {"rebalance_on_skew": [True]}, forecasts=True)
    assert [(one.strategy.by_load, one.skew is not None) for one in fed] == [(False, True), (True, True)]


def test_every_strategy_makes_a_picklable_candidate() -> None:
    grid = Grid(candidates(STRATEGIES, {"rebalance_on_skew": [True]}, forecasts=False), members=(3,))
    trials = pickle.loads(pickle.dumps(grid.trials([history(steps=12)])))  # noqa: S301  # our own
    assert [trial.scenario.strategy.name for trial in trials] == list(STRATEGIES)
    for trial in trials:
        assert simulate(history(steps=12), trial.scenario).arrived == 12 * 1000


@pytest.mark.parametrize(
    ("names", "given", "option"),
    [
        (["range"], {"min_improvement": [0.1]}, "min_improvement"),
        (["cooperative-lag-aware"], {"min_improvement": [2]}, "min_improvement"),
        (["cooperative-lag-aware"], {"load": ["forecast"]}, "load"),
        (["cooperative-lag-aware"], {"load": ["both"]}, "load"),
        (["lag-aware"], {"rebalance_on_skew": [1]}, "rebalance_on_skew"),
        (["lag-aware"], {"rebalance_on_skew": ["yes"]}, "rebalance_on_skew"),
        (["range"], {"replan_s": [0]}, "replan_s"),
        (["range"], {"replan_s": [True]}, "replan_s"),
    ],
)
def test_error_names_the_invalid_parameter(
    names: list[str], given: dict[str, list[float | str | None]], option: str
) -> None:
    with pytest.raises(OptionError) as caught:
        candidates(names, given, forecasts=False)
    assert caught.value.option == option


def test_trials_are_all_combinations_in_the_order_of_situations() -> None:
    grid = Grid(
        candidates(["range", "sticky"], {}, forecasts=False),
        members=(2, 4),
        churn=((), parse_churn("kill@100")),
        scales=(1.0, 1.5),
        service_rates=(30.0, 60.0),
        surroundings={"warm_up_s": (0.0, 2.0)},
    )
    trials = grid.trials([history("a"), history("b")])
    assert len(trials) == 2 * 2 * 2 * 2 * 2 * 2 * 2
    assert [one.number for one in trials] == list(range(len(trials)))
    pairs = zip(trials[::2], trials[1::2], strict=True)
    for one, other in pairs:
        assert (one.scenario.strategy.name, other.scenario.strategy.name) == ("range", "sticky")
        assert one.scenario.history == other.scenario.history
        assert one.scenario.members == other.scenario.members
    assert {one.scenario.history for one in trials if one.group == "a"} == {
        "a warm_up_s=0", "a warm_up_s=2", "a x1.5 warm_up_s=0", "a x1.5 warm_up_s=2",
    }  # fmt: skip
    assert {one.scenario.pauses.warm_up_s for one in trials} == {0.0, 2.0}
    assert {one.scenario.service_rate for one in trials} == {30.0, 60.0}


@pytest.mark.parametrize(
    ("given", "surroundings"),
    [
        ({"replan_s": [600, 600]}, {}),
        ({"rebalance_on_skew": [False, None]}, {}),
        ({"rebalance_on_skew": [False]}, {"heartbeat_s": [3, 3.0]}),
    ],
)
def test_value_that_is_given_twice_is_tried_once(
    given: dict[str, list[Parameter]], surroundings: dict[str, list[float]]
) -> None:
    """A ranking refuses two outcomes of one candidate in one situation."""
    tried = candidates(["lag-aware"], {"rebalance_on_skew": [False], **given}, forecasts=False)
    trials = Grid(tried, members=(2,), surroundings=surroundings).trials([history(steps=12)])
    assert [trial.number for trial in trials] == [0]


def test_default_members_suffice_for_the_mean_load_with_a_reserve() -> None:
    assert usual_members(history(), 1.0, 30.0) == 5  # 100 / 30 * 1.3
    assert usual_members(history(), 2.0, 30.0) == 6  # there are no more partitions
    assert usual_members(history(), 1.0, 1000.0) == 2
    behind = replace(history(), start_lags=np.full(6, 10_000))  # a backlog needs no more
    assert usual_members(behind, 1.0, 30.0) == 5
    assert usual_members(history(), 1e308, 30.0) == usual_members(history(), 1.0, 1e-320) == 6


def test_default_churn_is_a_join_a_leave_and_a_kill() -> None:
    assert usual_churn(history(), 3) == parse_churn("join@150,leave@300,kill@450")
    assert usual_churn(history(), 1) == parse_churn("join@150,leave@300")
    [first, *_] = Grid(candidates(["range"], {}, forecasts=False)).trials([history()])
    assert (first.scenario.members, first.scenario.churn) == (5, usual_churn(history(), 5))


def test_replicates_draw_the_times_of_each_churn_by_a_seed() -> None:
    churn = (parse_churn("join@100,kill@400"), parse_churn("leave@50"), parse_churn("leave@90"), ())
    plain = Grid(candidates(["range", "sticky"], {}, forecasts=False), members=(3, 4), churn=churn)
    grid = replace(plain, replicates=20, seed=7)
    trials = grid.trials([history()])
    assert len(trials) == 2 * 2 * (3 * 20 + 1)
    assert [trial.number for trial in trials] == list(range(len(trials)))
    by_members = [[trial for trial in trials if trial.scenario.members == count] for count in (3, 4)]
    first, second = ([(trial.replicate, trial.scenario.churn) for trial in some] for some in by_members)
    assert first == second, "the same draws in each situation"
    assert first[::2] == first[1::2], "and for each candidate"
    assert len(set(first)) == 3 * 20 + 1
    assert {replicate for replicate, steps in first if steps} == set(range(1, 21))
    assert [replicate for replicate, steps in first if not steps] == [0, 0]
    for _, steps in first:
        assert parse_churn(",".join(map(str, steps))) == steps, "the script has the exact times"
        assert all(0 < step.at < 600 for step in steps)
        if len(steps) == 2:
            assert [step.kind for step in steps] == ["join", "kill"]
            assert steps[0].at <= 250 <= steps[1].at
    assert [trial.scenario for trial in grid.trials([history()])] == [trial.scenario for trial in trials]
    other = replace(grid, seed=8).trials([history()])
    assert not {trial.scenario.script for trial in other} - {""} & {trial.scenario.script for trial in trials}
    more = {trial.scenario.script for trial in replace(grid, replicates=30).trials([history()])}
    assert {trial.scenario.script for trial in trials if len(trial.scenario.churn) == 2} <= more


@pytest.mark.parametrize(
    "script", ["leave@1000001,leave@1000002,join@1000003,join@1000004", "join@1e-4,kill@2e-4"]
)
def test_steps_close_together_are_drawn(script: str) -> None:
    churn, length_s = parse_churn(script), 14 * 86_400.0
    drawn = list(itertools.islice(draws(churn, length_s, (0, 0)), 5))
    assert len(set(drawn)) == 5
    for steps in drawn:
        assert [step.kind for step in steps] == [step.kind for step in churn]
        assert parse_churn(",".join(map(str, steps))) == steps


def test_surroundings_and_scales_that_are_nearly_equal_are_situations_of_their_own() -> None:
    limits, scales = (1_000_001.0, 1_000_004.0), (1.0, 1.0000001)
    grid = Grid(
        candidates(["range"], {}, forecasts=False), surroundings={"drain_limit_s": limits}, scales=scales
    )
    assert len({trial.scenario.history for trial in grid.trials([history()])}) == 4


def test_churn_beyond_the_history_is_not_drawn() -> None:
    grid = Grid(
        candidates(["range"], {}, forecasts=False),
        members=(3,),
        churn=(parse_churn("join@9999"),),
        replicates=5,
    )
    [trial] = grid.trials([history()])
    assert (trial.replicate, trial.scenario.script) == (0, "join@9999")


def test_group_with_unknown_service_rate_is_left_out() -> None:
    grid = Grid(candidates(["range"], {}, forecasts=False), members=(2, 3))
    histories = [history("idle", rate=None), history("busy")]
    assert grid.left_out(histories) == {"idle": NO_RATE}
    trials = grid.trials(histories)
    assert [(one.number, one.group) for one in trials] == [(0, "busy"), (1, "busy")]
    with_rates = replace(grid, service_rates=(5.0,))
    assert with_rates.left_out(histories) == {}
    assert {one.group for one in with_rates.trials(histories)} == {"idle", "busy"}


def test_missing_service_rate_of_all_groups_is_an_error() -> None:
    grid = Grid(candidates(["range"], {}, forecasts=False), members=(2,))
    with pytest.raises(OptionError, match="group 'g' was never behind for long enough") as caught:
        grid.trials([history(rate=None)])
    assert caught.value.option == "service_rate"
    with pytest.raises(OptionError, match="2 groups were never behind for long enough"):
        grid.trials([history("g", rate=None), history("h", rate=None)])


def test_candidates_with_forecasts_are_tried_only_on_histories_with_forecasts() -> None:
    plain = history("plain")
    foreseen = replace(
        history("foreseen"), expected=(6.0 * plain.arrivals).astype(np.float64), horizon_s=60.0
    )
    names = ["range", "cooperative-lag-aware"]
    grid = Grid(candidates(names, {"rebalance_on_skew": [False]}, forecasts=True), members=(2,))
    tried = [(one.group, str(one.scenario.strategy)) for one in grid.trials([plain, foreseen])]
    assert tried == [
        ("plain", "range"),
        ("plain", "cooperative-lag-aware"),
        ("foreseen", "range"),
        ("foreseen", "cooperative-lag-aware"),
        ("foreseen", "cooperative-lag-aware (load=forecast)"),
    ]
    only: dict[str, list[bool | str]] = {"rebalance_on_skew": [False], "load": ["forecast"]}
    fed = Grid(candidates([names[1]], only, forecasts=True), members=(2,))
    assert fed.left_out([plain, foreseen]) == {"plain": NO_FORECASTS}
    assert {one.group for one in fed.trials([plain, foreseen])} == {"foreseen"}
    with pytest.raises(OptionError, match="the history has no forecasts"):
        fed.trials([plain])
