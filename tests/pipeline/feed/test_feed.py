"""The feed: rows of load in, records of a compacted topic out."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from pyspark.sql import DataFrame, SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.feed import feed as feed_module
from kafka_assignors.pipeline.feed.feed import (
    FORGET_DAYS,
    TOPIC_SETTINGS,
    Feed,
    create_feed,
    feed_records,
    newest_forecasts,
    published_times,
    write_feed,
)
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.wire import load_feed
from tests.integration.reading import all_records
from tests.pipeline.samples import START, Look, land, publish, samples_df

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


def read_topic(bootstrap: str, topic: str) -> list[tuple[str, dict[str, Any] | None]]:
    return [
        (record.key.decode(), json.loads(record.value or b"null")) for record in all_records(bootstrap, topic)
    ]


def topic_settings(bootstrap: str, topic: str) -> dict[str, str]:
    """Return the settings of a topic that ``create_feed`` sets."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    [settings] = configs["topic"].values() if "topic" in configs else configs.values()
    return {name: settings[name]["value"] for name in TOPIC_SETTINGS}


def minutes_of(records: list[tuple[str, dict[str, Any] | None]]) -> list[tuple[str, float | None]]:
    """Return the key and the minute of each record; None stands for a tombstone."""
    return [
        (key, None if value is None else (value["time_ms"] / 1000 - START) / 60) for key, value in records
    ]


@pytest.fixture
def topic() -> str:
    """Return a new topic name."""
    return f"feed-{uuid.uuid4().hex[:12]}"


def test_record_has_the_documented_fields(spark: SparkSession) -> None:
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


def test_any_name_makes_a_key_of_compact_json(spark: SparkSession) -> None:
    names = ['a "quoted" group', "[1]", "back\\slash", "größe", "a,b"]
    load = load_of(spark, *(look for name in names for look in looks(3, group=name, partition=12)))
    assert records_of(load).keys() == {
        json.dumps([name, "t", 12], separators=(",", ":"), ensure_ascii=False) for name in names
    }


def test_newest_forecast_of_each_partition_is_published(spark: SparkSession) -> None:
    records = records_of(load_of(spark, *looks(5), *looks(9, partition=1), *looks(7, group="other")))
    assert {key: (value["time_ms"] / 1000 - START) / 60 for key, value in records.items()} == {
        '["g","t",0]': 5,
        '["g","t",1]': 9,
        '["other","t",0]': 7,
    }


def test_topic_without_a_group_has_no_record(spark: SparkSession) -> None:
    assert records_of(load_of(spark, *looks(5, group=""))) == {}


def test_rate_after_a_gap_is_the_level(spark: SparkSession) -> None:
    """The arrivals of a gap are unknown, so the record has the rate of the steps before it."""
    [value] = records_of(load_of(spark, *looks(20), Look(7_200, 90_000, 0))).values()
    assert value["time_ms"] == (START + 7_200) * 1000
    assert value["arrival_rate"] == pytest.approx(2)
    assert value["service_rate"] is None


def test_records_of_spark_are_read_by_the_feed_reader(spark: SparkSession) -> None:
    """Covers all fields in the order of ``wire.load_feed``; an unknown one is null, and not omitted."""
    known = load_of(spark, *looks(60), *looks(60, topic="größe"))
    unknown = load_of(spark, Look(0, 0, partition=1), Look(60, 5, partition=1))
    rows = feed_records(newest_forecasts(known.unionByName(unknown))).collect()
    nulls = set()
    for row in rows:
        key, forecast = load_feed.decode_key(row.key.encode()), load_feed.decode(row.value.encode())
        assert load_feed.encode_key(*key) == row.key.encode()
        encoded = json.loads(load_feed.encode(forecast))
        assert encoded == json.loads(row.value)
        assert list(encoded) == list(json.loads(row.value)) == ["version", *load_feed.FIELDS]
        nulls.add(tuple(name for name in load_feed.FIELDS if encoded[name] is None))
    assert len(rows) == 3
    assert nulls == {(), ("error", "service_rate", "lag")}


FOREIGN = ["?", '{"time_ms":"soon"}', '{"time_ms":{}}', '{"time_ms":1e400}', '{"other":1}', "[]", None]


def test_published_times_ignore_foreign_records(
    spark: SparkSession,
) -> None:
    ours = [("a", '{"time_ms":5}'), ("a", '{"time_ms":3}'), ("b", '{"time_ms":2}'), ("b", None)]
    given = [*ours, *(("b" if n % 2 else "foreign", value) for n, value in enumerate(FOREIGN)), (None, "{}")]
    rows = [(key, value, START, offset) for offset, (key, value) in enumerate(given)]
    schema = "key string, value string, timestamp bigint, offset bigint"
    published = published_times(spark.createDataFrame(rows, schema)).collect()
    assert {row.key: row.known_ms for row in published} == {"a": 5, "b": 2}
    published = published_times(spark.createDataFrame(rows[:4], schema)).collect()
    assert {row.key: row.known_ms for row in published} == {"a": 5}, "the last record of b is a tombstone"


def test_feed_of_a_pipeline_lands_in_a_compacted_topic(
    spark: SparkSession, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """A missing topic is created.  A forecast is not written if the topic has it or a newer one."""
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 0, "nothing has landed"
    land(spark, tmp_path, [*looks(30), *looks(30, partition=1)])
    run_load_model(spark, str(tmp_path), SETTINGS, available_now=True)
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 2
    assert topic_settings(bootstrap, topic) == TOPIC_SETTINGS
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 0
    later = load_of(spark, *looks(33))
    later.write.mode("append").partitionBy("date").parquet(f"{tmp_path}/load")
    assert write_feed(spark, str(tmp_path), options(bootstrap), topic) == 1
    assert sorted(minutes_of(read_topic(bootstrap, topic))) == [
        ('["g","t",0]', 29),
        ('["g","t",0]', 33),
        ('["g","t",1]', 29),
    ]


def test_foreign_records_do_not_keep_a_feed_from_being_written(
    spark: SparkSession, bootstrap: str, topic: str
) -> None:
    create_feed(spark, options(bootstrap), topic)
    key = '["g","t",0]'
    foreign = spark.createDataFrame([(key, value) for value in FOREIGN], "key string, value string")
    foreign.write.format("kafka").options(**options(bootstrap)).option("topic", topic).save()
    assert publish(Feed(spark, options(bootstrap), topic), load_of(spark, *looks(5))) == 1


def test_run_reads_the_topic_once_before_the_first_write(
    spark: SparkSession, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[str] = []

    def create(*given: Any) -> bool:
        created.append(given[-1])
        return create_feed(*given)

    monkeypatch.setattr(feed_module, "create_feed", create)
    feed = Feed(spark, options(bootstrap), topic)
    assert publish(feed, load_of(spark, Look(0, 0))) == 0
    assert created == []
    batches = [load_of(spark, *looks(n), *looks(7 - n, partition=1)) for n in (3, 4, 4, 2)]
    assert [publish(feed, batch) for batch in batches] == [2, 1, 0, 1]
    assert created == [topic]
    assert sorted(minutes_of(read_topic(bootstrap, topic))) == [
        ('["g","t",0]', 3),
        ('["g","t",0]', 4),
        ('["g","t",1]', 4),
        ('["g","t",1]', 5),
    ]


@pytest.mark.long
def test_partition_without_a_forecast_for_days_is_removed_once(
    spark: SparkSession, bootstrap: str, topic: str
) -> None:
    """And what is that old is not written any more; one that comes back is there again.

    What another pipeline writes of its groups meanwhile is not old, though it was at the first look.
    """
    day = 86_400

    def days(first: float, **where: Any) -> DataFrame:
        return load_of(spark, *(Look(first * day + 60 * n, 120 * n, 60 * n, **where) for n in range(4)))

    feed, another = (Feed(spark, options(bootstrap), topic) for _ in range(2))
    assert publish(another, days(0.6, group="h")) == 1
    assert publish(feed, days(0).unionByName(days(1, partition=1))) == 2
    later = days(FORGET_DAYS + 0.5)
    assert publish(feed, later.unionByName(days(0.1, partition=2))) == 1
    assert publish(another, days(FORGET_DAYS + 0.55, group="h")) == 1
    assert publish(feed, days(FORGET_DAYS + 0.6)) == 1
    assert publish(Feed(spark, options(bootstrap), topic), days(FORGET_DAYS + 0.7)) == 1
    records = read_topic(bootstrap, topic)
    assert all(value is not None for key, value in records)

    assert publish(feed, days(FORGET_DAYS + 1.5)) == 1
    assert publish(Feed(spark, options(bootstrap), topic), days(FORGET_DAYS + 1.6)) == 1
    gone = [key for key, value in read_topic(bootstrap, topic) if value is None]
    assert gone == ['["g","t",1]'], "once"
    assert publish(feed, days(FORGET_DAYS + 2, partition=1)) == 1
    assert read_topic(bootstrap, topic)[-1][1] is not None


def test_clock_that_is_ahead_does_not_remove_other_partitions(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """This holds for a batch and for the catch-up, which reads only the newest days."""
    now = time.time() - START
    good = [Look(now - 3_600 + 60 * n, 120 * n, 60 * n, partition=1) for n in range(30)]
    ahead = [Look(now + 3_000 * 86_400 + 60 * n, 120 * n, 60 * n) for n in range(30)]
    assert publish(Feed(spark, options(bootstrap), topic), load_of(spark, *good, *ahead)) == 2
    assert publish(Feed(spark, options(bootstrap), topic), load_of(spark, *good[:-1], *ahead)) == 0
    # As left by a driver whose clock was ahead; another driver ignores these times.
    load_of(spark, *good, *ahead).write.partitionBy("date").parquet(f"{tmp_path}/load")
    assert write_feed(spark, str(tmp_path), options(bootstrap), f"{topic}-2") == 2


def test_topic_that_is_not_compacted_is_refused(spark: SparkSession, bootstrap: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    admin.close()
    with pytest.raises(PipelineError, match=r"cleanup\.policy=delete, but a feed must be compacted"):
        create_feed(spark, options(bootstrap), topic)


def test_unreachable_cluster_is_an_error_of_one_line(spark: SparkSession) -> None:
    unreachable = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "2000"}
    with pytest.raises(PipelineError, match=r"^the feed 'feed': [^\n]+$"):
        create_feed(spark, unreachable, "feed")
