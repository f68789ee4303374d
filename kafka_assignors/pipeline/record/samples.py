"""Records samples of groups: lands the rows of ``kafka_group_samples``, and counts missing samples.

Spark's tasks return a row with a ``problem`` for a missing sample.  Such a row is counted, but does not land.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.record.recording import Recording, cluster_id
from kafka_assignors.pipeline.record.sample_report import SamplesReport, observed
from kafka_assignors.pipeline.record.sampler import NAME, group_samples
from kafka_assignors.pipeline.record.sampling import SamplerOptions, group_names, pattern
from kafka_assignors.pipeline.tables.landing import land_stream
from kafka_assignors.pipeline.tables.schemas import utc_date
from kafka_assignors.validators import positive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

_LEAST_TIMEOUT_S = 1.0  # bounds of the default timeout
_LONGEST_TIMEOUT_S = 10.0
_MOST_TASKS = 8  # each task has its own connection, and more tasks are not faster
_NOTHING = "no group matches, or none reads a topic that matches and that we may describe"
_NO_PAUSE_S = 0.001  # interval of ticks, so short that each run finds a new one


def record_samples(
    spark: SparkSession,
    settings: Mapping[str, Any],
    root: str,
    *,
    groups: Sequence[str] = (),
    groups_like: str | None = None,
    topics_like: str | None = None,
    every_s: float = 10.0,
    timeout_s: float | None = None,
    available_now: bool = False,
    writer: str = "sampler",
) -> Recording[SamplesReport]:
    """Start a stream that samples groups at an interval, and lands the samples.

    Groups and topics may differ from those of the last run.

    Args:
        spark: the session.
        settings: connection settings of ``KafkaConsumer``.
        root: folder of the pipeline.
        groups: names of groups.
        groups_like: pattern of the whole names of more groups, future ones included, except Spark's own.
        topics_like: pattern of the whole names of topics; None: all topics.
        every_s: seconds between two samples.
        timeout_s: the longest time to list the groups, and again to fetch their offsets; failed requests are
            repeated meanwhile.  None: ``every_s``, but at least 1 s and at most 10 s.
        available_now: take one sample of each partition, and end.
        writer: name of the writer, and its folder of samples.

    Raises:
        OptionError: groups, a pattern, a time or a setting are invalid.
        PipelineError: the cluster does not answer now or denies access; or the folder has other files, or
            samples of another cluster.
    """
    positive("every_s", every_s, "seconds")
    if timeout_s is not None:
        positive("timeout_s", timeout_s, "seconds")
    else:
        timeout_s = min(max(every_s, _LEAST_TIMEOUT_S), _LONGEST_TIMEOUT_S)
    wanted = SamplerOptions(
        groups=group_names(groups),
        groups_like=pattern("groups_like", groups_like),
        topics_like=pattern("topics_like", topics_like),
        every_s=every_s,
        timeout_s=timeout_s,
        num_partitions=min(spark.sparkContext.defaultParallelism, _MOST_TASKS),
    )
    about = {"cluster": cluster_id(settings)}

    def start(metric_name: str) -> StreamingQuery:
        spark.dataSource.register(group_samples(settings, **about))
        looks = spark.readStream.format(NAME).options(**wanted.as_options()).load()
        samples = looks.observe(metric_name, *observed()).where("problem IS NULL").drop("problem")
        samples = samples.withColumn("date", utc_date("time"))
        return land_stream(samples, root, writer, about=about, available_now=available_now, every_s=every_s)

    return Recording(spark, "sampling groups", start, SamplesReport())


def record_samples_once(
    spark: SparkSession,
    settings: Mapping[str, Any],
    root: str,
    *,
    timeout_s: float = _LONGEST_TIMEOUT_S,
    **which: Any,
) -> SamplesReport:
    """Take one sample of each partition, and land the samples.

    Uses the folder and checkpoint of the writer's stream, so it can follow or precede `record_samples`.

    Takes the arguments of `record_samples` except ``every_s`` and ``available_now``.  Raises the same errors,
    and a `PipelineError` if there is no sample at all.
    """
    report = record_samples(
        spark, settings, root, every_s=_NO_PAUSE_S, available_now=True, timeout_s=timeout_s, **which
    ).finish()
    if not report.rows:
        why = ", ".join(sorted(report.misses)) or _NOTHING
        raise PipelineError(f"nothing to sample: {why}")
    return report
