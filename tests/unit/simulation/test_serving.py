from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.simulation.serving import records_read, when_empty

INF = float("inf")


def read(demand: list[float], reader: list[int], capacity: list[float]) -> list[float]:
    return [
        float(records) for records in records_read(np.array(demand), np.array(reader), np.array(capacity))
    ]


def test_overloaded_member_gives_equal_parts_and_unneeded_time_to_the_others() -> None:
    assert read([9, 9, 9], [0, 0, 0], [6]) == [2, 2, 2]
    assert read([1, 9, 9], [0, 0, 0], [6]) == [1, 2.5, 2.5]
    assert read([9, 1, 2, 9], [0, 0, 0, 0], [9]) == [3, 1, 2, 3]


def test_capacity_is_not_shared_between_members() -> None:
    assert read([9, 1, 9, 3], [1, 0, 1, 0], [100, 4]) == [2, 1, 2, 3]


def test_partition_without_a_reader_is_not_read() -> None:
    assert read([5, 5], [1, 0], [9]) == [0, 5]
    assert read([5, 5], [1, 1], [9]) == [0, 0]
    assert read([0, 0], [0, 1], [0]) == [0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_shares_equal_a_simulation_of_taking_turns(seed: int) -> None:
    """The simulation takes turns of 1/2000 of the interval, with arrivals in between."""
    rng = np.random.default_rng(seed)
    lag, arriving = rng.uniform(0, 20, 5) * (rng.random(5) < 0.6), rng.uniform(0, 10, 5)
    capacity, turns = rng.uniform(10, 60), 2000
    left, read_by_turns = lag.copy(), np.zeros(5)
    for _ in range(turns):
        left += arriving / turns
        time = capacity / turns
        while time > 1e-12 and (is_left := left > 1e-12).any():
            part = min(time / is_left.sum(), left[is_left].min())
            left[is_left] -= part
            read_by_turns[is_left] += part
            time -= part * is_left.sum()
    simulated = records_read(lag + arriving, np.zeros(5, np.int64), np.array([capacity]))
    np.testing.assert_allclose(simulated, read_by_turns, atol=0.1)


def test_time_until_the_lag_of_a_member_is_0() -> None:
    seconds = when_empty(np.array([10.0, 0, 10, 10]), np.array([3.0, 9, 5, 0]), np.array([5.0, 1, 5, 0]))
    assert seconds.tolist() == [5.0, 0.0, INF, INF]
