from __future__ import annotations

import numpy as np

from demo.data.flight_samples import sample_flights
from demo.pipeline.forecast import HOUR_S, STEP_S, WEEK, WEEKS, hours_of
from tests.unit.demo.data.test_flight_samples import MIDNIGHT, flights_at


def test_last_week_is_shown_hour_by_hour() -> None:
    """A flight in the last hour of the week before, two in the first hour of the last week."""
    first = (WEEKS - 1) * WEEK * HOUR_S
    flights = flights_at(0, first - 1, first, first + HOUR_S - 1, WEEKS * WEEK * HOUR_S - 1)
    samples = sample_flights(flights, 3, every_s=STEP_S, days=7 * WEEKS)
    hours = hours_of(samples, np.arange(WEEKS * WEEK) / 8)
    assert hours["begins"] == MIDNIGHT + first
    assert (hours["came"][:3], hours["came"][-1], sum(hours["came"])) == ([2, 0, 0], 1, 3)
    assert hours["naive"] == [1, *hours["came"][:-1]]
    assert (len(hours["forecast"]), hours["forecast"][1]) == (WEEK, 42.1)
