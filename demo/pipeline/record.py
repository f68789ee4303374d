"""Writes the commits of the demo's groups, and the end offsets of their topics, as samples of a pipeline."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.results import RecordedResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMMITS, ENDS = "offsets-topic", "import"  # sources of samples


def record_commits(
    spark: SparkSession, bootstrap: str, root: str, runs: Sequence[FinishedRun]
) -> tuple[int, list[str]]:
    """Record the commits of these groups from the broker's own topic.

    The groups are deleted by now, but their commits and the deletions are still in the active segment of the
    topic, which Kafka does not compact.

    Returns:
        The number of records read, and a note for each reason why commits were left out.
    """
    from kafka_assignors.pipeline.record.offsets import record_offsets_once
    from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS

    settings = {"bootstrap_servers": bootstrap}
    report = record_offsets_once(spark, settings, root, groups=[run.group for run in runs])
    return report.records, [
        f"{count:,} records of commits were left out: {PROBLEMS[why]}"
        for why, count in report.problems.items()
    ]


def record_ends(spark: SparkSession, root: str, runs: Sequence[FinishedRun], step_s: float) -> None:
    """Write end offsets as samples, from the producers' acknowledgements; a group's topic has its name."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    from kafka_assignors.pipeline.tables.landing import write_samples

    samples = [(run.group, sample) for run in runs for sample in run.ends(step_s)]
    columns = {
        "at": pa.array([sample.at for _, sample in samples], pa.int64()),
        "group": pa.array([group for group, _ in samples], pa.string()),
        "partition": pa.array([sample.partition for _, sample in samples], pa.int32()),
        "end_offset": pa.array([sample.end for _, sample in samples], pa.int64()),
        "committed_offset": pa.array([-1 if sample.fresh else None for _, sample in samples], pa.int64()),
    }
    time = F.timestamp_micros("at")
    rows = spark.createDataFrame(pa.table(columns)).select(
        time.alias("time"),
        "group",
        F.col("group").alias("topic"),
        "partition",
        F.lit(0).cast("bigint").alias("begin_offset"),
        "end_offset",
        "committed_offset",
        F.lit(ENDS).alias("source"),
        F.to_date(time).alias("date"),
    )
    write_samples(rows.coalesce(1), root, ENDS)


def counts(spark: SparkSession, root: str, runs: Sequence[FinishedRun]) -> list[RecordedResult]:
    """Count each run's samples, and its steps of load."""
    from pyspark.sql import functions as F

    from kafka_assignors.pipeline.model.sink import read_load
    from kafka_assignors.pipeline.tables.reading import read_samples

    has_end, is_commit = F.col("end_offset").isNotNull(), F.col("committed_offset") >= 0
    by_partition = (
        read_samples(spark, root)
        .groupBy("group", "topic", "partition")
        .agg(
            F.count_if((F.col("source") == COMMITS) & is_commit).alias("commits"),
            F.count_if(F.col("source") == ENDS).alias("ends"),
            (F.max("end_offset") - F.min("begin_offset")).alias("produced"),
            F.coalesce(F.max(F.when(is_commit, F.col("committed_offset"))), F.lit(0)).alias("committed"),
            (F.min_by("end_offset", F.when(has_end, F.col("time"))) - F.min("begin_offset")).alias("waiting"),
        )
    )
    counted = _by_group(by_partition, "commits", "ends", "produced", "committed", "waiting")
    load = read_load(spark, root).select("group", F.lit(1).alias("steps"), "arrived")
    modelled = _by_group(load, "steps", "arrived")
    return [
        RecordedResult(
            scene=run.scene,
            strategy=run.strategy,
            group=run.group,
            commits=counted[run.group]["commits"],
            ends=counted[run.group]["ends"],
            produced=counted[run.group]["produced"],
            committed=counted[run.group]["committed"],
            steps=modelled[run.group]["steps"],
            arrived=modelled[run.group]["arrived"] + counted[run.group]["waiting"],
        )
        for run in runs
    ]


def _by_group(rows: DataFrame, *names: str) -> defaultdict[str, Counter[str]]:
    """Return the sums of these columns by group; 0 for a group without rows."""
    from pyspark.sql import functions as F

    sums: Any = rows.groupBy("group").agg(*(F.sum(name).alias(name) for name in names)).collect()
    by_group: defaultdict[str, Counter[str]] = defaultdict(Counter)
    by_group.update({row["group"]: Counter({name: row[name] or 0 for name in names}) for row in sums})
    return by_group
