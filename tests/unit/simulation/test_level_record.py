"""Time lags of windows are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.simulation import level_record
from kafka_assignors.simulation.level_record import LevelRecord, TimeLags
from kafka_assignors.simulation.time_lag import AgePeriods, age_periods, ages, quantile

TIMES, PARTITIONS, CELLS = 400, 5, 100


def levels(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, arrived and read records.  Arrivals have gaps, and one partition is read no more."""
    rng = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.cumsum(rng.random(TIMES - 1) * 3 + 0.1)])
    shape = TIMES, PARTITIONS
    arrived = np.cumsum(rng.integers(0, 6, shape) * (rng.random(shape) < 0.5), axis=0).astype(float)
    wanted = np.cumsum(rng.integers(0, 8, shape) * (rng.random(shape) < 0.5), axis=0)
    read = np.zeros(shape)
    for n in range(1, TIMES):
        read[n] = np.minimum(arrived[n], read[n - 1] + wanted[n] - wanted[n - 1])
    read[100:150, 0] = read[100, 0]
    read[:, 1] = np.minimum(arrived[:, 1], 40)
    return times, arrived, np.maximum.accumulate(read)


def recorded(seed: int, cells: int) -> TimeLags:
    """Return the figures; every third time ends a step."""
    times, arrived, read = levels(seed)
    record = LevelRecord(float(times[300]), PARTITIONS, cells)
    for n in range(TIMES):
        record.record(float(times[n]), arrived[n], read[n])
        if n % 3 == 0:
            record.record_step()
    return record.time_lags()


@pytest.mark.parametrize("seed", range(5))
def test_figures_of_windows_are_those_of_the_whole(seed: int) -> None:
    times, arrived, read = levels(seed)
    periods = age_periods(times, arrived, read, float(times[300]))
    whole = recorded(seed, TIMES * PARTITIONS)
    seconds = float(times[300] - times[0]) * PARTITIONS
    assert whole.p50 == quantile(*periods[:3], seconds, 0.5)
    assert whole.p99 == quantile(*periods[:3], seconds, 0.99)
    assert whole.largest.tolist() == periods.largest.tolist()
    assert whole.at_steps.tolist() == ages(times[::3], arrived[::3], read[::3]).max(axis=1).tolist()
    parts = recorded(seed, CELLS)
    assert parts[:2] == pytest.approx(whole[:2], rel=1e-8)
    np.testing.assert_allclose(parts.largest, whole.largest)
    np.testing.assert_allclose(parts.at_steps, whole.at_steps)


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_of_many_periods_are_as_near_as_their_bins(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recorded(seed, TIMES * PARTITIONS)
    monkeypatch.setattr(level_record, "PERIODS", 0)
    assert recorded(seed, CELLS)[:2] == pytest.approx(whole[:2], rel=1e-4)


def test_levels_are_kept_as_long_as_the_oldest_unread_record() -> None:
    """Ten partitions are read as records arrive, and then one is not."""
    record = LevelRecord(1e6, 10, cells=100)
    lengths = []
    for n in range(1000):
        arrived = np.full(10, 10.0 * n)
        read = arrived.copy()
        read[3] = min(10.0 * n, 5000.0)
        record.record(float(n), arrived, read)
        record.record_step()
        lengths.append(len(record._at))
    assert max(lengths[:500]) <= 62  # twice those of the last 30 s
    assert len(record._at) >= 500
    lags = record.time_lags()
    assert lags.largest.tolist() == [499.0 if partition == 3 else 0.0 for partition in range(10)]
    assert lags.at_steps.tolist() == [max(0.0, n - 500.0) for n in range(1000)]


def assert_counted_as_exact(ages_s: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare quantiles of ages counted by bins with the exact ones; each period lasts a second."""
    monkeypatch.setattr(level_record, "PERIODS", 0)
    first, last = np.array(ages_s).T
    periods = AgePeriods(first, last, np.ones(len(first)), np.zeros(0))
    distribution = level_record._AgeDistribution()
    distribution.add(periods)
    for part in (0.5, 0.99, 0.999):
        exact = quantile(*periods[:3], len(first), part)
        assert distribution.quantile(part, len(first)) == pytest.approx(exact, rel=1e-4)


def test_constant_age_at_the_bound_of_a_bin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its float noise gives it a huge density on both sides of the bound."""
    bound = 1e-3 * 1.0001**90_000
    noise = [(bound * (1 - 1e-15), bound * (1 + 1e-15))] * 20
    assert_counted_as_exact([*((n / 100.0, n / 100.0 + 1) for n in range(10_000)), *noise], monkeypatch)


def test_ages_of_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    assert_counted_as_exact([(age, age + 0.02) for age in (draw.random(20_000) * 1e-3).tolist()], monkeypatch)
