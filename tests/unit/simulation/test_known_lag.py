from __future__ import annotations

import numpy as np

from kafka_assignors.simulation.told import Told, foreseen

OWNED, NOBODYS = np.array([0, 0]), np.array([0, -1])


def lag(*records: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(records)


def told(owners: np.ndarray[tuple[int], np.dtype[np.int64]] = OWNED) -> Told:
    """Both partitions rise by 1 record/s from 0 at 0 s on; members look every 10 s."""
    made = Told(2, 10.0)
    made.passed(0.0, lag(0, 0))
    made.assigned(0.0, owners)
    for now in (4.0, 14.0, 27.0):
        made.passed(now, lag(now, now))
    return made


def test_a_member_reports_what_it_saw_last_and_not_what_is() -> None:
    assert told().lag(27.0, lag(27, 27), 0).tolist() == [20, 20]


def test_the_leader_asks_for_what_nobody_reports() -> None:
    assert told(NOBODYS).lag(27.0, lag(27, 27), 0).tolist() == [20, 27]


def test_the_dead_report_nothing() -> None:
    made = told()
    made.gone(np.array([True, False]))
    assert made.lag(27.0, lag(27, 27), 0).tolist() == [27, 20]


def test_a_leader_remembers_what_it_asked_for_and_its_successor_does_not() -> None:
    made = told(NOBODYS)
    assert made.lag(27.0, lag(27, 27), 0).tolist() == [20, 27]
    assert made.lag(29.0, lag(29, 29), 0).tolist() == [20, 27]
    assert made.lag(29.0, lag(29, 29), 1).tolist() == [20, 29]


def test_what_it_asked_for_is_forgotten_in_time() -> None:
    made = told(NOBODYS)
    made.lag(27.0, lag(27, 27), 0)
    made.passed(37.5, lag(37.5, 37.5))
    assert made.lag(37.5, lag(37.5, 37.5), 0).tolist() == [30, 37.5]


def test_what_the_leader_saw_itself_counts_before_reports() -> None:
    made = told()
    made.looked(27.0, lag(25, 26), 0)
    assert made.lag(28.0, lag(28, 28), 0).tolist() == [25, 26]


def test_an_assignment_makes_everybody_look() -> None:
    made = told()
    made.assigned(27.0, OWNED)
    made.passed(30.0, lag(30, 30))
    assert made.lag(30.0, lag(30, 30), 0).tolist() == [27, 27]


def test_few_forecasts_tell_nothing() -> None:
    nan = float("nan")
    topics = {"b": 1, "a": 2}
    assert foreseen(topics, np.array([nan, nan, 9.0])).tolist() == [0, 0, 0]
    assert foreseen(topics, np.array([4.0, nan, 9.0])).tolist() == [4, 4, 9]
