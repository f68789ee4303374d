"""Spark's own consumers are of no pattern."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from kafka_assignors.pipeline.record.offsets_decoder import Groups
from kafka_assignors.pipeline.record.own_groups import means

SPARK_S = [
    "spark-kafka-source-0b1c2d3e-6bd0-4a8a-9b2f-5b8c2a9d1e2f-1034612871-driver-0",
    "spark-kafka-relation-0b1c2d3e-6bd0-4a8a-9b2f-5b8c2a9d1e2f-driver-0",
]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("billing", True),
        ("spark-kafka", True),
        ("spark-jobs-of-ours", True),
        *((one, False) for one in SPARK_S),
    ],
)
def test_a_pattern_means_whole_names_of_others(group: str, expected: bool) -> None:
    assert means(re.compile(".*"), group) is expected
    assert not means(re.compile(group[1:]), group)


def test_by_name_they_are_decoded_all_the_same() -> None:
    column = pa.array([*SPARK_S, "billing", None])
    assert list(Groups(frozenset(), re.compile(".*")).among(column)) == [False, False, True, False]
    assert list(Groups(frozenset(SPARK_S[:1])).among(column)) == [True, False, False, False]
