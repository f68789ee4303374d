from __future__ import annotations

import numpy as np

from kafka_assignors.simulation.leader import KnownLag, expected_arrivals

OWNED, HALF_OWNED = np.array([0, 0]), np.array([0, -1])


def lag(*records: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(records)


def known_lag(owners: np.ndarray[tuple[int], np.dtype[np.int64]] = OWNED) -> KnownLag:
    """The lag of both partitions rises by 1 record/s from 0 at 0 s; members fetch every 10 s."""
    known = KnownLag(2, 10.0)
    known.record(0.0, lag(0, 0))
    known.assigned(0.0, owners)
    for now in (4.0, 14.0, 27.0):
        known.record(now, lag(now, now))
    return known


def test_member_reports_the_lag_of_its_last_fetch() -> None:
    assert known_lag().lag(27.0, lag(27, 27), 0).tolist() == [20, 20]


def test_removed_member_reports_nothing() -> None:
    known = known_lag()
    known.removed(np.array([True, False]))
    assert known.lag(27.0, lag(27, 27), 0).tolist() == [27, 20]


def test_leader_keeps_the_lag_it_fetched_as_no_member_reports_it_and_its_successor_does_not() -> None:
    known = known_lag(HALF_OWNED)
    assert known.lag(27.0, lag(27, 27), 0).tolist() == [20, 27]
    assert known.lag(29.0, lag(29, 29), 0).tolist() == [20, 27]
    assert known.lag(29.0, lag(29, 29), 1).tolist() == [20, 29]


def test_fetched_lag_expires() -> None:
    known = known_lag(HALF_OWNED)
    known.lag(27.0, lag(27, 27), 0)
    known.record(37.5, lag(37.5, 37.5))
    assert known.lag(37.5, lag(37.5, 37.5), 0).tolist() == [30, 37.5]


def test_lag_fetched_by_the_leader_takes_precedence_over_reports() -> None:
    known = known_lag()
    known.leader_fetched(27.0, lag(25, 26), 0)
    assert known.lag(28.0, lag(28, 28), 0).tolist() == [25, 26]


def test_members_fetch_lag_after_an_assignment() -> None:
    known = known_lag()
    known.assigned(27.0, OWNED)
    known.record(30.0, lag(30, 30))
    assert known.lag(30.0, lag(30, 30), 0).tolist() == [27, 27]


def test_forecasts_for_fewer_than_half_of_the_partitions_add_nothing() -> None:
    nan = float("nan")
    topics = {"b": 1, "a": 2}
    assert expected_arrivals(topics, np.array([nan, nan, 9.0])).tolist() == [0, 0, 0]
    assert expected_arrivals(topics, np.array([4.0, nan, 9.0])).tolist() == [4, 4, 9]
