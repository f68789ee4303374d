"""Forecasts compared to arrivals and to naive forecasts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import compare, score, totals
from tests.unit.forecast.looks import look, rows_of

SETTINGS = LoadSettings(step_s=900, horizon_s=1800)
DAY = 96  # steps


def test_forecast_is_compared_to_the_arrivals_after_it() -> None:
    """The horizon is two steps.  After step 2 the forecast is 3; 3 + 4 arrive, and 1 + 2 arrived before."""
    arrived = np.array([1.0, 2.0, 3.0, 4.0])
    forecast = np.array([9.0, 3.0, 9.0, 9.0])
    sums = compare(arrived, forecast, SETTINGS)
    assert (sums.forecasts, sums.came, sums.miss, sums.square) == (1, 7, 4, 16)
    assert (sums.naive_miss, sums.naive_square) == (4, 16)
    assert (sums.daily, sums.weekly) == (0, 0)


def test_unknown_steps_are_not_scored() -> None:
    arrived = np.array([1.0, 2.0, np.nan, 4.0, 5.0, 6.0, 7.0, 8.0])
    forecast = np.array([np.nan, 3.0, 3.0, 3.0, 10.0, np.nan, 3.0, 3.0])
    # After step 5: 4 + 5 arrived before, 6 + 7 arrive, the forecast is 10.
    sums = compare(arrived, forecast, SETTINGS)
    assert (sums.forecasts, sums.miss, sums.naive_miss) == (1, 3, 4)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_history_shorter_than_two_horizons_has_no_score(length: int) -> None:
    sums = compare(np.ones(length), np.ones(length), SETTINGS)
    assert sums.forecasts == 0
    assert math.isnan(score(sums).mae)


def test_day_before_predicts_a_daily_pattern_exactly() -> None:
    arrived = np.tile(np.arange(DAY, dtype=float), 10)
    sums = compare(arrived, np.full(len(arrived), 7.0), SETTINGS)
    assert sums.daily_miss == 0
    assert sums.weekly_miss == 0
    assert sums.daily == 9 * DAY - 1  # the last two are not over, and the horizon takes one
    assert sums.weekly == 3 * DAY - 1
    assert sums.beside_daily > sums.beside_weekly > 0


def test_errors_are_means_and_ratios() -> None:
    arrived = np.array([0.0, 0.0, 10.0, 10.0, 10.0, 10.0])
    forecast = np.array([0.0, 5.0, 20.0, 26.0, 0.0, 0.0])
    scored = score(compare(arrived, forecast, SETTINGS))
    assert (scored.forecasts, scored.came, scored.mae) == (3, 20.0, 7.0)
    assert scored.rmse == pytest.approx(math.sqrt((15**2 + 0 + 6**2) / 3))
    assert scored.naive_mae == 10
    assert scored.mase == 0.7
    assert math.isnan(scored.beside_daily)


def test_missing_rows_are_unknown_steps() -> None:
    settings = LoadSettings(step_s=60, horizon_s=120, delay_s=0)
    rows = rows_of([look(60 * n, 3 * n) for n in [*range(20), *range(40, 60)]], settings)
    arrived, forecast = np.full(59, np.nan), np.full(59, np.nan)
    for row in rows:
        index = (row.step.at - rows[0].step.at) // settings.step
        arrived[index] = np.nan if row.step.arrived is None else row.step.arrived
        forecast[index] = np.nan if row.outlook is None else row.outlook.arrivals
    assert totals(rows, settings) == compare(arrived, forecast, settings)
    assert totals([], settings).forecasts == 0
