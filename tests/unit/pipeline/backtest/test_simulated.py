from __future__ import annotations

import pickle
from typing import Any

import pytest
from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors import PlanError
from kafka_assignors.assignor.options import ConfigurationError
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import Group, resolve
from kafka_assignors.simulation import Scenario, simulate
from kafka_assignors.strategies import STRATEGIES
from tests.support.plan.builders import member
from tests.support.simulation.histories import history

GROUP = Group(
    (member("a", owned={"t0": [0, 1, 2, 3]}, still_owns=True), member("b")),
    {"t0": 4},
    lags={"t0": [9, 9, 1, 1]},
)


@pytest.mark.parametrize("name", STRATEGIES)
def test_pickled_strategy_plans_like_its_assignor(name: str) -> None:
    made = pickle.loads(pickle.dumps(simulated(name)))  # noqa: S301  # our own bytes
    claims = resolve(GROUP)
    assert dict(made.plan(GROUP, claims)) == dict(STRATEGIES[name]().plan(GROUP, claims))
    assert made.by_lag == STRATEGIES[name].by_lag
    assert made.cooperative == (RebalanceProtocol.COOPERATIVE in STRATEGIES[name].protocols)


def test_options_that_affect_plans_are_parameters() -> None:
    made = simulated("cooperative-lag-aware", {"max_partition_skew": None, "min_improvement": 0.5})
    assert made.parameters == {"max_partition_skew": None, "min_improvement": 0.5}
    assert made.min_improvement == 0.5
    assert str(made) == "cooperative-lag-aware (max_partition_skew=None, min_improvement=0.5)"
    given = STRATEGIES["cooperative-lag-aware"](max_partition_skew=None, min_improvement=0.5)
    claims = resolve(GROUP)
    assert dict(made.plan(GROUP, claims)) == dict(given.plan(GROUP, claims))


@pytest.mark.parametrize(
    ("name", "options", "by_load", "message"),
    [
        ("rang", {}, False, "unknown 'rang'"),
        ("range", {"rack": "a"}, False, "range has no such option"),
        ("cooperative-lag-aware", {"lag_timeout_ms": 5}, False, "no such option that affects plans"),
        ("cooperative-lag-aware", {"min_improvement": 2}, False, "from 0 to below 1"),
        ("sticky", {}, True, "sticky does not plan by lag"),
    ],
)
def test_invalid_option_is_refused(name: str, options: dict[str, Any], by_load: bool, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        simulated(name, options, by_load=by_load)


# --- a user's own strategy ----------------------------------------------------------------------------------

OWN = "tests.support.group.own_strategies"


def test_own_strategy_is_simulated_by_its_class() -> None:
    made = pickle.loads(pickle.dumps(simulated(f"{OWN}:ToTheFirst")))  # noqa: S301  # our own bytes
    assert str(made) == f"{OWN}:ToTheFirst"
    outcome = simulate(history([0, 0], start=[50, 50]), Scenario("h", made, 2))
    assert outcome.recovery_s == pytest.approx(10)  # one member reads all


def test_invalid_plan_ends_a_simulation() -> None:
    scenario = Scenario("h", simulated(f"{OWN}:ToAStranger"), 2)
    with pytest.raises(PlanError, match="to-a-stranger: invalid plan: stranger is no member of the group"):
        simulate(history([0, 0]), scenario)


def test_own_option_is_a_parameter() -> None:
    assert simulated(f"{OWN}:ToTheLeast", {"least": 2}).parameters == {"least": 2}
    with pytest.raises(ConfigurationError, match=r"has no such option that affects plans \(least\)"):
        simulated(f"{OWN}:ToTheLeast", {"rack": "a"})
