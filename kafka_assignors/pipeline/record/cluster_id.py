"""The id of the cluster, because a checkpoint belongs to one, and addresses may later lead to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIMITS = {"default.api.timeout.ms": "30000", "request.timeout.ms": "10000"}


def cluster_id(spark: SparkSession, kafka_options: Mapping[str, str]) -> str:
    """Return the cluster id, with Kafka's admin client and the options of the connector.  It needs no ACL.

    Args:
        spark: the session, with the connector's jars.
        kafka_options: options of Spark's connector.

    Raises:
        Exception: the cluster does not answer within 30 s, or denies access; for ``one_line``.
    """
    jvm: Any = spark.sparkContext._jvm
    config = jvm.java.util.Properties()
    options = {name.removeprefix("kafka."): value for name, value in kafka_options.items()}
    for name, value in {**_LIMITS, **options}.items():
        config.put(name, value)
    admin = jvm.org.apache.kafka.clients.admin.Admin.create(config)
    try:
        return str(admin.describeCluster().clusterId().get())
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(5))
