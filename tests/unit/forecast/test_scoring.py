"""Forecasts compared to arrivals and to naive forecasts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import Totals, baselines, compare, score

SETTINGS = LoadSettings(step_s=900, horizon_s=1800)
DAY = 96  # steps
WEEK = 7 * DAY


def scored(arrived: Sequence[float], forecast: Sequence[float]) -> Totals:
    """Compare forecasts without a standard error."""
    return compare(np.array(arrived), np.array(forecast), np.full(len(arrived), np.nan), SETTINGS)


def test_forecast_is_compared_to_the_arrivals_after_it() -> None:
    """The horizon is two steps.  After step 2 the forecast is 3; 3 + 4 arrive, and 1 + 2 arrived before."""
    sums = scored([1, 2, 3, 4], [9, 3, 9, 9])
    assert (sums.forecasts, sums.came, sums.miss, sums.square) == (1, 7, 4, 16)
    assert (sums.naive_miss, sums.naive_square) == (4, 16)
    assert (sums.strong, sums.judged) == (0, 0)


def test_unknown_steps_are_not_scored() -> None:
    # After step 5: 4 + 5 arrived before, 6 + 7 arrive, the forecast is 10.
    sums = scored([1, 2, math.nan, 4, 5, 6, 7, 8], [math.nan, 3, 3, 3, 10, math.nan, 3, 3])
    assert (sums.forecasts, sums.miss, sums.naive_miss) == (1, 3, 4)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_history_shorter_than_two_horizons_has_no_score(length: int) -> None:
    sums = scored([1] * length, [1] * length)
    assert sums.forecasts == 0
    assert math.isnan(score(sums).mae)


def test_day_ago_predicts_a_daily_pattern_exactly() -> None:
    """A Monday differs from the Sunday before, so it is not the best baseline of the last day."""
    sums = scored([*range(DAY)] * 10, [7] * 10 * DAY)
    assert sums.best_miss == 0
    assert sums.strong == 3 * DAY - 1  # the last two are not over, and the horizon takes one
    assert sums.model_miss > 0


def test_baselines_are_those_of_the_page() -> None:
    """Each week has another level: 1, 2, 3, 10; within a day, half of the steps have twice as much."""
    day = np.where(np.arange(DAY) < 48, 1.0, 2.0)
    arrived = np.concatenate([np.tile(level * day, 7) for level in (1.0, 2.0, 3.0, 10.0)])
    step = 3 * WEEK + 2 * DAY + 47  # the last one of a half day, on Wednesday
    known = {name: values[step] for name, values in baselines(arrived, SETTINGS).items()}
    assert known == {
        "last horizon": 20,
        "day ago": 40,
        "week ago": 12,
        "mean of weeks": 8,
        "mean of weeks, scaled": pytest.approx(40),  # the last day had five times the mean
    }
    first = baselines(arrived, SETTINGS)["mean of weeks"]
    assert np.isnan(first[: WEEK - 1]).all()
    assert first[2 * WEEK + 47] == 6  # of two weeks


def test_no_baseline_knows_the_horizon_it_forecasts() -> None:
    settings = LoadSettings(step_s=900, horizon_s=2 * 86_400)
    arrived = np.arange(4 * WEEK, dtype=float)
    known = baselines(arrived, settings)
    assert np.isnan(known["day ago"]).all()
    for name, values in known.items():
        other = baselines(np.where(np.arange(4 * WEEK) > 3 * WEEK, 0.0, arrived), settings)[name]
        assert np.array_equal(values[: 3 * WEEK + 1], other[: 3 * WEEK + 1], equal_nan=True)


def test_best_baseline_is_chosen_by_partition() -> None:
    """One partition repeats its day, the other one its level of an hour ago; the totals are added."""
    chance = np.random.default_rng(3)
    daily = np.tile(chance.integers(0, 100, DAY).astype(float), 9)
    stepped = np.repeat(chance.integers(0, 100, 9 * DAY // 8).astype(float), 8)
    of_daily, of_stepped = (scored(list(arrived), [0] * 9 * DAY) for arrived in (daily, stepped))
    assert of_daily.best_miss == 0
    assert 0 < of_stepped.best_miss < 0.5 * of_stepped.model_miss
    both = Totals(*map(sum, zip(*[of_daily, of_stepped], strict=True)))
    assert score(both).beside_best == both.model_miss / of_stepped.best_miss


def test_errors_are_means_and_ratios() -> None:
    arrived = np.array([0.0, 0.0, 10.0, 10.0, 10.0, 10.0])
    forecast = np.array([0.0, 5.0, 20.0, 26.0, 0.0, 0.0])
    error = np.array([1.0, 15.0, math.nan, 5.0, 1.0, 1.0])  # the second forecast is within its error
    result = score(compare(arrived, forecast, error, SETTINGS))
    assert (result.forecasts, result.came, result.mae) == (3, 20.0, 7.0)
    assert result.rmse == pytest.approx(math.sqrt((15**2 + 0 + 6**2) / 3))
    assert result.naive_mae == 10
    assert result.mase == 0.7
    assert result.coverage == 0.5
    assert math.isnan(result.beside_best)
