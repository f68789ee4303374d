"""The whole pipeline and its commands on a real broker: record, model, feed, stop and continue."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from kafka_assignors.broker import start_broker
from kafka_assignors.broker.ports import free_ports
from kafka_assignors.cli import cli
from kafka_assignors.cli.pipeline import command as pipeline
from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.model.sink import read_load
from kafka_assignors.pipeline.run import PipelineOptions, PipelineReport, run_pipeline
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import load_feed
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write
from tests.integration.reading import all_records
from tests.pipeline.samples import Look, land
from tests.support.quick import long

PATIENCE_S = 600.0
PARTITIONS = 3
EVERY = 3.0  # three streams at a time: more often, and they would only keep each other waiting
LOAD = LoadSettings(step_s=1.0, horizon_s=10.0, delay_s=1.0)


@contextmanager
def working(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """Write and commit about three times a second; partition 0 gets the most records."""
    done = threading.Event()

    def work() -> None:
        count = 0
        while not done.wait(0.3):
            count += 1
            write(bootstrap, {TopicPartition(topic, p): n for p, n in ((0, 6), (1, 2), (2, 1))})
            commit(
                bootstrap, group, {TopicPartition(topic, p): count * n for p, n in ((0, 5), (1, 2), (2, 1))}
            )

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def options(bootstrap: str, root: Path, group: str, **more: Any) -> PipelineOptions:
    """Return the options of a pipeline with a load model."""
    settings = {"bootstrap_servers": [bootstrap]}
    return PipelineOptions(str(root), settings, groups=[group], every_s=EVERY, load=LOAD, **more)


def run_until(
    spark: SparkSession, wanted: PipelineOptions, met: Callable[[PipelineReport], bool]
) -> tuple[PipelineReport, bool]:
    """Run the pipeline until its report meets a condition; return the report and whether it did."""
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
    """Return the forecasts of a group, as a reader of the feed decodes them."""
    forecasts = (
        (load_feed.decode_key(record.key), load_feed.decode(record.value))
        for record in all_records(bootstrap, topic)
    )
    return {key.partition: forecast for key, forecast in forecasts if key.group_id == group}


@pytest.mark.long
def test_offsets_of_a_group_become_forecasts_and_a_second_run_continues(
    spark: SparkSession, bootstrap: str, names: FreshNames, tmp_path: Path
) -> None:
    group, topic, feed = names.group(), names.topic(PARTITIONS), names.group("feed")
    root = str(tmp_path / "pipeline")
    wanted = options(bootstrap, Path(root), group, feed_topic=feed)
    write(bootstrap, {TopicPartition(topic, 0): 1})
    commit(bootstrap, group, {TopicPartition(topic, 0): 0})
    with working(bootstrap, group, topic):
        first, came = run_until(spark, wanted, lambda report: report.fed >= 2 * PARTITIONS)
        assert came, first
        assert first.samples is not None
        assert first.offsets is not None
        # A sample without an answer in time is counted; a busy machine may have one.
        assert first.samples.misses.keys() <= {"the cluster did not answer in time"}
        assert first.offsets.problems == {}
        assert first.unfed == 0
        second, came = run_until(spark, wanted, lambda report: report.fed >= PARTITIONS)
        assert came, second

    forecasts = fed(bootstrap, feed, group)
    assert forecasts.keys() == {TopicPartition(topic, p) for p in range(PARTITIONS)}
    assert {forecast.horizon_ms for forecast in forecasts.values()} == {10_000}
    assert forecasts[TopicPartition(topic, 0)].arrivals > forecasts[TopicPartition(topic, 2)].arrivals

    assert second.samples is not None
    assert second.offsets is not None
    landed = read_samples(spark, root).where(f"`group` = '{group}'")
    by_source = {row["source"]: row["count"] for row in landed.groupBy("source").count().collect()}
    # The report leaves out a batch that was interrupted at the end.
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


@pytest.mark.long
def test_existing_commits_land_before_the_first_sample(
    spark: SparkSession, bootstrap: str, names: FreshNames, tmp_path: Path
) -> None:
    """A sample has the current time.  Commits from before would be late after it."""
    group, at = names.group(), TopicPartition(names.topic(1), 0)
    for committed in range(3):
        write(bootstrap, {at: 1})
        commit(bootstrap, group, {at: committed})
    wanted = options(bootstrap, tmp_path, group)
    before: list[int] = []  # commits there are as the first look is reported

    def met(report: PipelineReport) -> bool:
        if report.samples is not None and not before:
            assert report.offsets is not None
            before.append(report.offsets.landed)
        return report.load.steps > 0

    report, came = run_until(spark, wanted, met)
    assert came, report
    assert before == [3]
    assert report.offsets is not None
    assert report.offsets.landed == 3
    assert report.load.late == 0


@pytest.mark.long
def test_model_that_cannot_write_is_restarted_without_loss_of_samples(
    spark: SparkSession,
    bootstrap: str,
    names: FreshNames,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    group, at = names.group(), TopicPartition(names.topic(1), 0)
    commit(bootstrap, group, {at: 0})
    wanted = options(bootstrap, tmp_path, group, offsets_topic=False)
    move, broken = Storage.move, threading.Event()

    def full(storage: Storage, name: str, to: str) -> None:
        if broken.is_set():
            raise PipelineError("the disk is full")
        move(storage, name, to)

    down: list[tuple[int, int]] = []  # samples and steps, as the model is first seen to be down
    up: list[int] = []  # steps at the end of that

    def met(report: PipelineReport) -> bool:
        assert report.samples is not None
        if not down and report.load.steps:
            broken.set()
        if not down and "load" in report.down:
            assert "the disk is full" in report.down["load"]
            down.append((report.samples.rows, report.load.steps))
        if down and report.samples.rows > down[0][0] + 2:
            broken.clear()
        if down and not broken.is_set() and not report.down:
            up.append(report.load.steps)
        return bool(up) and report.load.steps > down[0][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "move", full)
        report, came = run_until(spark, wanted, met)
    assert came, report
    assert report.down == {}
    assert any(
        "load: the query ended: the disk is full; trying again in 1 s" in line for line in caplog.messages
    )
    steps = read_load(spark, str(tmp_path))
    assert steps.count() == report.load.steps
    assert steps.count() == steps.dropDuplicates(["time"]).count()
    assert report.load.late == 0


@pytest.mark.long
def test_state_of_a_vanished_partition_is_dropped_after_the_given_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    wanted = PipelineOptions(
        str(tmp_path), {}, load=LoadSettings(), forget_s=3_600.0, sampler=False, offsets_topic=False
    )
    land(spark, tmp_path, [Look(60 * n, 5 * n, 0, partition=1) for n in range(10)])
    for hour in (2, 3, 4):
        land(spark, tmp_path, [Look(3_600 * hour, hour, 0), Look(540, 45, 0, partition=1)])
        report = run_pipeline(spark, wanted, stop=None, on_report=lambda _: None)
    assert report.load.refused == 1


@pytest.mark.long
def test_model_with_changed_settings_is_an_error_at_the_start(
    spark: SparkSession, bootstrap: str, names: FreshNames, tmp_path: Path
) -> None:
    group = names.group()
    commit(bootstrap, group, {TopicPartition(names.topic(1), 0): 0})
    wanted = options(bootstrap, tmp_path, group, offsets_topic=False)
    _, came = run_until(spark, wanted, lambda report: report.load.batches > 0)
    assert came
    other = replace(wanted, load=replace(LOAD, horizon_s=20.0))
    with pytest.raises(PipelineError, match=r"horizon_s 10\.0, not 20\.0"):
        run_until(spark, other, lambda _: False)
    assert spark.streams.active == [], "what recorded beside it has ended, too"


def test_recorder_with_a_damaged_checkpoint_is_an_error_at_the_start(
    spark: SparkSession, bootstrap: str, names: FreshNames, tmp_path: Path
) -> None:
    """A power failure may leave it so.  The pipeline must not try for ever, and record nothing."""
    group = names.group()
    commit(bootstrap, group, {TopicPartition(names.topic(1), 0): 0})
    wanted = replace(options(bootstrap, tmp_path, group, offsets_topic=False), load=None)
    _, came = run_until(spark, wanted, lambda report: report.samples is not None and report.samples.looks > 0)
    assert came
    for offsets in (tmp_path / "checkpoints" / "sampler" / "offsets").glob("[0-9]*"):
        offsets.write_text("")
    with pytest.raises(PipelineError, match="the checkpoint is damaged"):
        run_until(spark, wanted, lambda report: "samples" in report.down)
    assert spark.streams.active == []


@pytest.mark.long
def test_exception_of_the_callback_ends_the_pipeline(
    spark: SparkSession, bootstrap: str, names: FreshNames, tmp_path: Path
) -> None:
    group = names.group()
    commit(bootstrap, group, {TopicPartition(names.topic(1), 0): 0})
    wanted = options(bootstrap, tmp_path, group)

    def fail(report: PipelineReport) -> None:
        if report.samples is not None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run_pipeline(spark, wanted, stop=threading.Event(), on_report=fail)
    assert spark.streams.active == []


@pytest.mark.long
def test_restart_of_the_broker_loses_nothing(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After the restart all commits are recorded once, and the feed has caught up."""
    (port,) = free_ports(1)
    brokers = [start_broker("jars", data_dir=tmp_path / "broker", port=port)]
    bootstrap = brokers[0].bootstrap
    try:
        names = FreshNames(bootstrap)
        group, at, feed = names.group(), TopicPartition(names.topic(1), 0), names.group("feed")
        made: list[int] = []

        def work(records: int) -> None:
            for _ in range(records):
                write(bootstrap, {at: 2})
                made.append(len(made))
                commit(bootstrap, group, {at: made[-1]})

        work(3)
        root = str(tmp_path / "root")
        wanted = options(bootstrap, Path(root), group, feed_topic=feed)
        missed: list[int] = []  # looks, before it went away
        back: list[float] = []  # when, ms
        sent: list[int] = []  # forecasts until then

        def met(report: PipelineReport) -> bool:
            misses = sum(report.samples.misses.values()) if report.samples is not None else 0
            if not missed and report.fed:
                brokers[0].stop()
                missed.append(misses)
            elif missed and len(brokers) == 1 and misses > missed[0] + 1:
                brokers.append(start_broker("jars", data_dir=tmp_path / "broker", port=port))
                back.append(1000 * time.time())
                work(3)
                sent.append(report.fed)
            return bool(sent) and report.fed > sent[0] + 2 and not report.down and landed(report) == len(made)

        def landed(report: PipelineReport) -> int:
            return 0 if report.offsets is None else report.offsets.landed

        report, came = run_until(spark, wanted, met)
        assert came, report
        commits = read_samples(spark, root).where("source = 'offsets-topic'").select("committed_offset")
        assert sorted(row[0] for row in commits.collect()) == made
        steps = read_load(spark, root)
        assert steps.count() == steps.dropDuplicates(["time"]).count()
        warnings = [line for line in caplog.messages if line.startswith("the feed")]
        assert len(warnings) <= 1, "one warning an outage"
        [forecast] = fed(bootstrap, feed, group).values()
        assert forecast.time_ms > back[0]
    finally:
        brokers[-1].stop()


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)


def output_of_process(*arguments: object) -> Any:
    """Run a command in a process; return its output, which is JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "kafka_assignors", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,  # a Spark starts in it
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("recorded", [False, long(True)], ids=["at once", "after record"])
def test_run_once_processes_all_records_and_reports(
    bootstrap: str, names: FreshNames, tmp_path: Path, *, recorded: bool
) -> None:
    group, topic, root = names.group(), names.topic(1), tmp_path / "here"
    write(bootstrap, {TopicPartition(topic, 0): 7})
    commit(bootstrap, group, {TopicPartition(topic, 0): 4})
    options = [group, "--bootstrap", bootstrap, "--out", root, "--once", "--output", "json"]
    if recorded:
        assert_recorded(output_of_process("record", *options), commits=1)
    report = output_of_process("pipeline", "run", *options, "--no-feed")
    assert_recorded(report, commits=0 if recorded else 1)
    assert report["load"]["samples"] == (3 if recorded else 2)
    assert report["folder"] == str(root)


def assert_recorded(report: Any, *, commits: int) -> None:
    assert report["samples"] == {"looks": 1, "rows": 1, "misses": {}}
    assert report["offsets_topic"]["commits"] == commits
    assert report["offsets_topic"]["problems"] == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "--bootstrap", "h:1"], "no groups given: name some, or give --groups-like REGEX"),
        (["record", "g"], "bootstrap_servers: missing"),
        (
            ["pipeline", "run", "g", "--bootstrap", "h:1", "--step", "7"],
            "--step: expected seconds from 0.001 to 900 that divide a quarter of an hour, got 7",
        ),
        (
            ["pipeline", "run", "g", "--bootstrap", "h:1", "--horizon", "90"],
            "--horizon: expected 1 to 10,000 whole steps of 60 s, got 90",
        ),
        (["pipeline", "run", "g", "--bootstrap", "h:1", "--forget", "0"], "0 is not in the range x>=1"),
        (
            ["record", "g", "--bootstrap", "h:1", "--keep", "0d"],
            "expected a number of days such as 90d, got 0d",
        ),
        (["record", "g", "--bootstrap", "h:1", "--once", "--for", "5"], "--for has no effect with --once"),
        (["record", "g", "--bootstrap", "h:1", "--memory", "3x"], "'3x' is not a size such as 512m or 4g"),
        (["backtest", ".", "--memory", "lots"], "'lots' is not a size such as 512m or 4g"),
    ],
)
def test_invalid_option_is_a_usage_error(arguments: list[str], message: str) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.long
def test_unreachable_cluster_at_the_start_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    wanted = options(f"127.0.0.1:{port}", tmp_path, "g")
    with pytest.raises(PipelineError, match=r"no (Kafka )?broker answers"):
        run_pipeline(spark, wanted, stop=threading.Event(), on_report=lambda _: None)
    with pytest.raises(PipelineError, match=r"no (Kafka )?broker answers"):
        run_pipeline(spark, wanted, stop=None, on_report=lambda _: None)


def test_entry_point_for_spark_submit_is_a_file() -> None:
    result = command("pipeline", "entry")
    assert Path(result.output.strip()) == Path(pipeline.__file__).with_name("submit.py")
    assert Path(result.output.strip()).is_file()
