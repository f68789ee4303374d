from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.backtest.time_lag import ages


def of_one(at: list[float], arrived: list[float], read: list[float]) -> list[float]:
    found = ages(np.array(at), np.array(arrived)[:, None], np.array(read)[:, None])
    return [float(age) for age in found[:, 0]]


def test_the_oldest_record_counts_from_when_it_came() -> None:
    # 10 come in each second; at 3 s the first 15 are read: the next one came at 1.5 s.
    assert of_one([0, 1, 2, 3], [0, 10, 20, 30], [0, 10, 15, 15]) == pytest.approx([0, 0, 0.5, 1.5])


def test_what_was_there_at_the_start_counts_from_then() -> None:
    assert of_one([0, 1, 2], [5, 5, 5], [0, 2, 5]) == [0, 1, 0]


def test_a_time_without_arrivals_does_not_make_records_older() -> None:
    """All that came before the gap is read, so the oldest one came after it."""
    assert of_one([0, 1, 5, 6], [0, 10, 10, 20], [0, 10, 10, 10]) == pytest.approx([0, 0, 0, 1])


def test_what_floats_lose_is_no_lag() -> None:
    assert of_one([0, 1, 2], [0, 10, 10], [0, 10 - 1e-9, 10 - 1e-9]) == [0, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_counting_records_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = np.arange(12.0)
    come = rng.integers(0, 6, 12) * (rng.random(12) < 0.7)
    come[0] = 3
    arrived = np.cumsum(come).astype(float)
    read = np.minimum(arrived, np.cumsum(rng.integers(0, 6, 12))).astype(float)
    read[0] = 0
    times: list[float] = [0.0] * 3  # of each record, evenly spread over its step
    for step, records in enumerate(come[1:].tolist(), 1):
        times += [step - 1 + n / records for n in range(records)]
    for step, found in enumerate(of_one(at.tolist(), arrived.tolist(), read.tolist())):
        here = times[int(read[step]) : int(arrived[step])]
        assert found == pytest.approx(step - here[0] if here else 0.0, abs=1e-5)
