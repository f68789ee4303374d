"""Group patterns exclude Spark's own groups."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from kafka_assignors.pipeline.record.offsets_decoder import Groups
from kafka_assignors.pipeline.record.own_groups import selects

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
def test_pattern_selects_whole_names_but_not_sparks_own_groups(group: str, expected: bool) -> None:
    assert selects(re.compile(".*"), group) is expected
    assert not selects(re.compile(group[1:]), group)


def test_sparks_own_groups_are_decoded_by_name() -> None:
    column = pa.array([*SPARK_S, "billing", None])
    assert Groups(frozenset(), re.compile(".*")).among(column).to_pylist() == [False, False, True, False]
    assert Groups(frozenset(SPARK_S[:1])).among(column).to_pylist() == [True, False, False, False]
