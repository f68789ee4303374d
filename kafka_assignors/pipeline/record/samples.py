"""Record samples of groups: the data source ``kafka_group_samples``, landed, with what was missed counted.

What could not be seen comes out of Spark's tasks as rows with a ``problem``.  They are counted on the way by
``observe``, which Spark reports to the driver with each batch, and dropped before anything lands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import LagError, PipelineError
from kafka_assignors.lag.fetch.looks import reach
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.record.sample_report import SamplesReport, Tally, observed
from kafka_assignors.pipeline.record.sampling import Wanted
from kafka_assignors.pipeline.record.watching import Recording, watching
from kafka_assignors.pipeline.tables.landing import land_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["record_samples", "record_samples_once", "samples_of"]

_LEAST_TIMEOUT_S = 1.0
_LONGEST_TIMEOUT_S = 10.0
_MOST_TASKS = 8  # each has a connection of its own, and the cluster answers no sooner for more of them
_DOING = "looking at groups"
_NOTHING = "no group matches, or none has read anything yet of topics that we may see"
_AT_ONCE_S = 0.001  # from one look to the next: whenever it is asked for


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
    writer: str = "sampler",
) -> Recording[SamplesReport]:
    """Start a stream that looks at groups again and again, and lands what it sees.

    Args:
        spark: the session.
        settings: how to reach the cluster, as ``KafkaConsumer`` takes it.
        root: the pipeline's folder; to go on where it ended, the same one.
        groups: by name.
        groups_like: and all whose whole name matches, those that come to be later, too.
        topics_like: only of topics whose whole name matches.
        every_s: from one look to the next.
        timeout_s: how long one may wait for the cluster; None: as long as ``every_s``, from 1 to 10 s.
        writer: whose folder of samples.

    Raises:
        OptionError: groups, a pattern, a time or a setting that cannot be.
        PipelineError: the cluster does not answer now, or does not let us in; or the folder holds something
            else, or samples of another cluster.
    """
    wanted = _wanted(
        spark,
        groups,
        groups_like=groups_like,
        topics_like=topics_like,
        every_s=every_s,
        timeout_s=timeout_s,
    )
    return _started(spark, settings, root, wanted, writer, every_s=every_s)


def record_samples_once(
    spark: SparkSession,
    settings: Mapping[str, Any],
    root: str,
    *,
    groups: Sequence[str] = (),
    groups_like: str | None = None,
    topics_like: str | None = None,
    timeout_s: float = _LONGEST_TIMEOUT_S,
    writer: str = "sampler",
) -> SamplesReport:
    """Look once, and land what is seen, where the stream of that writer would, too.

    Args and errors are those of `record_samples`; and it is an error when nothing at all can be seen.
    """
    wanted = _wanted(
        spark,
        groups,
        groups_like=groups_like,
        topics_like=topics_like,
        every_s=_AT_ONCE_S,
        timeout_s=timeout_s,
    )
    recording = _started(spark, settings, root, wanted, writer, available_now=True)
    try:
        with one_line(_DOING):
            recording.query.awaitTermination()
    finally:
        report = recording.stop()
    if not report.rows:
        why = ", ".join(sorted(report.misses)) or _NOTHING
        raise PipelineError(f"nothing to sample: {why}")
    return report


def samples_of(looks: DataFrame) -> DataFrame:
    """Of the source's rows the samples, with their date; in one file a look."""
    from pyspark.sql import functions as F

    from kafka_assignors.pipeline.time import utc_date

    return (
        looks.where(F.col("problem").isNull())
        .drop("problem")
        .withColumn("date", utc_date("time"))
        .repartition(1)
    )


def _started(
    spark: SparkSession, settings: Mapping[str, Any], root: str, wanted: Wanted, writer: str, **how: Any
) -> Recording[SamplesReport]:
    """The stream, landing; what groups and topics it looks at may be others than the last time."""
    about = {"cluster": _reach(settings)}
    with watching(spark, Tally()) as watch, one_line(_DOING):
        looks = _source(spark.readStream, spark, settings, wanted).observe(watch.metrics, *observed())
        query = land_stream(samples_of(looks), root, writer, about=about, **how)
    return Recording(spark, query, watch)


def _source(reader: Any, spark: SparkSession, settings: Mapping[str, Any], wanted: Wanted) -> DataFrame:
    from kafka_assignors.pipeline.record.sampler import NAME, group_samples

    spark.dataSource.register(group_samples(settings))
    return reader.format(NAME).options(**wanted.as_options()).load()


def _wanted(
    spark: SparkSession,
    groups: Sequence[str],
    *,
    every_s: float,
    timeout_s: float | None,
    **patterns: str | None,
) -> Wanted:
    if timeout_s is None:
        timeout_s = min(max(every_s, _LEAST_TIMEOUT_S), _LONGEST_TIMEOUT_S)
    return Wanted.from_options(
        {
            "groups": json.dumps(list(groups)),
            "every": repr(every_s),
            "timeout": repr(timeout_s),
            "num_partitions": str(min(spark.sparkContext.defaultParallelism, _MOST_TASKS)),
            **{name: pattern for name, pattern in patterns.items() if pattern is not None},
        }
    )


def _reach(settings: Mapping[str, Any]) -> str:
    """The cluster's id.  It is given more time than a look: a busy machine is no dead cluster."""
    try:
        return reach(settings, _LONGEST_TIMEOUT_S * 1000)
    except LagError as error:
        raise PipelineError(str(error)) from error
