"""A group that is scaled through a day: traffic, rules, the simulated group, and figures from logs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.lag.autoscaler import Hpa, Keda, ScaledGroup, View
from bench.lag.day import STRATEGIES
from bench.lag.live.day import Cost, Lapse, rate_of, row, traffic, waits_of
from demo.data.events import Flight
from demo.group.logs import Entry
from kafka_assignors.simulation import History, Pauses, Scenario, parse_churn, simulate

PARTITIONS = 4
STRATEGY = STRATEGIES["counts"]


def view(lag: float, replicas: int, now_s: float = 0.0) -> View:
    lags = np.array([lag] + [0.0] * (PARTITIONS - 1))
    return View(now_s, lags, lags, None, replicas, replicas)


def test_hpa_grows_at_once_with_limits_and_shrinks_after_the_window() -> None:
    hpa = Hpa(average=10, most=20)
    assert hpa.replicas(0, 109, 10) == 10  # within the tolerance
    assert hpa.replicas(15, 115, 10) == 12
    assert hpa.replicas(30, 300, 2) == 6  # four at once
    assert hpa.replicas(45, 300, 12) == 20
    assert hpa.replicas(60, 10, 20) == 20
    assert hpa.replicas(340, 0, 20) == 20
    assert hpa.replicas(346, 0, 20) == 1


def test_keda_divides_all_lag_and_has_a_replica_for_each_partition_at_most() -> None:
    assert Keda(10)(view(25, 1)) == 3
    assert Keda(10)(view(1000, 3)) == PARTITIONS


@pytest.mark.parametrize(
    ("lag", "replicas", "size"),
    [(160, 15, 15), (169, 15, 16), (170, 15, 15), (4000, 15, 15), (4000, 14, 16)],
    ids=["tolerated", "not cut", "cut, and tolerated", "far behind", "two short"],
)
def test_keda_cuts_lag_by_whole_thresholds_and_the_hpa_tolerates_one_replica_less(
    lag: int, replicas: int, size: int
) -> None:
    lags = np.array([float(lag)] + [0.0] * 15)
    assert Keda(10)(View(0.0, lags, lags, None, replicas, replicas)) == size


def load(*rates: int, minutes: int = 30) -> History:
    """Return minutes of records/s, the same in each partition; a member reads 100 records/s."""
    rows = np.repeat([[60 * rate] * PARTITIONS for rate in rates], minutes, axis=0)
    return History("g", 60.0, {"t": PARTITIONS}, rows, np.zeros(PARTITIONS, np.int64), service_rate=100.0)


def test_scaled_group_is_the_simulation_of_the_same_joins() -> None:
    history, pauses = load(40), Pauses(start_s=20.0)
    group = ScaledGroup(history, STRATEGY, pauses, lambda seen: 3 if seen.now_s >= 600 else 1)
    ours = group.play()
    churn = parse_churn("join@600,join@600.001")
    theirs = simulate(history, Scenario("h", STRATEGY, 1, churn=churn, pauses=pauses))
    assert (ours.moved, ours.rebalances) == (theirs.moved, theirs.rebalances)
    assert ours.time_lag_max == pytest.approx(theirs.time_lag_max, rel=0.01)
    assert (group.most, group.scalings) == (3, 1)
    assert group.member_s == 1800 + 2 * 1200


def flight(at: int, minutes: int) -> Flight:
    return Flight(at, b"ORD", json.dumps({"distance": str(7 * (minutes - 30))}).encode())


def test_flight_sends_from_its_departure_until_it_lands_and_within_the_day_only() -> None:
    lapse = Lapse(day_s=240, send_s=120)
    day_s = 86_400
    due = traffic([flight(1000, 40)], 0, lapse)
    assert len(due) == 20
    assert 1000 <= due[0][0] * lapse.speed < 1120
    assert due[-1][0] - due[0][0] == pytest.approx(19 * 120 / lapse.speed)
    both = traffic([flight(-1200, 40), flight(day_s - 1200, 40)], 0, lapse)
    assert [at for at, _ in both] == sorted(at for at, _ in both)
    assert {at < 120 for at, _ in both} == {True, False}
    assert all(0 <= at < 240 for at, _ in both)
    assert len(both) == 20


def test_busiest_members_just_keep_up_with_the_busiest_ten_minutes() -> None:
    lapse = Lapse(day_s=1440, busiest=5)  # ten minutes of the day are ten seconds
    due = [(float(second), flight(0, 40)) for second in [*range(100), *[500] * 99]]
    assert rate_of(due, lapse) == (99 / 10) / 5


def test_row_counts_waits_moves_and_members_from_the_logs() -> None:
    second = 1_000_000_000
    driver = [Entry(10 * second, "sent", (0,), 0, 1), Entry(12 * second, "sent", (1,), 0, 0)]
    members = {
        "m1": [
            Entry(2 * second, "assigned", (0, 1)),
            Entry(11 * second, "done", (0,), 0, 0),
            Entry(13 * second, "revoked", (1,)),
            Entry(14 * second, "done", (0,), 1, 1),
        ],
        "m2": [Entry(13 * second, "assigned", (1,)), Entry(32 * second, "done", (1,), 0, 0)],
    }
    members["m2"].append(Entry(33 * second, "done", (0,), 1, 1))  # again: the first time counts
    assert sorted(waits_of(driver, members).tolist()) == [1, 4, 20]
    cost = Cost(member_s=20.0, most=2, scalings=1, started={"m1": second, "m2": 10 * second})
    lapse = Lapse(day_s=240, target_s=10)
    assert row("a rule", lapse, cost, driver, members) == (
        "a rule", "2.0", "2", "8.33 s", "19.7 s", "20.0 s", "33.3%", "1", "1", "2.0 s",
    )  # fmt: skip
