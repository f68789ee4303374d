"""What there is to count: the topic by carrier and destination, as Spark reads it through its connector."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from demo.failover.flow import Tally
from kafka_assignors.broker import OnProgress
from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.session import SHORT_LIVED, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def count_with_spark(bootstrap: str, topic: str, on_progress: OnProgress) -> Tally:
    """Read the whole topic and count; takes some 15 s, most of it to start.

    Args:
        bootstrap: ``host:port`` of the broker.
        topic: whose.
        on_progress: told of what Spark has to fetch, and of its start.

    Raises:
        KafkaAssignorsError: no Spark, no Java, or jars that cannot be fetched.
        Exception: whatever Spark raises.
    """
    with session("demo", java_options=SHORT_LIVED, on_progress=on_progress) as spark:
        from pyspark.sql import functions as F

        records = (
            spark.read.format("kafka")
            .options(**connector_options({"bootstrap_servers": bootstrap}))
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("endingOffsets", "latest")
            .load()
        )
        counts = (
            records.select(
                F.get_json_object(F.col("value").cast("string"), "$.carrier").alias("carrier"),
                F.col("key").cast("string").alias("destination"),
            )
            .groupBy("carrier", "destination")
            .count()
        )
        return _tally(counts)


def _tally(counts: DataFrame) -> Tally:
    carriers: Counter[str] = Counter()
    destinations: Counter[str] = Counter()
    for row in counts.collect():
        carriers[row["carrier"]] += row["count"]
        destinations[row["destination"]] += row["count"]
    return Tally(carriers, destinations)
