"""Creates and checks the topic of the feed, with the Kafka admin client of Spark's JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
        jvm: Any = spark.sparkContext._jvm
        if admin.listTopics().names().get().contains(topic):
            with _allowed(
                topic,
                "not authorized to read its settings: the cluster's ACLs must allow DESCRIBE_CONFIGS",
            ):
                _check(jvm, admin, topic)
            return False
        with _allowed(
            topic,
            "it does not exist or is not visible, and we are not authorized to create it: the cluster's "
            "ACLs must allow CREATE; or, if it exists, READ, WRITE and DESCRIBE_CONFIGS",
        ):
            _create(jvm, admin, topic)
        return True


@contextmanager
def _allowed(topic: str, otherwise: str) -> Iterator[None]:
    """Turn an authorization error into one that names the required ACLs, which Kafka does not."""
    try:
        yield
    except Exception as error:
        if "AuthorizationException" in str(error):
            raise PipelineError(f"the feed {topic!r}: {otherwise}") from error
        raise


def _create(jvm: Any, admin: Any, topic: str) -> None:
    default = jvm.java.util.Optional.empty()
    settings = jvm.java.util.HashMap()
    for name, value in TOPIC_SETTINGS.items():
        settings.put(name, value)
    new = jvm.org.apache.kafka.clients.admin.NewTopic(topic, default, default)
    new.configs(settings)
    admin.createTopics(jvm.java.util.Collections.singletonList(new)).all().get()


def _check(jvm: Any, admin: Any, topic: str) -> None:
    kind = jvm.org.apache.kafka.common.config.ConfigResource.Type.TOPIC
    resource = jvm.org.apache.kafka.common.config.ConfigResource(kind, topic)
    settings = admin.describeConfigs(jvm.java.util.Collections.singletonList(resource)).all().get()
    policy = settings.get(resource).get("cleanup.policy").value()
    if "compact" not in policy:
        raise PipelineError(
            f"topic {topic!r} has cleanup.policy={policy}, but a feed must be compacted: "
            "change it, or name another topic"
        )
