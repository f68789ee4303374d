"""Errors of forecasts, computed from the written load."""

from __future__ import annotations

import random

import numpy as np
import pytest
from pyspark.sql import SparkSession

from kafka_assignors.forecast import LoadSettings, Sample
from kafka_assignors.forecast.scoring import Totals, compare, score
from kafka_assignors.pipeline.model.backcast import forecast_errors
from kafka_assignors.pipeline.model.model import model_load
from tests.pipeline.samples import START, Look, samples_df
from tests.support.forecast.one_partition import Partition

SETTINGS = LoadSettings(step_s=300, horizon_s=900)
PARTITIONS = 3


def history() -> list[Look]:
    """Return two days of two groups; the load of the first has a daily pattern."""
    chance, looks = random.Random(9), []
    for group, usual in (("g", 40), ("other", 5)):
        for partition in range(PARTITIONS):
            end = 0
            for n in range(2 * 288):
                looks.append(Look(300 * n, end, end, partition=partition, group=group))
                end += chance.randrange(1 + (usual if n % 288 < 100 else 3 * usual))
    return looks


def by_hand(looks: list[Look], group: str) -> Totals:
    """Return the score of a group, computed without Spark."""
    sums = []
    for place in range(PARTITIONS):
        partition = Partition(SETTINGS)
        rows, _ = partition.take(
            Sample((START + int(look.after)) * 1_000_000, 0, look.end or 0, look.committed or 0)
            for look in looks
            if (look.group, look.partition) == (group, place)
        )
        arrived, forecast, error = np.array(
            [
                (row.step.arrived, row.outlook and row.outlook.arrivals, row.outlook and row.outlook.error)
                for row in rows + partition.flush()
            ],
            float,
        ).T
        sums.append(compare(arrived, forecast, error, SETTINGS))
    return Totals(*(sum(column) for column in zip(*sums, strict=True)))


def test_errors_of_a_written_load_are_added_up_by_group(spark: SparkSession) -> None:
    looks = history()
    errors = forecast_errors(model_load(samples_df(spark, looks), SETTINGS))
    assert [(row.group, row.horizon_s) for row in errors] == [("g", 900), ("other", 900)]
    for row in errors:
        assert row.score[:7] == pytest.approx(score(by_hand(looks, row.group))[:7])
        assert row.score.forecasts > PARTITIONS * 500
        assert row.score.mase < 1
