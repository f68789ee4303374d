"""Members that plan by forecast: the work they do, and the comparison of their plans."""

from __future__ import annotations

import numpy as np
import pytest

from bench.lag.forecasts import by_hour, flights
from bench.lag.foresight import (
    LEAST_S,
    Case,
    Outcome,
    compare,
    from_one_state,
    largest,
    rate_for,
)
from bench.lag.traffic import WEEK, Hour, Traffic, work_off

PARTITIONS = 4


def daily(weeks: int = 3) -> Traffic:
    """Return traffic with records of the even hours in partitions 0 and 2, of the odd hours in 1 and 3.

    A plan by counts gives each pair to one member.
    """
    arrivals = np.zeros((weeks * WEEK, 60, PARTITIONS))
    arrivals[0::2, :, 0::2] = 2
    arrivals[1::2, :, 1::2] = 2
    return Traffic(1_356_998_400, arrivals)


def test_member_divides_its_time_in_proportion_to_lag() -> None:
    """Member 0 has 30 + 2 and 10 + 0 records in the first minute, and does 21 of these 42."""
    arrivals = np.zeros((2, 3))
    arrivals[0] = [2, 0, 5]
    hour = work_off(np.array([30.0, 10.0, 0.0]), arrivals, np.array([0, 0, 1], np.int32), 2, 21)
    assert hour.left.tolist() == [0, 0, 0]
    assert (hour.member, hour.partition) == (21, 16)


def test_each_record_is_done_once() -> None:
    rng = np.random.default_rng(1)
    lag, arrivals = rng.integers(0, 50, 6).astype(float), rng.integers(0, 9, (60, 6)).astype(float)
    owners = np.array([0, 0, 1, 1, 1, 2], np.int32)
    busy = work_off(lag, arrivals, owners, 3, 3.0)
    assert busy.left.sum() == pytest.approx(lag.sum() + arrivals.sum() - 3 * 60 * 3.0)
    assert np.bincount(owners, busy.left).max() <= busy.member


def test_plans_start_each_hour_from_the_state_that_lag_alone_left() -> None:
    traffic = daily()
    case = Case(members=2, rate=2.1, skew=1, first=3 * WEEK - 50)
    outcomes = from_one_state(case, traffic, {"arrivals known": traffic.hours, "nothing": 0 * traffic.hours})
    assert largest(outcomes["nothing"]).tolist() == largest(outcomes["lag"]).tolist()
    assert largest(outcomes["arrivals known"]).sum() < largest(outcomes["lag"]).sum()


def test_comparison_leaves_out_quiet_hours() -> None:
    """The last hour is quiet in both; in the one before, the other plan had lag of its own."""
    ours, theirs = np.array([5.0, 10.0, 10.1, 30.0, 8.0, 1.0]), np.array([10.0, 10.0, 10.0, 20.0, 10.0, 1.5])
    comparison = compare(ours, theirs, 2)
    assert (comparison.better, comparison.same, comparison.worse) == (2, 2, 1)
    assert comparison.gain == pytest.approx(0.35)
    assert comparison.loss == pytest.approx(0.5)
    assert comparison.median == pytest.approx(1.0)
    assert np.isnan(compare(ours, theirs, 100).median)


def test_largest_lag_of_each_hour() -> None:
    outcomes = [Outcome(Hour(3, 2, np.zeros(1)), 0), Outcome(Hour(5, 1, np.zeros(1)), 0)]
    assert largest(outcomes).tolist() == [3, 5]
    assert largest(outcomes, "partition").tolist() == [2, 1]


def test_rate_keeps_members_as_busy_as_requested() -> None:
    traffic = daily()
    assert rate_for(traffic, 2, 0.8) == pytest.approx(240 / 60 / 2 / 0.8)


@pytest.mark.long
def test_plans_from_forecasts_win_more_hours_than_they_lose() -> None:
    """The last of three weeks of flights, three members that are 95 % busy in the busiest hours."""
    traffic = flights(partitions=8, weeks=3)
    case = Case(3, rate_for(traffic, 3, 0.95), 1, 2 * WEEK)
    outcomes = from_one_state(case, traffic, {"load model": by_hour(traffic).arrivals})
    found = compare(largest(outcomes["load model"]), largest(outcomes["lag"]), case.rate * LEAST_S / 60)
    assert found.better > found.worse
    assert found.better + found.same + found.worse <= WEEK
