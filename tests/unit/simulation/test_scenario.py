from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation import Pauses, Scenario, parse_churn
from kafka_assignors.simulation.churn import ChurnStep
from tests.support.simulation.histories import BY_RANGE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": 0}, "members.*expected a whole number from 1, got 0"),
        ({"service_rate": 0.0}, "service_rate"),
        ({"replan_s": float("nan")}, "replan_s"),
        ({"drain_limit_s": -1.0}, "drain_limit_s"),
        ({"owners": ("m1", "m3")}, "owners.*m3 is not a member"),
        ({"churn": parse_churn("kill@1,leave@2")}, "churn.*leave@2 would leave the group without a member"),
    ],
)
def test_error_names_the_invalid_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Scenario(**{"history": "h", "strategy": BY_RANGE, "members": 2, **change})


@pytest.mark.parametrize("field", ["start_s", "heartbeat_s", "join_s", "refetch_s", "warm_up_s"])
def test_negative_pause_is_refused(field: str) -> None:
    with pytest.raises(OptionError, match=field):
        Pauses(**{field: -0.1})


def test_members_are_assigned_to_steps_in_the_order_of_time() -> None:
    scenario = Scenario("h", BY_RANGE, 2, churn=(ChurnStep("leave", 5), ChurnStep("join", 3)))
    assert [str(act) for act in scenario.acts()] == ["join m3", "leave m1"]
