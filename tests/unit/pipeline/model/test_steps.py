"""Steps of a bucket as a table, without Spark."""

from __future__ import annotations

import numpy as np

from kafka_assignors.forecast import UNKNOWN, LoadSettings
from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.steps import Samples
from kafka_assignors.pipeline.model.steps import table_of

MINUTE = 60_000_000
DAY = 1_440
SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=60)


def steps_of(*looks: tuple[int, int, int], partitions: int = 1) -> list[tuple[object, ...]]:
    """Return partition, minute, arrived, lag, whether there is a forecast, and quality of each step."""
    bucket = Bucket(SETTINGS)
    given = np.array([(MINUTE * minute, 0, end, committed) for minute, end, committed in looks]).T
    rows = bucket.rows_of([("g", "t", partition) for partition in range(partitions)])
    samples = Samples(np.repeat(rows, len(looks)), *(np.tile(column, partitions) for column in given))
    steps, counts = bucket.take(samples)
    named = table_of(bucket, steps, counts).to_pylist()[1:]  # the first has only the counts
    return [
        (
            row["partition"],
            row["at"] // MINUTE,
            row["arrived"],
            row["lag"],
            row["level"] is not None,
            row["quality"],
        )
        for row in named
    ]


def test_outage_of_a_day_is_one_row_a_partition() -> None:
    looks = [(0, 0, 0), (1, 60, 20), (1 + DAY, 9_000, 500), (2 + DAY, 9_060, 500), (3 + DAY, 9_120, 500)]
    for partition in range(2):
        assert [row[1:] for row in steps_of(*looks, partitions=2) if row[0] == partition] == [
            (1, 60, 40, True, "ok"),
            (1 + DAY, None, 8_500, True, "gap"),
            (2 + DAY, 60, 8_560, True, "ok"),
        ]


def test_topic_created_again_in_an_outage_is_one_reset() -> None:
    looks = [(0, 0, 0), (1, 600, 20), (1 + DAY, 9, 5), (2 + DAY, 12, 5), (3 + DAY, 15, 5)]
    assert [row[5] for row in steps_of(*looks)] == ["ok", "reset", "ok"]


def test_gap_between_commits_alone_is_one_row() -> None:
    looks = [(0, UNKNOWN, 0), (1, UNKNOWN, 5), (30, UNKNOWN, 9), (31, UNKNOWN, 12), (33, UNKNOWN, 12)]
    qualities = [row[5] for row in steps_of(*looks)]
    assert qualities == ["unknown", "gap", "unknown"]
