"""Forecasts beside what came, and beside naive ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import compare, score, totals
from tests.unit.forecast.looks import look, rows_of

SETTINGS = LoadSettings(step_s=900, horizon_s=1800)
DAY = 96  # steps


def test_a_forecast_is_compared_to_what_came_after_it() -> None:
    """Two steps ahead, by hand: after the second step 3 were expected, and 3 + 4 came; before it 1 + 2."""
    arrived = np.array([1.0, 2.0, 3.0, 4.0])
    said = np.array([9.0, 3.0, 9.0, 9.0])
    sums = compare(arrived, said, SETTINGS)
    assert (sums.forecasts, sums.came, sums.miss, sums.square) == (1, 7, 4, 16)
    assert (sums.naive_miss, sums.naive_square) == (4, 16)
    assert (sums.daily, sums.weekly) == (0, 0)


def test_what_is_not_known_is_not_scored() -> None:
    arrived = np.array([1.0, 2.0, np.nan, 4.0, 5.0, 6.0, 7.0, 8.0])
    said = np.array([np.nan, 3.0, 3.0, 3.0, 10.0, np.nan, 3.0, 3.0])
    # After the fifth: 4 + 5 are before, 6 + 7 came, 10 were said.
    sums = compare(arrived, said, SETTINGS)
    assert (sums.forecasts, sums.miss, sums.naive_miss) == (1, 3, 4)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_a_history_shorter_than_two_horizons_has_no_score(length: int) -> None:
    sums = compare(np.ones(length), np.ones(length), SETTINGS)
    assert sums.forecasts == 0
    assert math.isnan(score(sums).mae)


def test_the_same_time_a_day_before_is_right_about_a_daily_pattern() -> None:
    arrived = np.tile(np.arange(DAY, dtype=float), 10)
    sums = compare(arrived, np.full(len(arrived), 7.0), SETTINGS)
    assert sums.daily_miss == 0
    assert sums.weekly_miss == 0
    assert sums.daily == 9 * DAY - 1  # the last two have not come, and one is used up by the horizon
    assert sums.weekly == 3 * DAY - 1
    assert sums.beside_daily > sums.beside_weekly > 0


def test_errors_are_means_and_ratios() -> None:
    arrived = np.array([0.0, 0.0, 10.0, 10.0, 10.0, 10.0])
    said = np.array([0.0, 5.0, 20.0, 26.0, 0.0, 0.0])
    found = score(compare(arrived, said, SETTINGS))
    assert (found.forecasts, found.came, found.mae) == (3, 20.0, 7.0)
    assert found.rmse == pytest.approx(math.sqrt((15**2 + 0 + 6**2) / 3))
    assert found.naive_mae == 10
    assert found.mase == 0.7
    assert math.isnan(found.beside_daily)


def test_rows_with_gaps_are_laid_out_in_time() -> None:
    """The same as arrays with holes where steps are missing."""
    settings = LoadSettings(step_s=60, horizon_s=120, delay_s=0)
    rows = rows_of([look(60 * n, 3 * n) for n in [*range(20), *range(40, 60)]], settings)
    arrived, said = np.full(59, np.nan), np.full(59, np.nan)
    for row in rows:
        place = (row.step.at - rows[0].step.at) // settings.step
        arrived[place] = np.nan if row.step.arrived is None else row.step.arrived
        said[place] = np.nan if row.outlook is None else row.outlook.arrivals
    assert totals(rows, settings) == compare(arrived, said, settings)
    assert totals([], settings).forecasts == 0
