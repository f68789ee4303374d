"""Streams that land samples have names by their folder: in Spark's UI, and among Spark's metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.tables.landing import land_stream
from tests.pipeline.samples import Look, land


def test_two_folders_in_one_session_land_samples_by_streams_with_names_and_metrics_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    land(spark, tmp_path, [Look(0, 1, 1)])
    folder = str(tmp_path / "samples" / "import")
    looks = spark.readStream.schema(spark.read.parquet(folder).schema).parquet(folder)
    roots = [str(tmp_path / name) for name in ("one", "two")]
    queries = []
    try:
        for root in roots:
            queries.append(land_stream(looks, root, "w", every_s=0.1))
            queries[-1].processAllAvailable()
        names = [query.name for query in queries]
        assert names == [f"{root}/samples/w" for root in roots]
        jvm: Any = spark.sparkContext._jvm
        metrics = jvm.org.apache.spark.SparkEnv.get().metricsSystem()
        assert [metrics.getSourcesByName(f"spark.streaming.{name}").size() for name in names] == [1, 1]
        with pytest.raises(PipelineError, match="another run writes to this folder"):
            land_stream(looks, roots[0], "w")
    finally:
        for query in queries:
            query.stop()
