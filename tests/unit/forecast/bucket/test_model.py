"""The forecast of many partitions by parts of the horizon."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.bucket.model import Models, forecast_parts
from kafka_assignors.forecast.bucket.table import Table
from kafka_assignors.forecast.model import Model
from kafka_assignors.forecast.settings import SECOND

SETTINGS = LoadSettings(step_s=300, horizon_s=3600)
MIDNIGHT_S = 1_700_006_400
END = 1_700_000_100 * SECOND  # not the end of a quarter of an hour


def test_parts_are_those_of_the_model_of_each_partition_and_add_up_to_its_forecast() -> None:
    day = np.arange(3 * 288) / 288
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


def test_models_learn_what_the_model_of_each_partition_learns_in_two_weeks() -> None:
    """One partition has no records, one none on some days, and one has unknown steps in the first week."""
    settings = LoadSettings(step_s=900, horizon_s=3600)
    arrived = np.random.default_rng(2).poisson(np.outer(np.arange(16 * 96) % 96, [0.0, 0.1, 0.5, 9.0]))
    arrived[np.arange(len(arrived)) // 96 % 7 > 4, 1] = 0
    table = Table(settings)
    table.grow(4)
    together, alone = Models(table), [Model(settings) for _ in range(4)]
    for step, records in enumerate(arrived):
        at = MIDNIGHT_S * SECOND + (step + 1) * settings.step
        rows = np.array([0, 1, 2] if 300 <= step < 420 else [0, 1, 2, 3])
        outlooks = together.learn(rows, at, records[rows])
        for row, arrivals in zip(rows.tolist(), outlooks.arrivals.tolist(), strict=True):
            model = alone[row]
            model.learn(at, int(records[row]))
            outlook = model.outlook(at)
            assert outlook is not None
            assert outlook.arrivals == arrivals
        if len(rows) == 3:
            together.skip(np.array([3]), np.array([1]))
            alone[3].skip(1)
    for row, model in enumerate(alone):
        stored = table.model(row)
        for name in ("recent_misses", "lasting_misses", "miss_counts"):
            assert getattr(stored, name) == getattr(model, name)
        assert stored.season.totals == model.season.totals


def test_parts_follow_the_time_of_day() -> None:
    """Each day at noon the arrivals rise; the forecast is from half past eleven."""
    steps = np.arange(5 * 288 + 138)
    arrivals = np.where(steps % 288 < 144, 60, 600)[:, None]
    end = (MIDNIGHT_S + 300 * 138) * SECOND
    first, second, third, fourth = forecast_parts(arrivals, end, SETTINGS, 4)[:, 0]
    assert 3 * max(first, second) < min(third, fourth)


def test_partition_with_too_few_outcomes_has_no_forecast() -> None:
    assert np.isnan(forecast_parts(np.full((14, 2), 9), END, SETTINGS, 2)).all()
    assert not np.isnan(forecast_parts(np.full((20, 2), 9), END, SETTINGS, 2)).any()
    assert forecast_parts(np.zeros((0, 2), np.int64), END, SETTINGS, 2).shape == (2, 2)
