"""The feed: rows of load in, records of a compacted topic out."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from pyspark.sql import DataFrame, SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.spark.feed import create_feed, feed_records, newest_forecasts, only_newer, write_feed
from kafka_assignors.spark.load_job import run_load_model
from kafka_assignors.spark.load_model import model_load
from tests.spark.samples import START, Look, land, samples_df

SETTINGS = LoadSettings(step_s=60, horizon_s=900, delay_s=60)


def looks(minutes: int, **where: Any) -> list[Look]:
    return [Look(60 * n, 120 * n, 60 * n, **where) for n in range(minutes + 1)]


def load_of(spark: SparkSession, *given: Look) -> DataFrame:
    return model_load(samples_df(spark, given), SETTINGS)


def records_of(load: DataFrame) -> dict[str, dict[str, Any]]:
    rows = feed_records(newest_forecasts(load)).collect()
    records = {row.key: json.loads(row.value) for row in rows}
    assert len(records) == len(rows)
    return records


def options(bootstrap: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap}


def read_topic(bootstrap: str, topic: str) -> list[tuple[str, dict[str, Any]]]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    consumer.subscribe([topic])
    records: list[tuple[str, dict[str, Any]]] = []
    until = time.monotonic() + 30
    while time.monotonic() < until:
        parts = consumer.assignment()
        if parts and all(
            consumer.position(part) >= end for part, end in consumer.end_offsets(list(parts)).items()
        ):
            break
        for batch in consumer.poll(timeout_ms=200).values():
            records += [(record.key.decode(), json.loads(record.value)) for record in batch]
    consumer.close()
    return records


def policy_of(bootstrap: str, topic: str) -> str:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    finally:
        admin.close()
    return json.dumps(found, default=str)


def test_a_record_has_what_the_contract_says(spark: SparkSession) -> None:
    [(key, value)] = records_of(load_of(spark, *looks(60))).items()
    assert key == '["g","t",0]'
    error = value.pop("error")
    assert value == {
        "version": 1,
        "time_ms": (START + 3600) * 1000,
        "horizon_ms": 900_000,
        "arrivals": pytest.approx(1800),
        "arrival_rate": 2.0,
        "service_rate": 1.0,
        "lag": 3600,
    }
    assert error == pytest.approx(0, abs=1e-6)


def test_what_is_not_known_is_null_and_not_left_out(spark: SparkSession) -> None:
    [value] = records_of(load_of(spark, Look(0, 0), Look(60, 5))).values()
    assert (value["error"], value["service_rate"], value["lag"]) == (None, None, None)


@pytest.mark.parametrize("name", ['a "quoted" group', "[1]", "back\\slash", "größe", "a,b"])
def test_any_name_makes_a_key_of_compact_json(spark: SparkSession, name: str) -> None:
    [key] = records_of(load_of(spark, *looks(3, group=name, partition=12)))
    assert key == json.dumps([name, "t", 12], separators=(",", ":"), ensure_ascii=False)


def test_of_each_partition_the_newest_forecast_counts(spark: SparkSession) -> None:
    records = records_of(load_of(spark, *looks(5), *looks(9, partition=1), *looks(7, group="other")))
    assert {key: (value["time_ms"] / 1000 - START) / 60 for key, value in records.items()} == {
        '["g","t",0]': 5,
        '["g","t",1]': 9,
        '["other","t",0]': 7,
    }


def test_a_topic_that_no_group_was_looked_at_for_has_no_record(spark: SparkSession) -> None:
    assert records_of(load_of(spark, *looks(5, group=""))) == {}


def test_after_a_gap_the_rate_is_the_level(spark: SparkSession) -> None:
    """A feed says how fast records come; of an empty step that is not known, but of those before it."""
    [value] = records_of(load_of(spark, *looks(20), Look(7_200, 90_000, 0))).values()
    assert value["time_ms"] == (START + 7_200) * 1000
    assert value["arrival_rate"] == pytest.approx(2)
    assert value["service_rate"] is None


def test_only_newer_records_follow_those_that_are_there(spark: SparkSession) -> None:
    def record(key: str, time_ms: int) -> tuple[str, str]:
        return key, json.dumps({"time_ms": time_ms})

    columns = "key string, value string"
    records = [
        record("older", 5),
        record("same", 6),
        record("newer", 7),
        record("new", 1),
        record("broken", 3),
    ]
    there = [record("older", 6), record("same", 6), record("newer", 6), record("newer", 2), ("broken", "?")]
    kept = only_newer(spark.createDataFrame(records, columns), spark.createDataFrame(there, columns))
    assert sorted(row.key for row in kept.collect()) == ["broken", "new", "newer"]


def test_the_feed_of_a_pipeline_lands_in_a_compacted_topic(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    """It is made if it is missing; what the topic has already, or newer, is not written again."""
    topic = f"feed-{uuid.uuid4().hex[:12]}"
    land(spark, tmp_path, [*looks(30), *looks(30, partition=1)])
    run_load_model(spark, str(tmp_path), SETTINGS, available_now=True)
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 2
    assert "compact" in policy_of(bootstrap, topic)
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 0
    land(spark, tmp_path, [Look(60 * n, 120 * n, 60 * n) for n in range(31, 35)])
    run_load_model(spark, str(tmp_path), SETTINGS, available_now=True)
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 1
    records = read_topic(bootstrap, topic)
    minutes = [(key, (value["time_ms"] / 1000 - START) / 60) for key, value in records]
    assert sorted(minutes) == [('["g","t",0]', 29), ('["g","t",0]', 33), ('["g","t",1]', 29)]


def test_a_topic_that_is_not_compacted_is_refused(spark: SparkSession, bootstrap: str) -> None:
    topic = f"feed-{uuid.uuid4().hex[:12]}"
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    admin.close()
    with pytest.raises(PipelineError, match=r"cleanup\.policy=delete: a feed must be compacted"):
        create_feed(spark, options(bootstrap), topic)


def test_a_cluster_that_does_not_answer_is_an_error_of_one_line(spark: SparkSession) -> None:
    nobody = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "2000"}
    with pytest.raises(PipelineError, match=r"^the feed 'feed': [^\n]+$"):
        create_feed(spark, nobody, "feed")
