"""The command line under ``spark-submit``, on Spark's own master and worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write
from tests.spark.cluster import Cluster, standalone_cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path) as found:
        yield found


def test_the_pipeline_runs_on_a_cluster(cluster: Cluster, bootstrap: str, tmp_path: Path) -> None:
    names = FreshNames(bootstrap)
    group, topic = names.group(), names.topic(2)
    write(bootstrap, {TopicPartition(topic, 0): 5, TopicPartition(topic, 1): 3})
    commit(bootstrap, group, {TopicPartition(topic, 0): 4, TopicPartition(topic, 1): 3})
    feed = names.group("feed")
    done = cluster.submit(
        *("pipeline", "run", group, "--bootstrap", bootstrap, "--out", str(tmp_path / "pipeline")),
        *("--once", "--feed", feed, "--output", "json"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told["samples"] == {"looks": 1, "rows": 2, "misses": {}}
    assert told["offsets_topic"]["commits"] == 2
    assert told["load"]["samples"] == 4
    assert told["feed"] == {"sent": 0, "failed_batches": 0}, "no step is over yet"
    executors = list((tmp_path / "work").glob("app-*/*"))
    assert executors, "the work was done by the cluster's worker"


def test_a_submit_without_the_connector_says_so(cluster: Cluster, bootstrap: str, tmp_path: Path) -> None:
    done = cluster.submit(
        *("record", "g", "--from", "offsets-topic", "--bootstrap", bootstrap, "--out", str(tmp_path / "x")),
        "--once",
        cwd=tmp_path,
        jars=(),
    )
    assert done.returncode == 1
    # spark-submit puts what a program writes to stderr into its own stdout.
    said = [line for line in done.stdout.splitlines() if line.startswith("kafka-assignors: ")]
    assert len(said) == 1
    assert "this Spark has no Kafka connector" in said[0]
