"""Records commits from ``__consumer_offsets``: lands those of the wanted groups, and counts all records.

The checkpoint contains the position in the topic, so each commit lands once, even after a kill.  Compaction
leaves only the last commit of each group and partition, and earlier ones that are not compacted yet.  So the
history hardly goes back before the start of the recording.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.record.offsets_decoder import COLUMNS, Groups, decode_batch
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport
from kafka_assignors.pipeline.record.recording import Recording, cluster_id
from kafka_assignors.pipeline.record.sampling import SamplerOptions, group_names, pattern
from kafka_assignors.pipeline.session import OFFSET_FETCHING
from kafka_assignors.pipeline.tables.landing import land_stream
from kafka_assignors.pipeline.tables.schemas import utc_date

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

TOPIC = "__consumer_offsets"
WRITER = "offsets-topic"  # also the ``source`` of the samples

_MOST_RECORDS = 2_000_000  # maximum records a batch, so each batch of a large topic fits into memory


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
    """Start a stream that lands commits in ``samples/offsets-topic``, from the end of the last run.

    The first run starts at the beginning of the topic.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        settings: connection settings of ``KafkaConsumer``.
        root: folder of the pipeline.
        groups: names of groups.
        groups_like: pattern of the whole names of more groups.
        topic: the offsets topic, or a copy of it.
        every_s: seconds between two batches.
        available_now: land the existing commits, and end.

    Raises:
        OptionError: groups, the pattern or a setting are invalid, or the connector cannot take a setting.
        PipelineError: the cluster cannot be reached; or this Spark would read the topic as empty; or the
            checkpoint is of another cluster, of another topic, or of other groups.  (A recording of other
            groups has skipped the commits of these groups.)  If the topic cannot be read, the stream ends,
            and ``Recording.finish`` raises the error.
    """
    # The sampler's own checks:
    wanted = SamplerOptions(group_names(groups), pattern("groups_like", groups_like))
    options = connector_options(settings)
    if spark.conf.get(OFFSET_FETCHING, "false") != "true":
        raise PipelineError(
            f"recording {topic}: this Spark would read it as empty; set {OFFSET_FETCHING}=true"
        )
    names = [json.dumps(name, ensure_ascii=False) for name in sorted(set(groups))]
    like = [] if groups_like is None else [f"like {groups_like}"]
    about = {"cluster": cluster_id(settings), "topic": topic, "groups": ", ".join([*names, *like])}

    def start(metric_name: str) -> StreamingQuery:
        records = (
            spark.readStream.format("kafka")
            .options(**options)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", str(_MOST_RECORDS))
            .option("kafka.isolation.level", "read_committed")
            .load()
        )
        decoded = decode(records, Groups(frozenset(wanted.groups), wanted.groups_like))
        counts = F.collect_list("counted").alias("counted")
        samples = commits(decoded.observe(metric_name, counts))
        return land_stream(samples, root, WRITER, about=about, available_now=available_now, every_s=every_s)

    return Recording(spark, f"recording {topic}", start, OffsetsReport())


def record_offsets_once(
    spark: SparkSession, settings: Mapping[str, Any], root: str, **which: Any
) -> OffsetsReport:
    """Land all new commits once; arguments and errors are those of `record_offsets`."""
    return record_offsets(spark, settings, root, **which, available_now=True).finish()


def decode(records: DataFrame, groups: Groups) -> DataFrame:
    """Decode each record of ``__consumer_offsets``.

    Args:
        records: rows of Spark's Kafka source, with ``key``, ``value``, ``partition``, ``offset`` and
            ``timestamp``.  They must be read with ``read_committed``, which omits control records and aborted
            transactions.
        groups: the wanted groups.

    Returns:
        A row for each record.  ``kind`` is one of ``KINDS`` (null: unknown), and ``problem`` one of
        ``PROBLEMS`` (null: none).  Commits and tombstones without a problem have ``time``, ``group``,
        ``topic``, ``partition`` and ``committed_offset`` (-1: the commit was removed).  All rows have the
        position of the record: ``record_partition``, ``record_offset`` and ``record_time``.

        ``landed``: whether the record is a commit or tombstone of a wanted group without a problem.
        ``counted``: some rows have a text for `OffsetsReport.with_batch`; together, the texts count all rows.
    """
    return records.select("key", "value", "partition", "offset", "timestamp").mapInArrow(
        lambda batches: (decode_batch(batch, groups) for batch in batches), COLUMNS
    )


def commits(decoded: DataFrame) -> DataFrame:
    """Return the landed commits and tombstones as ``SAMPLES``, without begin and end offsets."""
    return decoded.where("landed").select(
        *("time", "group", "topic", "partition"),
        *(F.lit(None).cast("bigint").alias(name) for name in ("begin_offset", "end_offset")),
        "committed_offset",
        F.lit(WRITER).alias("source"),
        utc_date("time").alias("date"),
    )
