from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.simulation.serving import shared, when_empty

INF = float("inf")


def read(demand: list[float], reader: list[int], capacity: list[float]) -> list[float]:
    return [float(records) for records in shared(np.array(demand), np.array(reader), np.array(capacity))]


def test_who_has_the_time_reads_all() -> None:
    assert read([3, 4, 5], [0, 0, 1], [7, 9]) == [3, 4, 5]


def test_who_has_not_gives_each_the_same_and_what_one_does_not_need_to_the_others() -> None:
    assert read([9, 9, 9], [0, 0, 0], [6]) == [2, 2, 2]
    assert read([1, 9, 9], [0, 0, 0], [6]) == [1, 2.5, 2.5]
    assert read([9, 1, 2, 9], [0, 0, 0, 0], [9]) == [3, 1, 2, 3]


def test_members_do_not_help_each_other() -> None:
    assert read([9, 1, 9, 3], [1, 0, 1, 0], [100, 4]) == [2, 1, 2, 3]


def test_nobody_reads_nothing() -> None:
    assert read([5, 5], [1, 0], [9]) == [0, 5]
    assert read([5, 5], [1, 1], [9]) == [0, 0]
    assert read([0, 0], [0, 1], [0]) == [0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_taking_turns_comes_to(seed: int) -> None:
    """Against turns of a thousandth of the interval, with arrivals on the way."""
    rng = np.random.default_rng(seed)
    lag, arriving = rng.uniform(0, 20, 5) * (rng.random(5) < 0.6), rng.uniform(0, 10, 5)
    capacity, turns = rng.uniform(10, 60), 2000
    left, got = lag.copy(), np.zeros(5)
    for _ in range(turns):
        left += arriving / turns
        time = capacity / turns
        while time > 1e-12 and (there := left > 1e-12).any():
            part = min(time / there.sum(), left[there].min())
            left[there] -= part
            got[there] += part
            time -= part * there.sum()
    simulated = shared(lag + arriving, np.zeros(5, np.int64), np.array([capacity]))
    np.testing.assert_allclose(simulated, got, atol=0.1)


def test_when_a_member_has_nothing_left() -> None:
    found = when_empty(np.array([10.0, 0, 10, 10]), np.array([3.0, 9, 5, 0]), np.array([5.0, 1, 5, 0]))
    assert found.tolist() == [5.0, 0.0, INF, INF]
