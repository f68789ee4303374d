"""Errors of forecasts, computed from samples and from the written load."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import OptionError
from kafka_assignors.forecast import LoadSettings, Partition, Sample
from kafka_assignors.forecast.scoring import Totals, score, totals
from kafka_assignors.pipeline.model.backcast import backcast, forecast_errors
from kafka_assignors.pipeline.model.model import model_load
from tests.pipeline.samples import START, Look, samples_df

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


def by_hand(looks: list[Look], group: str, settings: LoadSettings) -> Totals:
    """Return the score of a group, computed without Spark."""
    sums = []
    for place in range(PARTITIONS):
        partition = Partition(settings)
        rows, _ = partition.take(
            Sample((START + int(look.after)) * 1_000_000, 0, look.end or 0, look.committed or 0)
            for look in looks
            if (look.group, look.partition) == (group, place)
        )
        sums.append(totals(rows + partition.flush(), settings))
    return Totals(*(sum(column) for column in zip(*sums, strict=True)))


def test_errors_are_added_up_by_group_and_horizon(spark: SparkSession) -> None:
    looks = history()
    backcasts = backcast(samples_df(spark, looks), SETTINGS, horizons=(900, 3600))
    assert [(row.group, row.horizon_s) for row in backcasts] == [
        ("g", 900), ("g", 3600), ("other", 900), ("other", 3600),
    ]  # fmt: skip
    for row in backcasts:
        settings = LoadSettings(step_s=300, horizon_s=row.horizon_s)
        expected = score(by_hand(looks, row.group, settings))
        assert row.score[:7] == pytest.approx(expected[:7])
        assert row.score.forecasts > PARTITIONS * 500
        assert row.score.mase < 1


def test_written_load_has_the_same_errors(spark: SparkSession) -> None:
    samples = samples_df(spark, history())
    of_samples = backcast(samples, SETTINGS, horizons=(900,))
    of_load = forecast_errors(model_load(samples, SETTINGS))
    assert [row[:2] for row in of_load] == [row[:2] for row in of_samples]
    for row, other in zip(of_load, of_samples, strict=True):
        assert row.score[:7] == pytest.approx(other.score[:7])


def test_horizon_that_is_not_whole_steps_is_refused(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match="horizon_s"):
        backcast(samples_df(spark, [Look(0, 0, 0)]), SETTINGS, horizons=(1000,))
