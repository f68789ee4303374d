"""Which folders only Spark may reach."""

from __future__ import annotations

import pytest

from kafka_assignors.cli.pipeline.spark import is_of_spark


@pytest.mark.parametrize(
    ("folder", "of_spark"),
    [
        ("s3a://bucket/x", True),
        ("hdfs:///x", True),
        ("file:/x", True),
        ("x/y", False),
        ("x/2026-01-01T10:00", False),
    ],
)
def test_only_a_uri_may_be_out_of_reach(folder: str, of_spark: bool) -> None:
    assert is_of_spark(folder) is of_spark
