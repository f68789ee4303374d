"""What the demo's groups did, as samples in a pipeline's folder: their commits, and ends of their logs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.results import RecordedResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_assignors.pipeline.record.offsets_report import OffsetsReport

COMMITS, ENDS = "offsets-topic", "import"


def record_commits(
    spark: SparkSession, bootstrap: str, root: str, runs: Sequence[FinishedRun]
) -> OffsetsReport:
    """Read what these groups committed out of the broker's own topic.

    The groups are deleted by now; the topic is a log, and has what they committed, and that it was deleted.
    """
    from kafka_assignors.pipeline.record.offsets import record_offsets_once

    settings = {"bootstrap_servers": bootstrap}
    return record_offsets_once(spark, settings, root, groups=[run.group for run in runs])


def unreadable(report: OffsetsReport) -> list[str]:
    """Say what of the broker's topic was left out, and why."""
    from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS

    return [
        f"{count:,} records of commits were left out: {PROBLEMS[why]}"
        for why, count in report.problems.items()
    ]


def samples_of(spark: SparkSession, columns: Mapping[str, object]) -> DataFrame:
    """Return rows of ``SAMPLES``: ``at`` in microseconds, ``group``, which is the topic too, and offsets."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    time = F.timestamp_micros("at")
    return spark.createDataFrame(pa.table(columns)).select(
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


def record_ends(spark: SparkSession, root: str, runs: Sequence[FinishedRun], step_s: float) -> None:
    """Write the ends of the logs as samples, from the producers' acknowledgements."""
    import pyarrow as pa

    from kafka_assignors.pipeline.tables.landing import write_samples

    looks = [(run.group, look) for run in runs for look in run.ends(step_s)]
    columns = {
        "at": pa.array([look.at for _, look in looks], pa.int64()),
        "group": pa.array([group for group, _ in looks], pa.string()),
        "partition": pa.array([look.partition for _, look in looks], pa.int32()),
        "end_offset": pa.array([look.end for _, look in looks], pa.int64()),
        "committed_offset": pa.array([-1 if look.fresh else None for _, look in looks], pa.int64()),
    }
    write_samples(samples_of(spark, columns).coalesce(1), root, ENDS)


def counts(spark: SparkSession, root: str, runs: Sequence[FinishedRun]) -> list[RecordedResult]:
    """Count what was recorded of each run, and what the load model made of it."""
    from pyspark.sql import functions as F

    from kafka_assignors.pipeline.model.sink import read_load
    from kafka_assignors.pipeline.tables.landing import read_samples

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
    return [_counted(run, counted[run.group], modelled[run.group]) for run in runs]


def _counted(run: FinishedRun, samples: Mapping[str, int], load: Mapping[str, int]) -> RecordedResult:
    return RecordedResult(
        scene=run.scene,
        strategy=run.strategy,
        group=run.group,
        commits=samples["commits"],
        ends=samples["ends"],
        produced=samples["produced"],
        committed=samples["committed"],
        steps=load["steps"],
        arrived=load["arrived"] + samples["waiting"],
    )


def _by_group(rows: DataFrame, *names: str) -> defaultdict[str, Counter[str]]:
    """Return the sums of these columns by group; 0 of a group without rows."""
    from pyspark.sql import functions as F

    sums: Any = rows.groupBy("group").agg(*(F.sum(name).alias(name) for name in names)).collect()
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    found.update({row["group"]: Counter({name: row[name] or 0 for name in names}) for row in sums})
    return found
