"""The feed: the newest forecast of each partition, as records of a compacted topic.

Key and value are those of ``wire.load_feed``: UTF-8 JSON without spaces.

Rules:
- Spark's sink for Kafka writes a record at least once.  A duplicate is harmless.
- A record never follows a newer one of its key, because compaction would keep the older one.  So a run first
  reads the topic, and writes only records that are newer.
- Jobs of different groups may share a topic.  Only one job at a time may write the forecasts of a group.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.connector import admin_client
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.model.sink import has_load, read_load
from kafka_assignors.wire import load_feed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORGET_DAYS = 7
"""A forecast is removed, by a tombstone, if it is more than this many days older than the feed's newest one.

If the newest one is in the future, the age counts from now.
"""

NewestForecasts = Mapping[str, tuple[int, str]]
"""Key -> time (ms since 1970) and value of the newest forecast of a partition."""

TOPIC_SETTINGS = {
    "cleanup.policy": "compact",
    # Kafka does not compact the active segment, which by default holds a week.
    "segment.ms": "3600000",
    # With the default, compaction starts only once the topic has doubled in size.
    "min.cleanable.dirty.ratio": "0.1",
}
"""Settings of a new topic."""

# Kafka's own errors do not name the missing rights.
_NOT_ALLOWED_TO_CHECK = "not authorized to read its settings: the cluster's ACLs must allow DESCRIBE_CONFIGS"
_NOT_ALLOWED_TO_CREATE = (
    "it does not exist or is not visible, and we are not authorized to create it: the cluster's "
    "ACLs must allow CREATE; or, if it exists, READ, WRITE and DESCRIBE_CONFIGS"
)

_DAY_MS = 86_400_000
_RECENT_DAYS = 2  # days of the load table to read before its newest day


def newest_forecasts(load: DataFrame) -> DataFrame:
    """Keep the newest forecast of each group and partition; rows of ``LOAD`` in and out."""
    return (
        load.where(F.col("forecast").isNotNull() & (F.col("group") != ""))
        .groupBy("group", "topic", "partition")
        .agg(F.max_by(F.struct(*load.columns), "time").alias("newest"))
        .select("newest.*")
    )


def feed_records(forecasts: DataFrame) -> DataFrame:
    """Return rows of ``LOAD`` as records: strings ``key`` and ``value``."""
    value = F.struct(
        F.lit(load_feed.VERSION).alias("version"),
        F.unix_millis("time").alias("time_ms"),
        F.round(F.col("horizon_s") * 1000).cast("bigint").alias("horizon_ms"),
        F.greatest("forecast", F.lit(0.0)).alias("arrivals"),
        F.col("forecast_error").alias("error"),
        F.greatest(F.coalesce("arrival_rate", "level"), F.lit(0.0)).alias("arrival_rate"),
        "service_rate",
        "lag",
    )
    value_json = F.to_json(value, {"ignoreNullFields": "false"})
    return forecasts.select(_key().alias("key"), value_json.alias("value"))


def newest_records(load: DataFrame) -> NewestForecasts:
    """Fetch the newest forecasts among rows of ``LOAD`` as records."""
    rows = feed_records(newest_forecasts(load)).select("key", _time_ms().alias("time_ms"), "value")
    return {row.key: (row.time_ms, row.value) for row in rows.collect()}


def landed_records(spark: SparkSession, root: str) -> NewestForecasts:
    """Fetch, as records, the newest forecast of each partition in the last days of a folder's load."""
    if not has_load(spark, root):
        return {}
    with as_pipeline_error(f"the load of {root}"):
        load = read_load(spark, root)
        [(last,)] = load.agg(F.max("date")).collect()
        last = min(last, datetime.now(timezone.utc).date())
        return newest_records(load.where(F.col("date") >= F.date_sub(F.lit(last), _RECENT_DAYS)))


def published_times(records: DataFrame) -> DataFrame:
    """Return the newest time ``known_ms`` of each ``key`` among records, whose key and value are strings.

    Keys whose last record is a tombstone, or that have no record with a time, are omitted.
    """
    is_alive = F.max_by(F.col("value").isNotNull(), F.struct("timestamp", "offset"))
    return (
        records.where(F.col("key").isNotNull())
        .groupBy("key")
        .agg(F.max(_time_ms()).alias("known_ms"), is_alive.alias("is_alive"))
        .where(F.col("known_ms").isNotNull() & F.col("is_alive"))
        .select("key", "known_ms")
    )


def write_feed(spark: SparkSession, root: str, kafka_options: Mapping[str, str], topic: str) -> int:
    """Publish the newest forecasts of ``load/`` once, and remove old ones.

    Returns:
        Number of forecasts written; 0: none is newer than those in the topic.

    Raises:
        PipelineError: the cluster does not answer or denies access, or the topic is not compacted.
    """
    return Feed(spark, kafka_options, topic).write(landed_records(spark, root))


class Feed:
    """Writes forecasts to one topic, created if it is missing.

    Takes about 200 bytes per partition in the driver, and 400 per record to write.
    """

    def __init__(self, spark: SparkSession, kafka_options: Mapping[str, str], topic: str) -> None:
        self._spark = spark
        self._options = kafka_options
        self._topic = topic
        self._known: dict[str, int] | None = None  # newest time of each key; None: not read

    def write(self, records: NewestForecasts) -> int:
        """Write the records that are newer than those in the topic, and remove old ones; see `write_feed`."""
        if not records:
            return 0
        with as_pipeline_error(f"the feed {self._topic!r}"):
            known = self._read() if self._known is None else self._known
            times = {key: time_ms for key, (time_ms, _) in records.items()}
            newest = max([*times.values(), *known.values()])
            # The forecasts of a clock that is ahead must not make all other keys old.
            oldest = min(newest, round(time.time() * 1000)) - FORGET_DAYS * _DAY_MS
            newer = {
                key: time_ms
                for key, time_ms in times.items()
                if time_ms >= oldest and time_ms > known.get(key, -1)
            }
            if newer:
                self._send([(key, records[key][1]) for key in newer])
                known |= newer
            if min(known.values(), default=oldest) < oldest:
                known = self._read()  # other jobs may have written newer records of other groups
                old = sorted(key for key, time_ms in known.items() if time_ms < oldest)
                if old:
                    self._send([(key, None) for key in old])
                    known = {key: time_ms for key, time_ms in known.items() if time_ms >= oldest}
            self._known = known
        return len(newer)

    def _read(self) -> dict[str, int]:
        """Return the newest time of each key; create the topic if it is missing."""
        create_feed(self._spark, self._options, self._topic)
        with as_pipeline_error(f"the feed {self._topic!r} (reading)"):
            records = (
                self._spark.read.format("kafka")
                .options(**self._options)
                .option("subscribe", self._topic)
                .option("startingOffsets", "earliest")
                .load()
                .withColumns({name: F.col(name).cast("string") for name in ("key", "value")})
            )
            return {row["key"]: row["known_ms"] for row in published_times(records).collect()}

    def _send(self, records: Sequence[tuple[str, str | None]]) -> None:
        with as_pipeline_error(f"the feed {self._topic!r} (writing)"):
            rows = self._spark.createDataFrame(records, "key string, value string")
            rows.write.format("kafka").options(**self._options).option("topic", self._topic).save()


def create_feed(spark: SparkSession, kafka_options: Mapping[str, str], topic: str) -> bool:
    """Create the topic of the feed, compacted, with the cluster's default numbers of partitions and replicas.

    Args:
        spark: the session.
        kafka_options: connection options of Spark's connector; the admin client uses them as well.
        topic: topic of the feed.

    Returns:
        Whether the topic was created.  An existing compacted topic stays unchanged.

    Raises:
        PipelineError: the topic exists and is not compacted, so it would lose forecasts; or the cluster does
            not answer or denies access.
    """
    with as_pipeline_error(f"the feed {topic!r}"), admin_client(spark, kafka_options) as admin:
        exists = bool(admin.listTopics().names().get().contains(topic))
        try:
            if exists:
                _check(spark, admin, topic)
            else:
                _create(spark, admin, topic)
        except Exception as error:
            if "AuthorizationException" not in str(error):
                raise
            missing = _NOT_ALLOWED_TO_CHECK if exists else _NOT_ALLOWED_TO_CREATE
            raise PipelineError(f"the feed {topic!r}: {missing}") from error
        return not exists


def _create(spark: SparkSession, admin: Any, topic: str) -> None:
    jvm: Any = spark.sparkContext._jvm
    default = jvm.java.util.Optional.empty()
    new = jvm.org.apache.kafka.clients.admin.NewTopic(topic, default, default).configs(TOPIC_SETTINGS)
    admin.createTopics([new]).all().get()


def _check(spark: SparkSession, admin: Any, topic: str) -> None:
    config: Any = spark.sparkContext._jvm.org.apache.kafka.common.config
    resource = config.ConfigResource(config.ConfigResource.Type.TOPIC, topic)
    policy = admin.describeConfigs([resource]).all().get().get(resource).get("cleanup.policy").value()
    if "compact" not in policy:
        raise PipelineError(
            f"topic {topic!r} has cleanup.policy={policy}, but a feed must be compacted: "
            "change it, or name another topic"
        )


def _time_ms() -> Column:
    """Return the time in a value; null if it is missing or invalid."""
    return F.get_json_object("value", "$.time_ms").try_cast("bigint")


def _key() -> Column:
    # The elements of Spark's JSON arrays have one type, so each name is encoded as an array of its own.
    def text(name: str) -> Column:
        return F.regexp_replace(F.to_json(F.array(name)), r"^\[|\]$", "")

    return F.concat(
        F.lit("["), text("group"), F.lit(","), text("topic"), F.lit(","), F.col("partition"), F.lit("]")
    )
