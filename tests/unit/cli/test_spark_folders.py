"""Which folders only Spark may reach."""

from __future__ import annotations

from kafka_assignors.cli.pipeline.spark import is_of_spark


def test_only_a_uri_may_be_out_of_reach() -> None:
    folders = ["s3a://bucket/x", "hdfs:///x", "file:/x", "x/y", "x/2026-01-01T10:00"]
    assert [is_of_spark(folder) for folder in folders] == [True, True, True, False, False]
