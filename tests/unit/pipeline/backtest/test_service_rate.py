"""What a history tells of the speed of a member."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from kafka_assignors.forecast import LoadSettings, Sample
from kafka_assignors.pipeline.backtest.service_rate import COMMIT_S, largest_rates
from kafka_assignors.pipeline.backtest.service_rate import service_rate as high_rate
from tests.support.forecast.one_partition import Partition

Floats = npt.NDArray[np.float64]

START, US = 1_700_000_040, 1_000_000
LOOK_S, COMMIT_EVERY_S = 10.0, 5.0


def service_rate(
    served: Floats, lag: Floats, step_s: float, recorded_members: int | None = None
) -> float | None:
    """Return the service rate by partitions, or of the whole group by its members."""
    if recorded_members is None:
        return high_rate(largest_rates(served, lag, step_s), step_s)
    of_all = largest_rates(served.sum(axis=1)[:, None], lag.sum(axis=1)[:, None], step_s)
    return high_rate(of_all / recorded_members, step_s)


def recorded(partitions: Sequence[tuple[float, float]], minutes: int, step_s: float) -> tuple[Floats, Floats]:
    """Served and lag, as the load model makes them of a group that commits every 5 s.

    Args:
        partitions: of each what arrives (by chance), and what its member reads at most, records/s.
        minutes: how long.
        step_s: of the load model.
    """
    columns = []
    for seed, (arrives, reads) in enumerate(partitions):
        rng = Random(seed)
        gaps = [rng.expovariate(arrives) for _ in range(int(70 * minutes * arrives) + 10)]
        times = np.cumsum(gaps)
        looks = np.arange(rng.uniform(0, LOOK_S), 60 * minutes, LOOK_S)
        commits = np.maximum(looks - (looks - rng.uniform(0, COMMIT_EVERY_S)) % COMMIT_EVERY_S, 0)
        ends, there = (np.searchsorted(times, at, side="right") for at in (looks, commits))
        committed = np.minimum(there, (reads * commits).astype(np.int64))
        rows, _ = (partition := Partition(LoadSettings(step_s=step_s, horizon_s=10 * step_s))).take(
            Sample(round((START + at) * US), 0, int(end), int(done))
            for at, end, done in zip(looks, ends, committed, strict=True)
        )
        steps = [row.step for row in (*rows, *partition.flush())]
        columns.append([(one.served, one.lag) for one in steps])
    count = min(map(len, columns))
    table = np.array([column[:count] for column in columns], np.float64)
    return table[:, :, 0].T, table[:, :, 1].T


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("step_s", [60.0, 10.0])
def test_group_without_a_backlog_has_no_service_rate(scale: float, step_s: float) -> None:
    """It always has lag, as it commits every 5 s; what it reads is what arrives."""
    served, lag = recorded([(10 * scale, 1e9), *[(2 * scale, 1e9)] * 5], 60, step_s)
    assert (lag[1:-1, 0] > 0).mean() > 0.1
    assert service_rate(served, lag, step_s) is None
    assert service_rate(served, lag, step_s, recorded_members=1) is None


@pytest.mark.parametrize("step_s", [60.0, 10.0])
def test_group_with_a_backlog_has_its_rate_of_reading(step_s: float) -> None:
    served, lag = recorded([(20, 15), (5, 1e9)], 30, step_s)
    assert service_rate(served, lag, step_s) == pytest.approx(15, rel=0.01)
    both = service_rate(served, lag, step_s, recorded_members=2)
    assert both == pytest.approx((15 + 5) / 2, rel=0.1)


def test_service_rate_is_that_of_the_fastest_partition_with_a_backlog() -> None:
    served = np.tile([300.0, 100.0, 900.0, 900.0], (6, 1))
    lag = np.full((6, 4), 5000.0)
    lag[:, 2] = 0  # reads what comes, which says nothing of what it could
    lag[::2, 3] = 0  # and so does this one half of the time
    assert service_rate(served, lag, 10.0) == pytest.approx(30)


@pytest.mark.parametrize("place", ["before", "after"])
def test_backlog_at_one_end_of_the_window_does_not_count(place: str) -> None:
    served, lag = np.array([[0.0], [600.0]]), np.full((2, 1), 5000.0)
    assert service_rate(served, lag, 60.0) == pytest.approx(10)
    explained = 10 * COMMIT_S + 3 * (10 * COMMIT_S) ** 0.5
    lag[0 if place == "before" else 1] = explained
    assert service_rate(served, lag, 60.0) is None
    lag[0 if place == "before" else 1] = explained + 1
    assert service_rate(served, lag, 60.0) == pytest.approx(10)


def test_interrupted_backlog_does_not_count() -> None:
    served, lag = np.full((4, 1), 100.0), np.full((4, 1), 5000.0)
    assert service_rate(served, lag, 10.0) == pytest.approx(10)
    lag[1] = 0
    assert service_rate(served, lag, 10.0) is None


def test_commits_in_bursts_do_not_raise_the_service_rate() -> None:
    served = np.zeros((60, 1))
    served[::5] = 50  # a commit every 5 s in steps of a second: 10 records/s
    assert service_rate(served, np.full((60, 1), 1000.0), 1.0) == pytest.approx(10)


def test_backlog_shorter_than_half_a_minute_has_no_service_rate() -> None:
    served, lag = np.full((6, 1), 50.0), np.full((6, 1), 900.0)
    assert service_rate(served, lag, 10.0) == pytest.approx(5)
    assert service_rate(served[:3], lag[:3], 10.0) is None  # what was there before is not known
    assert service_rate(served[:2], lag[:2], 10.0) is None
    assert service_rate(served, np.zeros((6, 1)), 10.0) is None
    served[2::3] = np.nan  # never three known steps in a row
    assert service_rate(served, lag, 10.0) is None
