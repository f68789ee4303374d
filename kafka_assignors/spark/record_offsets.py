"""Record commits out of ``__consumer_offsets``: Spark's Kafka connector, decoded, landed, and nothing unsaid.

The checkpoint knows which records were landed, so each commit lands once, however often this is killed.  What
the topic has is what compaction has left: the last commit of each partition for certain, and of those before
as many as were not compacted yet.  So history begins where recording does, and hardly before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from kafka_assignors.spark.connector import connector_options
from kafka_assignors.spark.faults import one_line
from kafka_assignors.spark.landing import land_stream
from kafka_assignors.spark.offsets_topic import KINDS, PROBLEMS, commits, decode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

__all__ = ["TOPIC", "WRITER", "OffsetsRecording", "OffsetsReport", "record_offsets", "record_offsets_once"]

TOPIC = "__consumer_offsets"
WRITER = "offsets-topic"

_METRICS = "offsets"
_AT_ONCE = 2_000_000  # records a batch, so that a topic of years fits into memory


@dataclass(frozen=True, slots=True)
class OffsetsReport:
    """What was read of the topic.

    Attributes:
        records: all of them.
        kinds: how many of each kind (``offsets_topic.KINDS``), those without a problem.
        problems: how many had which problem (``offsets_topic.PROBLEMS``); they are left out.
        landed: commits and tombstones of the groups asked for.
        since: time of the first one that landed; None: none did.
        until: time of the last one.
    """

    records: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)
    landed: int = 0
    since: datetime | None = None
    until: datetime | None = None

    def __add__(self, other: OffsetsReport) -> OffsetsReport:
        """This one, and what was read after it."""
        times = [t for t in (self.since, self.until, other.since, other.until) if t is not None]
        return OffsetsReport(
            self.records + other.records,
            dict(Counter(self.kinds) + Counter(other.kinds)),
            dict(Counter(self.problems) + Counter(other.problems)),
            self.landed + other.landed,
            min(times, default=None),
            max(times, default=None),
        )


def record_offsets(
    spark: SparkSession,
    settings: Mapping[str, Any],
    root: str,
    *,
    groups: Sequence[str] = (),
    groups_like: str | None = None,
    every_s: float = 10.0,
    available_now: bool = False,
) -> OffsetsRecording:
    """Start a stream that lands commits in ``samples/offsets-topic``, from where it ended the last time.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        settings: how to reach the cluster, as ``KafkaConsumer`` takes it.
        root: the pipeline's folder.
        groups: whose commits, by name.
        groups_like: and of all whose whole name matches.
        every_s: from one batch to the next.
        available_now: end with what is there now.

    Raises:
        OptionError: a setting that the connector cannot have.
        PipelineError: the cluster or the topic cannot be read, or the checkpoint is another stream's.
    """
    options = connector_options(settings)
    with one_line(f"recording {TOPIC}"):
        records = (
            spark.readStream.format("kafka")
            .options(**options)
            .option("subscribe", TOPIC)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", str(_AT_ONCE))
            .option("kafka.isolation.level", "read_committed")
            .load()
        )
        decoded = decode(records).withColumn("landed", _wanted(groups, groups_like))
        seen = decoded.observe(_METRICS, *_observed())
        samples = commits(seen.where("landed"))
        query = land_stream(samples, root, WRITER, available_now=available_now, every_s=every_s)
    return OffsetsRecording(query)


def record_offsets_once(
    spark: SparkSession, settings: Mapping[str, Any], root: str, **which: Any
) -> OffsetsReport:
    """Land what is there now and was not landed yet; arguments and errors are those of `record_offsets`."""
    recording = record_offsets(spark, settings, root, **which, available_now=True)
    try:
        with one_line(f"recording {TOPIC}"):
            recording.query.awaitTermination()
    finally:
        report = recording.stop()
    return report


class OffsetsRecording:
    """A stream that records commits.

    Args:
        query: the stream.
    """

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query
        self._batches: dict[int, OffsetsReport] = {}

    def report(self) -> OffsetsReport:
        """What was recorded since the stream was started here."""
        for progress in self.query.recentProgress:
            seen = progress["observedMetrics"].get(_METRICS)
            if seen is not None and seen["records"]:
                self._batches[progress["batchId"]] = _report(seen)
        return sum(self._batches.values(), OffsetsReport())

    def stop(self) -> OffsetsReport:
        """End the stream."""
        self.query.stop()
        return self.report()


def _wanted(groups: Sequence[str], groups_like: str | None) -> Any:
    from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

    named = F.col("group").isin(*groups)
    return named if groups_like is None else named | F.col("group").rlike(f"^(?:{groups_like})$")


def _observed() -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    fine = F.col("problem").isNull()
    lands = fine & F.col("landed")
    return [
        F.count(F.lit(1)).alias("records"),
        F.count_if(lands).alias("landed"),
        F.min(F.when(lands, F.unix_millis("time"))).alias("since"),
        F.max(F.when(lands, F.unix_millis("time"))).alias("until"),
        *(F.count_if(fine & (F.col("kind") == kind)).alias(f"kind-{kind}") for kind in KINDS),
        *(F.count_if(F.col("problem") == problem).alias(f"problem-{problem}") for problem in PROBLEMS),
    ]


def _report(seen: Any) -> OffsetsReport:
    return OffsetsReport(
        seen["records"],
        {kind: seen[f"kind-{kind}"] for kind in KINDS if seen[f"kind-{kind}"]},
        {problem: seen[f"problem-{problem}"] for problem in PROBLEMS if seen[f"problem-{problem}"]},
        seen["landed"],
        _time(seen["since"]),
        _time(seen["until"]),
    )


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
