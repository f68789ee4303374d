"""The topic of the feed, made and looked at with Kafka's own admin client inside Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TOPIC_SETTINGS", "create_feed"]

TOPIC_SETTINGS = {
    "cleanup.policy": "compact",
    # Kafka does not compact the segment that is written to, which would be of a week.
    "segment.ms": "3600000",
    # Nor what is mostly clean: the default would let the topic become twice as large before it begins.
    "min.cleanable.dirty.ratio": "0.1",
}
"""Of a topic that is made here."""

_PATIENCE = {"default.api.timeout.ms": "30000", "request.timeout.ms": "10000"}


def create_feed(spark: SparkSession, kafka_options: Mapping[str, str], topic: str) -> bool:
    """Make the topic of the feed, compacted, with the cluster's default of replicas; one partition will do.

    Args:
        spark: the session.
        kafka_options: the connector's, with which the admin client asks, too.
        topic: of the feed.

    Returns:
        Whether it was made; one that is there is left as it is, if it is compacted.

    Raises:
        PipelineError: it is there and would lose forecasts, since it is not compacted; or no cluster answers,
            or it does not let us.
    """
    given = {
        name.removeprefix("kafka."): value
        for name, value in kafka_options.items()
        if name.startswith("kafka.")
    }
    with one_line(f"the feed {topic!r}"):
        jvm: Any = spark.sparkContext._jvm
        config = jvm.java.util.Properties()
        for name, value in {**_PATIENCE, **given}.items():
            config.put(name, value)
        admin = jvm.org.apache.kafka.clients.admin.Admin.create(config)
        try:
            if admin.listTopics().names().get().contains(topic):
                with _allowed(
                    topic, "we may not see its settings: the cluster's rules have to allow DESCRIBE_CONFIGS"
                ):
                    _check(jvm, admin, topic)
                return False
            with _allowed(
                topic,
                "it is not there as far as we may see, and we may not make it: the cluster's rules have to "
                "allow CREATE; or, if it is there, READ, WRITE and DESCRIBE_CONFIGS",
            ):
                _create(jvm, admin, topic)
            return True
        finally:
            admin.close(jvm.java.time.Duration.ofSeconds(5))


@contextmanager
def _allowed(topic: str, otherwise: str) -> Iterator[None]:
    """Say what has to be allowed, where that is what is missing; Kafka does not."""
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
            f"topic {topic!r} is there with cleanup.policy={policy}: a feed must be compacted; "
            f"change that, or name another topic"
        )
