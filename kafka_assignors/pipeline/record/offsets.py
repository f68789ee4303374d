"""Record commits out of ``__consumer_offsets``: Spark's Kafka connector, decoded, landed, and nothing unsaid.

The checkpoint knows which records were landed, so each commit lands once, however often this is killed.  What
the topic has is what compaction has left: the last commit of each partition for certain, and of those before
as many as were not compacted yet.  So history begins where recording does, and hardly before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.record.cluster_id import cluster_id
from kafka_assignors.pipeline.record.offsets_decoder import Groups
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport, OffsetsTally, observed
from kafka_assignors.pipeline.record.offsets_topic import commits, decode
from kafka_assignors.pipeline.record.sampling import Wanted
from kafka_assignors.pipeline.record.watching import Recording, watching
from kafka_assignors.pipeline.tables.landing import land_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TOPIC", "WRITER", "OffsetsReport", "record_offsets", "record_offsets_once"]

TOPIC = "__consumer_offsets"
WRITER = "offsets-topic"

_AT_ONCE = 2_000_000  # records a batch, so that a topic of years fits into memory


def record_offsets(
    spark: SparkSession,
    settings: Mapping[str, Any],
    root: str,
    *,
    groups: Sequence[str] = (),
    groups_like: str | None = None,
    topic: str = TOPIC,
    every_s: float = 10.0,
    available_now: bool = False,
) -> Recording[OffsetsReport]:
    """Start a stream that lands commits in ``samples/offsets-topic``, from where it ended the last time.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        settings: how to reach the cluster, as ``KafkaConsumer`` takes it.
        root: the pipeline's folder.
        groups: whose commits, by name.
        groups_like: and of all whose whole name matches.
        topic: that one, or a copy of it.
        every_s: from one batch to the next.
        available_now: end with what is there now.

    Raises:
        OptionError: groups or a pattern that cannot be, or a setting that the connector cannot have.
        PipelineError: the cluster or the topic cannot be read, or the checkpoint is another stream's: of
            another cluster or topic, or of other groups, whose commits it has passed by.
    """
    # As the sampler has it, with the same errors.
    named = {"groups": json.dumps(list(groups)), "groups_like": groups_like}
    wanted = Wanted.from_options({name: text for name, text in named.items() if text is not None})
    options = connector_options(settings)
    with watching(spark, OffsetsTally()) as watch, one_line(f"recording {topic}"):
        records = (
            spark.readStream.format("kafka")
            .options(**options)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", str(_AT_ONCE))
            .option("kafka.isolation.level", "read_committed")
            .load()
        )
        about = {
            "cluster": cluster_id(spark, options),
            "topic": topic,
            "groups": _in_words(wanted),
        }
        decoded = decode(records, Groups(frozenset(wanted.groups), wanted.groups_like))
        samples = commits(decoded.observe(watch.metrics, *observed()).where("landed"))
        query = land_stream(samples, root, WRITER, about=about, available_now=available_now, every_s=every_s)
    return Recording(spark, query, watch)


def record_offsets_once(
    spark: SparkSession, settings: Mapping[str, Any], root: str, **which: Any
) -> OffsetsReport:
    """Land what is there now and was not landed yet; arguments and errors are those of `record_offsets`."""
    recording = record_offsets(spark, settings, root, **which, available_now=True)
    try:
        with one_line(f"recording {which.get('topic', TOPIC)}"):
            recording.query.awaitTermination()
    finally:
        report = recording.stop()
    return report


def _in_words(wanted: Wanted) -> str:
    """Groups as a checkpoint tells them: the same words for the same groups, and for no others."""
    named = [json.dumps(name, ensure_ascii=False) for name in sorted(set(wanted.groups))]
    like = wanted.groups_like
    return ", ".join([*named, *([] if like is None else [f"like {like.pattern}"])])
