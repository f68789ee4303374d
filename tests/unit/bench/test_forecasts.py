"""The benchmark of plans from forecasts: its traffic, its forecasts, its members and its figures."""

from __future__ import annotations

import numpy as np
import pytest
from kafka.partitioner.default import DefaultPartitioner

from bench.lag.forecasts import FORECASTS, flights, on_its_own
from demo.data.events import find_archive, read_flights
from demo.data.foresight import Case, Outcome, compare, from_one_state, largest, rate_for
from demo.data.traffic import WEEK, Hour, Traffic, work_off
from demo.pipeline.forecast import BUSY, plans_of
from tests.support.joining import cluster

PARTITIONS = 4


def daily(weeks: int = 3) -> Traffic:
    """Partitions 0 and 2 have all records of the even hours, 1 and 3 those of the odd ones.

    Dealt by counts, each pair is one member's.
    """
    arrivals = np.zeros((weeks * WEEK, 60, PARTITIONS))
    arrivals[0::2, :, 0::2] = 2
    arrivals[1::2, :, 1::2] = 2
    return Traffic(1_356_998_400, arrivals)


# --- traffic -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def four_weeks() -> Traffic:
    return flights(18, 4)


def test_flights_are_where_the_producer_puts_them_when_they_are_due(four_weeks: Traffic) -> None:
    traffic = four_weeks
    departures = read_flights(find_archive(), span=7 * 24 * 3600)
    where, there = DefaultPartitioner(), cluster({"t": 18})
    counts = np.zeros((7 * 24, 18))
    for flight in departures:
        hour = (flight.at - traffic.begin_s) // 3600
        if hour < len(counts):
            counts[hour, where.partition("t", None, flight.key, None, None, there)] += 1
    assert traffic.begin_s % 86_400 == 0
    assert counts.sum() > 5_000
    assert np.array_equal(traffic.hours[: len(counts)], counts)


def test_members_work_off_what_they_can_in_proportion() -> None:
    """Member 0 has 30 + 2 and 10 + 0 records in the first minute, and does 21 of these 42."""
    arrivals = np.zeros((2, 3))
    arrivals[0] = [2, 0, 5]
    hour = work_off(np.array([30.0, 10.0, 0.0]), arrivals, np.array([0, 0, 1], np.int32), 2, 21)
    assert hour.left.tolist() == [0, 0, 0]
    assert (hour.member, hour.partition) == (21, 16)


def test_nothing_is_lost_or_done_twice() -> None:
    rng = np.random.default_rng(1)
    lag, arrivals = rng.integers(0, 50, 6).astype(float), rng.integers(0, 9, (60, 6)).astype(float)
    owners = np.array([0, 0, 1, 1, 1, 2], np.int32)
    busy = work_off(lag, arrivals, owners, 3, 3.0)
    assert busy.left.sum() == pytest.approx(lag.sum() + arrivals.sum() - 3 * 60 * 3.0)
    assert np.bincount(owners, busy.left).max() <= busy.member


# --- forecasts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORECASTS.keys() - {"arrivals known"}))
def test_a_forecast_knows_nothing_of_its_hour_or_later(name: str) -> None:
    traffic = daily()
    other = Traffic(traffic.begin_s, traffic.arrivals.copy())
    other.arrivals[200:] = 7
    before, after = FORECASTS[name](traffic), FORECASTS[name](other)
    assert np.array_equal(before[:201], after[:201])
    assert not np.array_equal(before[201:], after[201:])


@pytest.mark.parametrize(
    ("name", "measured"), [("hour of week", 0), ("load model", 1.08), ("arrivals known", 0)]
)
def test_a_season_is_foreseen(name: str, measured: float) -> None:
    """Of 60, on average; who says the last hour again is wrong by 120 every time."""
    traffic = daily()
    error = np.abs(FORECASTS[name](traffic) - traffic.hours)[2 * WEEK :].mean()
    assert error <= 1.02 * measured


# --- plans -------------------------------------------------------------------------------------------------


def test_who_knows_what_comes_shares_it() -> None:
    """Two of four partitions are busy at a time; one member can do no more than one of these."""
    traffic = daily()
    case = Case(members=2, rate=2.1, skew=1, first=2 * WEEK)
    foreseen = FORECASTS["hour of week"](traffic)
    by_counts, by_forecast = (
        largest(on_its_own(case, traffic, kind, told))
        for kind, told in (("counts", None), ("hour of week", foreseen))
    )
    assert by_forecast.max() == 0
    assert by_counts.max() > 100


def test_from_one_state_all_begin_with_what_lag_alone_left() -> None:
    traffic = daily()
    case = Case(members=2, rate=2.1, skew=1, first=3 * WEEK - 50)
    found = from_one_state(case, traffic, {"arrivals known": traffic.hours, "nothing": 0 * traffic.hours})
    alone = on_its_own(case, traffic, "lag", None)
    assert largest(found["lag"]).tolist() == largest(alone).tolist()
    assert largest(found["nothing"]).tolist() == largest(alone).tolist()  # no load more than lag
    assert largest(found["arrivals known"]).sum() < largest(alone).sum()


def test_what_plans_cost_is_told_of_both_ways() -> None:
    """Moves an hour, from the same owners."""
    traffic = daily()
    first = 3 * WEEK - 50
    foreseen = np.random.default_rng(1).random(traffic.hours.shape) * traffic.hours.max()
    plans = plans_of(traffic, foreseen, 2, first)
    case = Case(2, rate_for(traffic, 2, BUSY), 1, first)
    found = from_one_state(case, traffic, {"forecast": foreseen})
    moves = {kind: sum(one.moved for one in hours) / 50 for kind, hours in found.items()}
    assert (plans["moved_lag"], plans["moved_forecast"]) == (moves["lag"], moves["forecast"])
    assert moves["lag"] != moves["forecast"]


def test_on_the_flights_forecasts_win(four_weeks: Traffic) -> None:
    """Of a few days; docs/benchmarks.md has weeks of them."""
    traffic = four_weeks
    case = Case(4, rate_for(traffic, 4, 0.95), 1, first=4 * WEEK - 3 * 24)
    foreseen = FORECASTS["hour of week"](traffic)
    by_lag = largest(on_its_own(case, traffic, "lag", None))
    ours = largest(on_its_own(case, traffic, "hour of week", foreseen))
    assert ours.mean() == pytest.approx(0.70 * by_lag.mean(), rel=0.02)


# --- figures -----------------------------------------------------------------------------------------------


def test_a_comparison() -> None:
    """The last hour is quiet in both; in the one before nobody else had any."""
    ours, theirs = np.array([5.0, 10.0, 10.1, 30.0, 8.0, 1.0]), np.array([10.0, 10.0, 10.0, 20.0, 10.0, 1.5])
    one = compare(ours, theirs, 2)
    assert (one.better, one.same, one.worse) == (2, 2, 1)
    assert one.gain == pytest.approx(0.35)
    assert one.loss == pytest.approx(0.5)
    assert one.median == pytest.approx(1.0)
    assert np.isnan(compare(ours, theirs, 100).median)


def test_the_largest_of_each_hour() -> None:
    outcomes = [Outcome(Hour(3, 2, np.zeros(1)), 0), Outcome(Hour(5, 1, np.zeros(1)), 0)]
    assert largest(outcomes).tolist() == [3, 5]
    assert largest(outcomes, "partition").tolist() == [2, 1]


def test_members_are_as_busy_as_was_asked_for() -> None:
    traffic = daily()
    assert rate_for(traffic, 2, 0.8) == pytest.approx(240 / 60 / 2 / 0.8)
