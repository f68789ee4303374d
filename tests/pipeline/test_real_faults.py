"""Faults of the machine, not of a test double: no space for a file, and a second process on a folder."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import read_load
from kafka_assignors.pipeline.record.samples import record_samples_once
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit
from tests.pipeline.killing import PATIENCE_S, done, program
from tests.pipeline.model.process import SETTINGS
from tests.pipeline.record.busy_topic import PARTITIONS as TOPIC_PARTITIONS
from tests.pipeline.record.busy_topic import looks_of, writing
from tests.pipeline.samples import Look, load_rows, write_file
from tests.support.waiting import until

pytestmark = pytest.mark.long

PARTITIONS = 40
CLASH = "another run writes to this folder"


@contextmanager
def no_file_longer_than(spark: SparkSession, size: int) -> Iterator[None]:
    """Let the kernel refuse to write files of Spark's JVM past a size, as a full disk refuses."""
    java = psutil.Process(spark.sparkContext._gateway.proc.pid)
    before = java.rlimit(resource.RLIMIT_FSIZE)
    java.rlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        java.rlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [100, 3_000])
def test_model_goes_on_where_it_was_when_the_disk_has_space_again(
    spark: SparkSession, tmp_path: Path, size: int
) -> None:
    """The checkpoint cannot be written, or the state."""

    def file(number: int) -> None:
        looks = [
            Look(60 * minute + p / 10, 7 * minute * p, 6 * minute * p, partition=p)
            for minute in range(5 * number, 5 * number + 5)
            for p in range(PARTITIONS)
        ]
        write_file(tmp_path, "import", number, looks)

    file(0)
    run_load_model(spark, str(tmp_path), SETTINGS, available_now=True)
    file(1)
    with no_file_longer_than(spark, size), pytest.raises(PipelineError) as caught:
        run_load_model(spark, str(tmp_path), SETTINGS, available_now=True)
    assert str(caught.value) == (
        f"the load model of {tmp_path}: the disk is full, or a quota or limit is reached: make room; "
        "finished batches are kept"
    )
    file(2)
    run_load_model(spark, str(tmp_path), SETTINGS, available_now=True)
    expected = load_rows(model_load(read_samples(spark, str(tmp_path)), SETTINGS, flush=False))
    assert load_rows(read_load(spark, str(tmp_path))) == expected


def test_two_samplers_of_one_folder_land_each_look_once(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    """One of them writes, the other one says so and tries again."""
    names = FreshNames(bootstrap)
    group, topic = names.group(), names.topic(TOPIC_PARTITIONS)
    commit(bootstrap, group, {TopicPartition(topic, p): 0 for p in range(TOPIC_PARTITIONS)})
    settings, root, logs = {"bootstrap_servers": [bootstrap]}, tmp_path / "root", tmp_path / "logs"
    given = tmp_path / "settings.json"
    given.write_text(json.dumps(settings), encoding="utf-8")
    process = ["tests.pipeline.record.sampling_process", "record", str(given), str(root), group]
    with writing(bootstrap, topic), program(logs / "a", *process), program(logs / "b", *process):

        def has_met() -> bool:
            return any(CLASH in (logs / name / "log").read_text() for name in "ab")

        until(lambda: has_met() and done(root, "sampler") > 20, "both to write", patience_s=PATIENCE_S)
    for _ in range(2):  # the first time is for the batch that was cut short, which may have landed already
        record_samples_once(spark, settings, str(root), groups=[group])
    looks = looks_of(read_samples(spark, str(root)))
    assert len(looks) == done(root, "sampler")
    assert all(look.keys() == set(range(TOPIC_PARTITIONS)) for look in looks)
    assert [look[0] for look in looks] == sorted(look[0] for look in looks)
