"""The feed: the newest forecast of each partition, as records of a compacted topic.

Version 1 of a record::

    key    ["group","topic",3]
    value  {"version":1,"time_ms":1385000000000,"horizon_ms":3600000,"arrivals":1234.5,"error":56.7,
            "arrival_rate":0.34,"service_rate":0.5,"lag":12}

UTF-8 JSON without spaces.  ``time_ms``: end of the step the forecast was made after.  ``arrivals``: records
expected within ``horizon_ms`` from then, 0 or more.  ``error``, ``service_rate`` and ``lag`` may be null.

Rules:
- Spark's sink for Kafka writes a record once or more.  Twice is harmless: it is the same record again.
- A record never follows a newer one of its key, or compaction would leave the older one to readers that come
  later.  So what the topic has of a partition is looked up first, and what is not newer stays away.
- One job at a time writes to a topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.spark.faults import one_line
from kafka_assignors.spark.load_sink import read_load

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = [
    "VERSION",
    "create_feed",
    "feed_records",
    "newest_forecasts",
    "only_newer",
    "publish_feed",
    "write_feed",
]

VERSION = 1
_RECENT_DAYS = 2  # of the newest step; what is older has nothing to say on what will come


def newest_forecasts(load: DataFrame) -> DataFrame:
    """The row of each group's partition with the newest forecast; rows of ``LOAD`` in and out."""
    from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

    names = [name for name in load.columns if name not in ("group", "topic", "partition")]
    newest = F.max_by(F.struct(*names), "time").alias("newest")
    return (
        load.where(F.col("forecast").isNotNull() & (F.col("group") != ""))
        .groupBy("group", "topic", "partition")
        .agg(newest)
        .select("group", "topic", "partition", "newest.*")
        .select(*load.columns)
    )


def feed_records(forecasts: DataFrame) -> DataFrame:
    """Rows of ``LOAD`` as records: strings ``key`` and ``value``."""
    from pyspark.sql import functions as F  # noqa: N812

    value = F.struct(
        F.lit(VERSION).alias("version"),
        F.unix_millis("time").alias("time_ms"),
        F.round(F.col("horizon_s") * 1000).cast("bigint").alias("horizon_ms"),
        F.greatest("forecast", F.lit(0.0)).alias("arrivals"),
        F.col("forecast_error").alias("error"),
        F.greatest(F.coalesce("arrival_rate", "level"), F.lit(0.0)).alias("arrival_rate"),
        "service_rate",
        "lag",
    )
    return forecasts.select(
        _key().alias("key"),
        F.to_json(value, {"ignoreNullFields": "false"}).alias("value"),
    )


def only_newer(records: DataFrame, published: DataFrame) -> DataFrame:
    """Records that are newer than what was published of their key.

    Args:
        records: ``key`` and ``value``.
        published: the same, any number of them of a key; what is no such record counts as older.
    """
    from pyspark.sql import functions as F  # noqa: N812

    time_ms = F.get_json_object("value", "$.time_ms").cast("bigint")
    known = published.groupBy("key").agg(F.max(time_ms).alias("known_ms"))
    return (
        records.withColumn("time_ms", time_ms)
        .join(known, on="key", how="left")
        .where(F.col("known_ms").isNull() | (F.col("time_ms") > F.col("known_ms")))
        .select("key", "value")
    )


def write_feed(spark: SparkSession, root: str, kafka_options: Mapping[str, str], topic: str) -> int:
    """Publish the newest forecasts of ``load/``; the topic is made if it is missing.

    Args:
        spark: the session.
        root: the pipeline's folder.
        kafka_options: of Spark's connector: ``kafka.bootstrap.servers`` and whatever else it takes to log in.
        topic: of the feed.

    Returns:
        How many records were written; 0 if the topic has them all.

    Raises:
        PipelineError: no load yet, or the cluster does not let us.
    """
    from pyspark.sql import functions as F  # noqa: N812

    load = read_load(spark, root)
    [(last,)] = load.agg(F.max("date")).collect()
    recent = load.where(F.col("date") >= F.date_sub(F.lit(last), _RECENT_DAYS))
    return publish_feed(recent, kafka_options, topic)


def publish_feed(load: DataFrame, kafka_options: Mapping[str, str], topic: str) -> int:
    """Publish the newest forecasts among rows of ``LOAD``: `write_feed` for one batch of a stream."""
    spark = load.sparkSession
    create_feed(spark, kafka_options, topic)
    with one_line(f"the feed {topic!r}"):
        published = _published(spark, kafka_options, topic)
        records = only_newer(feed_records(newest_forecasts(load)), published).persist()
        try:
            count: int = records.count()
            if count:
                records.write.format("kafka").options(**kafka_options).option("topic", topic).save()
        finally:
            records.unpersist()
    return count


def create_feed(spark: SparkSession, kafka_options: Mapping[str, str], topic: str) -> bool:
    """Make the topic of the feed, compacted, with the cluster's default of replicas; one partition will do.

    It is Kafka's own admin client that asks, with the very options the connector has.

    Returns:
        Whether it was made; one that is there is left as it is, if it is compacted.

    Raises:
        PipelineError: it is there and would lose forecasts, since it is not compacted; or no cluster answers.
    """
    jvm: Any = spark.sparkContext._jvm
    config = jvm.java.util.Properties()
    given = {
        name.removeprefix("kafka."): kafka_options[name]
        for name in kafka_options
        if name.startswith("kafka.")
    }
    for name, value in {"default.api.timeout.ms": "30000", "request.timeout.ms": "10000", **given}.items():
        config.put(name, value)
    with one_line(f"the feed {topic!r}"):
        admin = jvm.org.apache.kafka.clients.admin.Admin.create(config)
        try:
            return _create(jvm, admin, topic)
        finally:
            admin.close(jvm.java.time.Duration.ofSeconds(5))


def _create(jvm: Any, admin: Any, topic: str) -> bool:
    there = admin.listTopics().names().get().contains(topic)
    if not there:
        empty = jvm.java.util.Optional.empty()
        new = jvm.org.apache.kafka.clients.admin.NewTopic(topic, empty, empty)
        new.configs(jvm.java.util.Collections.singletonMap("cleanup.policy", "compact"))
        admin.createTopics(jvm.java.util.Collections.singletonList(new)).all().get()
        return True
    kind = jvm.org.apache.kafka.common.config.ConfigResource.Type.TOPIC
    resource = jvm.org.apache.kafka.common.config.ConfigResource(kind, topic)
    settings = admin.describeConfigs(jvm.java.util.Collections.singletonList(resource)).all().get()
    policy = settings.get(resource).get("cleanup.policy").value()
    if "compact" not in policy:
        raise PipelineError(
            f"topic {topic!r} is there with cleanup.policy={policy}: a feed must be compacted; "
            f"change that, or name another topic"
        )
    return False


def _published(spark: SparkSession, kafka_options: Mapping[str, str], topic: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    return (
        spark.read.format("kafka")
        .options(**kafka_options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .select(F.col("key").cast("string").alias("key"), F.col("value").cast("string").alias("value"))
    )


def _key() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    # JSON of an array needs elements of one type, so each name is written as an array of its own.
    def text(name: str) -> Column:
        return F.regexp_replace(F.to_json(F.array(name)), r"^\[|\]$", "")

    return F.concat(
        F.lit("["), text("group"), F.lit(","), text("topic"), F.lit(","), F.col("partition"), F.lit("]")
    )
