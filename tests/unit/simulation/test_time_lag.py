from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.simulation.time_lag import age_periods, ages, quantile


def ages_of_one_partition(times: list[float], arrived: list[float], read: list[float]) -> list[float]:
    by_partition = ages(np.array(times), np.array(arrived)[:, None], np.array(read)[:, None])
    return [float(age) for age in by_partition[:, 0]]


def test_rounding_error_is_no_lag() -> None:
    assert ages_of_one_partition([0, 1, 2], [0, 10, 10], [0, 10 - 1e-9, 10 - 1e-9]) == [0, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_age_agrees_with_counting_single_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.arange(12.0)
    arrivals = rng.integers(0, 6, 12) * (rng.random(12) < 0.7)
    arrivals[0] = 3
    arrived = np.cumsum(arrivals).astype(float)
    read = np.minimum(arrived, np.cumsum(rng.integers(0, 6, 12))).astype(float)
    read[0] = 0
    record_times: list[float] = [0.0] * 3  # evenly spread over each step
    for step, records in enumerate(arrivals[1:].tolist(), 1):
        record_times += [step - 1 + n / records for n in range(records)]
    for step, age in enumerate(ages_of_one_partition(times.tolist(), arrived.tolist(), read.tolist())):
        unread = record_times[int(read[step]) : int(arrived[step])]
        assert age == pytest.approx(step - unread[0] if unread else 0.0, abs=1e-5)


def test_age_drops_when_the_records_before_a_gap_are_read() -> None:
    """Records of the first second are read at 4 s; the next one arrived at 3 s."""
    times, arrived, read = [0, 1, 3, 4, 5], [0, 10, 10, 20, 30], [0, 0, 0, 10, 20]
    periods = age_periods(np.array(times), np.array(arrived)[:, None], np.array(read)[:, None], 5)
    assert periods.first.tolist() == pytest.approx([0, 1, 3, 1])
    assert periods.last.tolist() == pytest.approx([1, 3, 3, 1])


def test_records_after_a_gap_are_not_as_old_as_the_gap() -> None:
    """The partition is empty for an hour; then records arrive, and are not read for 5 s."""
    times, arrived, read = [0, 1, 3600, 3605, 3606], [0, 10, 10, 20, 20], [0, 10, 10, 10, 20]
    periods = age_periods(np.array(times), np.array(arrived)[:, None], np.array(read)[:, None], 3606)
    assert periods.first.tolist() == pytest.approx([0, 5])
    assert periods.last.tolist() == pytest.approx([5, 1])
    assert periods.largest.tolist() == [5]


@pytest.mark.parametrize("seed", range(10))
def test_quantiles_over_time_agree_with_frequent_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.random(20) * 3 + 0.1)
    arrived = np.cumsum(rng.integers(0, 6, (20, 3)) * (rng.random((20, 3)) < 0.7), axis=0).astype(float)
    read = np.minimum(arrived, np.cumsum(rng.integers(0, 6, (20, 3)), axis=0)).astype(float)
    read = np.maximum.accumulate(read)
    until = float(times[14])
    sample_times = np.union1d(np.linspace(times[0], until, 20_001)[:-1], times)
    arrived_then, read_then = (
        np.stack([np.interp(sample_times, times, levels[:, p]) for p in range(3)], axis=1)
        for levels in (arrived, read)
    )
    sampled = ages(sample_times, arrived_then, read_then)
    periods = age_periods(times, arrived, read, until)
    within = sampled[sample_times <= until]
    seconds = float(until - times[0]) * 3
    for part in (0.1, 0.5, 0.9, 0.99):
        least, most = np.quantile(within, [max(part - 0.002, 0), min(part + 0.002, 1)])
        assert least - 0.01 <= quantile(*periods[:3], seconds, part) <= most + 0.01
    assert max(periods.first.max(), periods.last.max()) == pytest.approx(sampled.max(), abs=0.01)
