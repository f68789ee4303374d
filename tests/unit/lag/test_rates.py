"""Rates of a watched group, and how near its unread records are to the end of retention."""

from __future__ import annotations

import pytest

from kafka_assignors.lag import Offsets
from kafka_assignors.lag.rates import WINDOW_S, Rate, Rates, total
from kafka_assignors.lag.retention import Retention, share_left
from kafka_assignors.plan import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_rates_are_means_over_the_window() -> None:
    rates = Rates()
    for second in range(0, 200, 2):
        known = rates.add(second, {T0: Offsets(0, 10 * second, 5 * second)})
    assert known == {T0: Rate(10, 5, 0)}
    for second in range(200, 200 + int(WINDOW_S) + 2, 2):
        known = rates.add(second, {T0: Offsets(0, 1_980, 990)})
    assert known == {T0: Rate(0, 0, WINDOW_S + 2)}


def test_partition_of_one_look_has_no_rate() -> None:
    rates = Rates()
    assert rates.add(0, {T0: Offsets(0, 10, 5)}) == {}
    assert rates.add(2, {T1: Offsets(0, 10, 5)}) == {}


def test_unchanged_commit_counts_from_the_look_that_first_saw_it() -> None:
    rates = Rates()
    rates.add(0, {T0: Offsets(0, 10, 5)})
    assert rates.add(2, {T0: Offsets(0, 10, 6)})[T0].commit_unchanged_s == 0
    assert rates.add(5, {T0: Offsets(0, 20, 6)})[T0].commit_unchanged_s == 3


def test_partition_without_a_commit_has_no_last_commit() -> None:
    rates = Rates(60)
    rates.add(0, {T0: Offsets(0, 10, 5), T1: Offsets(0, 10, None)})
    measured = rates.add(20, {T0: Offsets(0, 20, 5), T1: Offsets(0, 10, None)})
    assert measured[T1].commit_unchanged_s is None
    assert total(measured.values()) == Rate(0.5, 0, 20)
    assert total([measured[T1]]) == Rate(0, 0, None)


@pytest.mark.parametrize("committed", [None, 3])
def test_no_commit_or_one_that_went_back_has_no_rate_out(committed: int | None) -> None:
    rates = Rates()
    rates.add(0, {T0: Offsets(0, 10, 5)})
    measured = rates.add(2, {T0: Offsets(0, 14, committed)})[T0]
    assert measured == Rate(2, None, None if committed is None else 0)


def test_topic_created_again_has_no_rate() -> None:
    rates = Rates()
    rates.add(0, {T0: Offsets(0, 10, 5)})
    assert rates.add(2, {T0: Offsets(0, 4, 5)}) == {}


@pytest.mark.parametrize(
    ("rate", "lag", "seconds"),
    [
        (Rate(10, 25, 0), 150, 10),
        (Rate(10, 25, 0), 0, 0),
        (Rate(10, 10, 0), 1, None),
        (Rate(10, 9, 0), 1, None),
        (Rate(0, None, 0), 1, None),
        (Rate(0.3 + 0.2 + 0.1, 0.1 + 0.2 + 0.3, 0), 1_500, None),  # equal but for rounding
    ],
)
def test_time_to_catch_up(rate: Rate, lag: int, seconds: float | None) -> None:
    assert rate.catch_up_s(lag) == seconds


def test_total_of_rates() -> None:
    assert total([Rate(1, 2, 3), Rate(10, None, 1)]) == Rate(11, 2, 1)
    assert total([]) is None


@pytest.mark.parametrize(
    ("retention", "age_ms", "left"),
    [
        (Retention(), 500, None),
        (Retention(1_000), 250, 0.75),
        (Retention(1_000), 5_000, 0),
        (Retention(1_000), None, None),
        (Retention(None, 1_000, 8), None, 0.6),  # 50 records are unread
        (Retention(None, 1_000, 30), 0, 0),
        (Retention(None, 1_000, None), 0, None),
        (Retention(1_000, 1_000, 8), 900, pytest.approx(0.1)),
    ],
)
def test_share_of_retention_that_is_left(
    retention: Retention, age_ms: float | None, left: float | None
) -> None:
    assert share_left(retention, 200, 150, age_ms) == left


def test_partitions_that_are_gone_are_forgotten() -> None:
    rates, other = Rates(), TopicPartition("gone", 0)
    rates.add(0, {other: Offsets(0, 5, 5)})
    for second in (100, 200, 300):
        rates.add(second, {})
    assert not rates._commit_seen
