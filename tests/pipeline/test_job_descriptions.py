"""Spark's UI shows for each job what the pipeline was doing."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from kafka_assignors.pipeline.faults import as_pipeline_error
from tests.support.waiting import until


def test_job_has_the_activity_as_its_description(spark: SparkSession) -> None:
    context = spark.sparkContext
    assert context._jsc is not None
    store: Any = context._jsc.sc().statusStore()

    def descriptions() -> list[str | None]:
        jobs = store.jobsList(None)
        shown = [jobs.apply(n).description() for n in range(jobs.size())]
        return [str(text.get()) if text.isDefined() else None for text in shown]

    with as_pipeline_error("counting outside"):
        with as_pipeline_error("counting inside"):
            spark.range(1).count()
        spark.range(2).count()
    context.setJobDescription("of the caller")
    try:
        with as_pipeline_error("counting below"):
            spark.range(1).count()
        spark.range(3).count()
    finally:
        context.setLocalProperty("spark.job.description", None)
    wanted = {"counting inside", "counting outside", "counting below", "of the caller"}
    until(lambda: wanted <= set(descriptions()))
