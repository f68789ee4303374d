"""Creates and checks the topic of the feed, with the Kafka admin client of Spark's JVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.connector import admin_client
from kafka_assignors.pipeline.faults import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    with one_line(f"the feed {topic!r}"), admin_client(spark, kafka_options) as admin:
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
