"""Plans from forecasts beside plans from lag alone, on recorded flights."""

from __future__ import annotations

import pytest

from bench.lag.forecasts import by_hour, flights
from bench.lag.foresight import LEAST_S, Case, compare, from_one_state, largest, rate_for
from bench.lag.traffic import WEEK


@pytest.mark.long
def test_plans_from_forecasts_win_more_hours_than_they_lose() -> None:
    """The last of three weeks of flights, three members that are 95 % busy in the busiest hours."""
    traffic = flights(partitions=8, weeks=3)
    case = Case(3, rate_for(traffic, 3, 0.95), 1, 2 * WEEK)
    outcomes = from_one_state(case, traffic, {"load model": by_hour(traffic).arrivals})
    hours = compare(largest(outcomes["load model"]), largest(outcomes["lag"]), case.rate * LEAST_S / 60)
    assert hours.better > hours.worse
    assert hours.better + hours.same + hours.worse <= WEEK
