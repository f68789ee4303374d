"""The whole pipeline on a real broker: recorded, modelled, fed, stopped, gone on with; and its commands."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition
from pyspark.sql import SparkSession

from kafka_assignors.broker.ports import free_ports
from kafka_assignors.cli import cli, pipeline
from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.plan import TopicPartition
from kafka_assignors.spark.landing import read_samples
from kafka_assignors.spark.load_sink import read_load
from kafka_assignors.spark.pipeline import PipelineReport, Wanted, run_pipeline
from kafka_assignors.wire import load_feed
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write

PATIENCE_S = 600.0
PARTITIONS = 3
LOAD = LoadSettings(step_s=1.0, horizon_s=10.0, delay_s=1.0)


@pytest.fixture(scope="module")
def names(bootstrap: str) -> FreshNames:
    return FreshNames(bootstrap)


@contextmanager
def working(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """Something happens in the group, some times a second: partition 0 gets most, and commits follow."""
    done = threading.Event()

    def work() -> None:
        at = 0
        while not done.wait(0.3):
            at += 1
            write(bootstrap, {TopicPartition(topic, p): n for p, n in ((0, 6), (1, 2), (2, 1))})
            commit(bootstrap, group, {TopicPartition(topic, p): at * n for p, n in ((0, 5), (1, 2), (2, 1))})

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def run_until(
    spark: SparkSession, wanted: Wanted, met: Callable[[PipelineReport], bool]
) -> tuple[PipelineReport, bool]:
    """Run the pipeline until its report is as it should be; and whether it came so far."""
    stop = threading.Event()
    deadline = time.monotonic() + PATIENCE_S
    came = False

    def look(report: PipelineReport) -> None:
        nonlocal came
        came = came or met(report)
        if came or time.monotonic() > deadline:
            stop.set()

    return run_pipeline(spark, wanted, stop=stop, on_report=look), came


def fed(bootstrap: str, topic: str, group: str) -> dict[TopicPartition, load_feed.Forecast]:
    """What the feed says of a group, as a reader has it."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest")
    try:
        at = [TheirPartition(topic, p) for p in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(at)
        ends = consumer.end_offsets(at)
        found: dict[TopicPartition, load_feed.Forecast] = {}
        while any(consumer.position(one) < end for one, end in ends.items()):
            for records in consumer.poll(1000).values():
                for record in records:
                    key = load_feed.decode_key(record.key)
                    if key.group_id == group:
                        found[key.at] = load_feed.decode(record.value)
        return found
    finally:
        consumer.close()


def test_what_a_group_does_comes_out_as_forecasts_and_a_second_run_goes_on(
    spark: SparkSession, bootstrap: str, names: FreshNames, tmp_path: Path
) -> None:
    group, topic, feed = names.group(), names.topic(PARTITIONS), names.group("feed")
    root = str(tmp_path / "pipeline")
    wanted = Wanted(
        root, {"bootstrap_servers": [bootstrap]}, groups=[group], every_s=1.0, load=LOAD, feed_topic=feed
    )
    write(bootstrap, {TopicPartition(topic, 0): 1})
    commit(bootstrap, group, {TopicPartition(topic, 0): 0})
    with working(bootstrap, group, topic):
        first, came = run_until(spark, wanted, lambda report: report.fed >= 2 * PARTITIONS)
        assert came, first
        assert first.samples is not None
        assert first.offsets is not None
        assert first.samples.misses == {}
        assert first.offsets.problems == {}
        assert first.unfed == 0
        second, came = run_until(spark, wanted, lambda report: report.fed >= PARTITIONS)
        assert came, second

    forecasts = fed(bootstrap, feed, group)
    assert forecasts.keys() == {TopicPartition(topic, p) for p in range(PARTITIONS)}
    assert {one.horizon_ms for one in forecasts.values()} == {10_000}
    assert forecasts[TopicPartition(topic, 0)].arrivals > forecasts[TopicPartition(topic, 2)].arrivals

    assert second.samples is not None
    assert second.offsets is not None
    landed = read_samples(spark, root).where(f"`group` = '{group}'")
    by_source = {row["source"]: row["count"] for row in landed.groupBy("source").count().collect()}
    # What landed in a batch that the end interrupted is not in the report.
    assert by_source["sampler"] >= first.samples.rows + second.samples.rows
    assert by_source["offsets-topic"] >= first.offsets.landed + second.offsets.landed
    commits = landed.where("source = 'offsets-topic' AND partition = 0").select("committed_offset")
    offsets = [row[0] for row in commits.collect()]
    assert len(offsets) == len(set(offsets)), "each commit landed once"
    steps = read_load(spark, root)
    assert steps.count() == steps.dropDuplicates(["group", "topic", "partition", "time"]).count()
    arrived = steps.where("partition = 0").agg({"arrived": "sum"}).first()
    assert arrived is not None
    assert arrived[0] > 0


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def test_once_does_what_there_is_to_do_and_says_it(bootstrap: str, names: FreshNames, tmp_path: Path) -> None:
    group, topic, root = names.group(), names.topic(1), tmp_path / "here"
    write(bootstrap, {TopicPartition(topic, 0): 7})
    commit(bootstrap, group, {TopicPartition(topic, 0): 4})
    process = run_command(
        "record", group, "--bootstrap", bootstrap, "--out", root, "--once", "--output", "json"
    )
    told = json.loads(process)
    assert told["samples"] == {"looks": 1, "rows": 1, "misses": {}}
    assert told["offsets_topic"]["commits"] == 1
    assert told["offsets_topic"]["problems"] == {}
    again = json.loads(
        run_command("pipeline", "run", group, "--bootstrap", bootstrap, "--out", root, "--once", "--no-feed",
                    "--output", "json")
    )  # fmt: skip
    assert again["offsets_topic"]["commits"] == 0, "it is recorded already"
    assert again["load"]["samples"] == 3
    assert again["folder"] == str(root)


def run_command(*arguments: object) -> str:
    """Run a command in a process of its own; what it wrote to stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "kafka_assignors", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,  # a Spark starts in it
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["record", "--bootstrap", "h:1"], "which groups? Name some, or give --groups-like REGEX"),
        (["record", "g"], "bootstrap_servers: missing"),
        (["pipeline", "run", "g", "--bootstrap", "h:1", "--step", "7"], "--step: a quarter of an hour"),
        (["pipeline", "run", "g", "--bootstrap", "h:1", "--horizon", "90"], "--horizon: 90 s are not"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(arguments: list[str], says: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_cluster_that_does_not_answer_is_an_error_at_once(spark: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    settings: dict[str, Any] = {"bootstrap_servers": [f"127.0.0.1:{port}"]}
    wanted = Wanted(str(tmp_path), settings, groups=["g"], every_s=1.0, load=LOAD)
    with pytest.raises(PipelineError, match="no broker answers"):
        run_pipeline(spark, wanted, stop=threading.Event(), on_report=lambda _: None)
    with pytest.raises(PipelineError, match="no broker answers"):
        run_pipeline(spark, wanted, stop=None, on_report=lambda _: None)


def test_the_entry_for_spark_submit_is_a_file() -> None:
    result = command("pipeline", "entry")
    assert Path(result.output.strip()) == Path(pipeline.__file__).with_name("submit.py")
    assert Path(result.output.strip()).is_file()
