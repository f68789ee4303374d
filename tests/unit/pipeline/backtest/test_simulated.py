from __future__ import annotations

import pickle
from typing import Any

import pytest
from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.options import ConfigurationError
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import Group, resolve
from kafka_assignors.strategies import STRATEGIES
from tests.support.builders import member

GROUP = Group(
    (member("a", owned={"t0": [0, 1, 2, 3]}, holds=True), member("b")),
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
    assert made.pays_from == 0.5
    assert str(made) == "cooperative-lag-aware (max_partition_skew=None, min_improvement=0.5)"
    given = STRATEGIES["cooperative-lag-aware"](max_partition_skew=None, min_improvement=0.5)
    claims = resolve(GROUP)
    assert dict(made.plan(GROUP, claims)) == dict(given.plan(GROUP, claims))


@pytest.mark.parametrize(
    ("name", "options", "by_load", "says"),
    [
        ("rang", {}, False, "unknown 'rang'"),
        ("range", {"rack": "a"}, False, "range has no such option"),
        ("cooperative-lag-aware", {"lag_timeout_ms": 5}, False, "no such option that decides on plans"),
        ("cooperative-lag-aware", {"min_improvement": 2}, False, "from 0 to below 1"),
        ("sticky", {}, True, "sticky does not plan by lag"),
    ],
)
def test_invalid_option_is_refused(name: str, options: dict[str, Any], by_load: bool, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        simulated(name, options, by_load=by_load)
