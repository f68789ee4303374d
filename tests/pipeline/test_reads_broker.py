"""The locked connector, the locked broker and PySpark work together."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession, functions

PARTITIONS = 3
ROWS = 300


@pytest.fixture(scope="module")
def topic(bootstrap: str) -> str:
    """Create a topic with 300 numbered records, spread over its three partitions in turn."""
    name = f"spark-{uuid.uuid4().hex[:12]}"
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for n in range(ROWS):
        producer.send(name, key=b"k%d" % (n % 7), value=str(n).encode(), partition=n % PARTITIONS)
    producer.close()
    return name


def options(bootstrap: str, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}


def test_batch_reads_every_record_of_every_partition(spark: SparkSession, bootstrap: str, topic: str) -> None:
    rows = (
        spark.read.format("kafka")
        .options(**options(bootstrap, topic))
        .load()
        .select(
            functions.col("value").cast("string").cast("int").alias("n"),
            functions.col("key").cast("string").alias("key"),
            "partition",
            "offset",
        )
        .collect()
    )
    expected = [(n, f"k{n % 7}", n % PARTITIONS, n // PARTITIONS) for n in range(ROWS)]
    assert sorted(tuple(row) for row in rows) == expected


def test_stream_reads_to_the_end_and_continues_there(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    def run() -> int:
        query = (
            spark.readStream.format("kafka")
            .options(**options(bootstrap, topic))
            .load()
            .select("partition", "offset")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "rows"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        rows: int = spark.read.parquet(str(tmp_path / "rows")).count()
        return rows

    assert run() == ROWS
    assert run() == ROWS  # nothing twice
