from __future__ import annotations

import pytest

from demo.pipeline.words import beside, forecasts, plans, recorded_in_all
from tests.unit.demo.pipeline.runs import forecast, pipeline


@pytest.mark.parametrize(
    ("simulated", "measured", "said"),
    [
        (1.1, 1.0, "+10 %"),
        (0.9, 1.0, "-10 %"),
        (1.001, 1.0, "0 %"),
        (3, 3, "0 %"),
        (0, 0, "0 %"),
        (2, 0, "-"),
    ],
)
def test_a_difference_in_percent(simulated: float, measured: float, said: str) -> None:
    assert beside(simulated, measured) == said


def test_what_was_recorded_in_all() -> None:
    said = recorded_in_all(pipeline())
    assert "1,234 commits of 1 group out of" in said
    assert "56 ends of logs" in said
    assert "3 candidates" in said
    assert "candidates" not in recorded_in_all(pipeline() | {"backtest": None})


def test_forecasts_beside_those_that_need_no_model() -> None:
    said = forecasts(forecast())
    assert "miss by 1.2 of the 2.5 records" in said
    assert "repeating the last hour would miss by 2.0" in said
    assert said.endswith("0.60 times that one, 0.80 times that of the same time a day ago.")


def test_plans_both_ways() -> None:
    said = plans(forecast()["plans"])
    assert "47 hours of 336 had a smaller largest lag than planned from lag alone (by 22 %, median)" in said
    assert "1 hour a larger one (by 50 %), 211 the same" in said
    assert "on average it was 12.0 records, not 13.0." in said
    assert said.endswith("It moved 0.9 partitions an hour, planning from lag alone 0.6.")


def test_plans_of_which_nothing_can_be_said() -> None:
    nothing = forecast()["plans"] | {"better": 0, "gain": None, "worse": 0, "loss": None, "lag": None}
    assert "(" not in plans(nothing)
    assert "not -." in plans(nothing)
