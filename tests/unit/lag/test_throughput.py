"""Smoothed arrival rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import TopicPartition

WINDOW_S = 300
A, B = (TopicPartition("t", p) for p in range(2))


def measured(*looks: tuple[float, int]) -> Throughput:
    throughput = Throughput(WINDOW_S)
    for at_s, end in looks:
        throughput.measure({A: end}, at_s)
    return throughput


def test_rate_needs_two_looks() -> None:
    assert measured((0, 100)).rates([A, B]) == {}
    assert measured((0, 100), (20, 200)).rates([A, B]) == {A: 5.0}
    assert measured((0, 0), (1, 90), (20, 100)).rates([A]) == {A: pytest.approx(5.0)}, (
        "a young rate is the mean"
    )


def test_rate_counts_after_a_fifteenth_of_the_window() -> None:
    """One record within 50 ms is not 20 records a second."""
    looks = [(0.0, 100), (0.05, 101), (19.9, 101)]
    young = measured(*looks)
    assert young.rates([A]) == {}
    assert measured(*looks, (20.0, 101)).rates([A]) == {A: pytest.approx(0.05)}
    young.learn({A: 8.0}, 20)
    assert young.rates([A]) == {A: 8.0}, "a young rate gives way to a reported one"


def test_rate_follows_a_change_within_minutes() -> None:
    looks = [(float(s), 10 * s) for s in range(0, 3_600, 10)]
    end = looks[-1][1]
    looks += [(3_590.0 + s, end + 100 * s) for s in range(10, 910, 10)]
    before, after = measured(*looks[:360]), measured(*looks)
    assert before.rates([A])[A] == pytest.approx(10)
    assert 90 < after.rates([A])[A] < 100
    assert 30 < measured(*looks[: 360 + 12]).rates([A])[A] < 45, "a minute or two change a part of it"


def test_topic_that_is_created_again_starts_anew() -> None:
    throughput = measured((0, 1_000), (20, 2_000), (40, 5))
    assert throughput.rates([A]) == {}
    throughput.measure({A: 45}, 60)
    assert throughput.rates([A]) == {A: 2.0}


def test_late_answer_with_a_lower_end_is_ignored() -> None:
    """Of two fetches at the same time, the one that read the end first may return last."""
    throughput = measured((0, 0), (20, 100), (21, 95))
    assert throughput.rates([A]) == {A: 5.0}
    throughput.measure({A: 200}, 40)
    assert throughput.rates([A]) == {A: 5.0}


def test_learned_rate_counts_at_once_and_is_measured_further() -> None:
    throughput = Throughput(WINDOW_S)
    throughput.learn({A: 8.0}, 100)
    assert throughput.rates([A]) == {A: 8.0}
    throughput.measure({A: 1_000}, 105)
    assert throughput.rates([A]) == {A: 8.0}
    throughput.measure({A: 1_000}, 105 + WINDOW_S)
    assert throughput.rates([A]) == {A: pytest.approx(4.0)}, "as much weight as the window"


def test_fresh_own_measurement_counts_before_a_learned_one() -> None:
    throughput = measured((0, 0), (20, 100))
    throughput.learn({A: 8.0, B: 3.0}, 60)
    assert throughput.rates([A, B]) == {A: 5.0, B: 3.0}
    throughput.learn({A: 8.0, B: 2.0}, 600)
    assert throughput.rates([A, B]) == {A: 8.0, B: 2.0}


def test_rate_without_news_for_an_hour_is_dropped() -> None:
    throughput = measured((0, 0), (20, 100))
    throughput.measure({B: 0}, 3_700)
    assert throughput.rates([A]) == {}


@given(st.lists(st.tuples(st.floats(0.1, 60), st.floats(0, 1_000)), max_size=30))
def test_rate_is_between_the_least_and_the_most(steps: list[tuple[float, float]]) -> None:
    at_s, end, seen = 0.0, 0, []
    throughput = measured((0, 0))
    for seconds, rate in [*steps, (20.0, 100.0)]:
        records = int(rate * seconds)
        at_s, end = at_s + seconds, end + records
        throughput.measure({A: end}, at_s)
        seen.append(records / seconds)
    (found,) = throughput.rates([A]).values()
    assert min(seen) * 0.999 - 1e-9 <= found <= max(seen) * 1.001 + 1e-9


def test_learned_rate_counts_as_measured_only_after_a_measurement() -> None:
    throughput = Throughput(100)
    throughput.learn({A: 100.0}, 0)
    throughput.measure({A: 500}, 10)
    throughput.learn({A: 1_000.0}, 20)
    assert throughput.rates([A]) == {A: 1_000.0}
    throughput.measure({A: 500}, 30)
    throughput.measure({A: 500}, 40)
    throughput.learn({A: 7.0}, 50)  # 10 s without a record beside 100 s at 1,000 records/s
    assert throughput.rates([A]) == {A: pytest.approx(100_000 / 110)}
