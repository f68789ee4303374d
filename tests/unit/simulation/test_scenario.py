from __future__ import annotations

import pickle
from typing import Any

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation import Pauses, Scenario, parse
from kafka_assignors.simulation.churn import Step
from tests.support.histories import BY_RANGE, COOPERATIVE


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"members": 0}, "members.*0 is less than 1"),
        ({"service_rate": 0.0}, "service_rate"),
        ({"rates": {"m1": -1.0}}, "rates.*m1"),
        ({"replan_s": float("nan")}, "replan_s"),
        ({"drain_limit_s": -1.0}, "drain_limit_s"),
        ({"owners": ("m1", "m3")}, "owners.*m3 is not a member"),
        ({"churn": parse("kill@1,leave@2")}, "churn.*leave@2 would leave the group without a member"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Scenario(**{"history": "h", "strategy": BY_RANGE, "members": 2, **change})


@pytest.mark.parametrize("field", ["start_s", "heartbeat_s", "join_s", "refetch_s", "warm_up_s"])
def test_pauses_last_no_negative_time(field: str) -> None:
    with pytest.raises(OptionError, match=field):
        Pauses(**{field: -0.1})


def test_steps_in_any_order_are_cast_by_time() -> None:
    made = Scenario("h", BY_RANGE, 2, churn=(Step("leave", 5), Step("join", 3)))
    assert [str(act) for act in made.acts()] == ["join m3", "leave m1"]


def test_a_scenario_can_be_sent_to_another_process() -> None:
    made = Scenario("h", COOPERATIVE, 3, rates={"m1": 5.0}, churn=parse("join@1"))
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  # our own bytes
