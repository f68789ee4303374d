"""The forecast of many partitions by parts of the horizon."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.bucket.model import Models, forecast_parts
from kafka_assignors.forecast.bucket.partition import read_model, write_model
from kafka_assignors.forecast.bucket.season import Seasons
from kafka_assignors.forecast.bucket.table import Table
from kafka_assignors.forecast.model import Model
from kafka_assignors.forecast.season import UNKNOWN_TOTAL
from kafka_assignors.forecast.settings import QUARTER, SECOND
from tests.support.quick import long

SETTINGS = LoadSettings(step_s=300, horizon_s=3600)
MIDNIGHT_S = 1_700_006_400
END = 1_700_000_100 * SECOND  # not the end of a quarter of an hour


def test_parts_are_those_of_the_model_of_each_partition_and_add_up_to_its_forecast() -> None:
    day = np.arange(2 * 288) / 288
    rates = 100 - 80 * np.cos(2 * np.pi * day)
    arrivals = np.random.default_rng(1).poisson(np.outer(rates, [1.0, 2.0]))
    expected = forecast_parts(arrivals, END, SETTINGS, 4)
    for partition, column in enumerate(arrivals.T.tolist()):
        model = Model(SETTINGS)
        for number, arrived in enumerate(column, 1):
            model.learn(END - (len(column) - number) * SETTINGS.step, arrived)
        outlook = model.outlook(END)
        assert outlook is not None
        assert expected[:, partition].tolist() == model.parts(END, 4)
        assert expected[:, partition].sum() == pytest.approx(outlook.arrivals)


@pytest.mark.parametrize(
    ("zone", "begin_s", "step_s"),
    [
        ("Europe/Berlin", 1_382_659_200, 900),
        long("Europe/Berlin", 1_382_659_200, 300),
        long("America/Sao_Paulo", 1_518_739_200, 900),
        long("UTC", MIDNIGHT_S, 900),
    ],
)
def test_models_learn_what_the_model_of_each_partition_learns(zone: str, begin_s: int, step_s: float) -> None:
    """Nine days, with one of 25 hours in two zones; a partition has unknown steps on the second day."""
    settings = LoadSettings(step_s=step_s, horizon_s=3600, zone=zone)
    steps_a_day = 86_400 // int(step_s)
    rates = np.outer(np.arange(9 * steps_a_day) % steps_a_day, [0.0, 0.1, 9.0]) * step_s / 900
    arrived = np.random.default_rng(2).poisson(rates)
    table = Table(settings)
    table.grow(3)
    together, alone = Models(table), [Model(settings) for _ in range(3)]
    for step, records in enumerate(arrived):
        end = begin_s * SECOND + (step + 1) * settings.step
        has_gap = steps_a_day <= step < 1.5 * steps_a_day
        rows = np.array([0, 1] if has_gap else [0, 1, 2])
        outlooks = np.array(together.learn(rows, end, records[rows])).T
        for row, values in zip(rows.tolist(), outlooks.tolist(), strict=True):
            outlook = alone[row].take(end, int(records[row]), 1, end_known=True)
            assert outlook is not None
            assert str(list(outlook)).replace("None", "nan") == str(values)
        if has_gap:
            together.skip(np.array([2]), np.array([1]))
            alone[2].skip(1)
    for row, model in enumerate(alone):
        before = {name: array.copy() for name, array in table.arrays.items()}
        write_model(table, row, model)  # writes nothing new
        for name, array in table.arrays.items():
            np.testing.assert_array_equal(array, before[name])
    assert (table.totals[:, :2] >= 0).all()


@pytest.mark.parametrize(
    ("weeks", "by_day", "weekend", "most"),
    [(3, 0.8, 0.4, 1.08), long(5, 0.8, 0.4, 1.07), long(5, 0.0, 1.0, 1.035)],
)
def test_random_arrivals_are_forecast_nearly_as_by_their_true_rate(
    weeks: int, by_day: float, weekend: float, most: float
) -> None:
    """Errors of the last week, compared with those of a forecast that knows the rate."""
    settings, days = LoadSettings(step_s=900, horizon_s=3600), np.arange(weeks * 7 * 96) / 96
    rates = 9000 * (1 + by_day * np.sin(2 * np.pi * days)) * np.where(days % 7 >= 5, weekend, 1.0)
    arrived = np.random.default_rng(5).poisson(rates[:, None], (len(rates), 12))
    table = Table(settings)
    table.grow(12)
    models, monday = Models(table), 1_384_128_000 * SECOND
    forecasts = [
        models.learn(slice(None), monday + step * settings.step, records).arrivals
        for step, records in enumerate(arrived, 1)
    ]
    last = range(len(rates) - 7 * 96, len(rates) - 4)
    came = [arrived[step : step + 4].sum(axis=0) for step in last]
    known = [rates[step : step + 4].sum() for step in last]
    missed = np.abs(np.array(forecasts)[last.start - 1 : last.stop - 1] - came).sum()
    assert missed < most * np.abs(np.array(known)[:, None] - came).sum()


def test_hourly_job_after_an_idle_week_is_known_on_its_first_day() -> None:
    """All forecasts were 0 and right for a week; the mean error of this day is far below 900 records."""
    settings = LoadSettings(step_s=900, horizon_s=3600)
    table = Table(settings)
    table.grow(1)
    models, missed = Models(table), 0.0
    for step in range(8 * 96):
        records = 900 if step >= 7 * 96 and step % 4 == 0 else 0
        end = MIDNIGHT_S * SECOND + (step + 1) * settings.step
        forecast = models.learn(slice(None), end, np.array([records])).arrivals
        if step >= 7 * 96:
            missed += abs(float(forecast[0]) - 900)
    assert missed < 96 * 60


def test_unchanged_model_with_unknown_forecasts_marks_nothing_as_changed() -> None:
    """On the first day the forecasts of earlier days are unknown (NaN, which is not equal to itself)."""
    table = Table(SETTINGS)
    table.grow(1)
    models = Models(table)
    for step in range(1, 20):
        models.learn(slice(None), MIDNIGHT_S * SECOND + step * SETTINGS.step, np.array([9]))
    assert np.isnan(table.due_forecasts).any()
    table.changed.clear()
    write_model(table, 0, read_model(table, 0))
    assert table.changed == set()


def test_sum_of_a_day_without_its_last_quarter_is_stored() -> None:
    """The last quarter of Monday is known from the week before; this Monday nothing is known of it."""
    table = Table(SETTINGS)
    table.grow(1)
    tuesday = 1_384_214_400 * SECOND
    table.usual[:96], table.usual_seen[:96], table.quarter[:] = 2.0, 1, tuesday // QUARTER - 1
    Seasons(table).learn(slice(None), tuesday + SETTINGS.step, np.array([5]))
    assert table.totals[:, 0].tolist() == [192.0, *[UNKNOWN_TOTAL] * 6]
    assert table.changed == {"season"}


def test_parts_follow_the_time_of_day() -> None:
    """Each day at noon the arrivals rise; the forecast is from half past eleven."""
    steps = np.arange(5 * 96 + 46)
    arrivals = np.where(steps % 96 < 48, 60, 600)[:, None]
    end, settings = (MIDNIGHT_S + 900 * 46) * SECOND, LoadSettings(step_s=900, horizon_s=3600)
    first, second, third, fourth = forecast_parts(arrivals, end, settings, 4)[:, 0]
    assert 3 * max(first, second) < min(third, fourth)


def test_partition_with_too_few_outcomes_has_no_forecast() -> None:
    assert np.isnan(forecast_parts(np.full((14, 2), 9), END, SETTINGS, 2)).all()
    assert not np.isnan(forecast_parts(np.full((20, 2), 9), END, SETTINGS, 2)).any()
    assert forecast_parts(np.zeros((0, 2), np.int64), END, SETTINGS, 2).shape == (2, 2)
