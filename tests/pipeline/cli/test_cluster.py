"""The command line under ``spark-submit``, on Spark's own master and worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.pipeline.tables.importing import import_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write
from tests.integration.reading import all_records
from tests.pipeline.cli.cluster import Cluster, standalone_cluster

pytestmark = pytest.mark.long

LOOKS = 240


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path) as found:
        yield found


def past(group: str, topic: str) -> list[dict[str, Any]]:
    """Return two hours of samples up to now: 10 records a minute, with a lag of 100 records."""
    now = datetime.now(timezone.utc)
    return [
        {
            "time": (now - timedelta(seconds=30 * (LOOKS - look))).isoformat(),
            "group": group,
            "topic": topic,
            "partition": partition,
            "begin_offset": 0,
            "end_offset": 100 + 5 * look,
            "committed_offset": 5 * look,
        }
        for look in range(LOOKS)
        for partition in range(2)
    ]


def test_pipeline_and_back_test_run_on_a_cluster(
    spark: SparkSession, cluster: Cluster, bootstrap: str, tmp_path: Path
) -> None:
    """The pipeline records, models and feeds; the back-test reads its load."""
    names = FreshNames(bootstrap)
    group, topic = names.group(), names.topic(2)
    tps = [TopicPartition(topic, partition) for partition in range(2)]
    write(bootstrap, dict.fromkeys(tps, 100 + 5 * LOOKS))
    commit(bootstrap, group, dict.fromkeys(tps, 5 * LOOKS))
    root, feed = tmp_path / "pipeline", names.group("feed")
    import_samples(spark, past(group, topic), str(root))

    words = f"pipeline run {group} --bootstrap {bootstrap} --out {root} --once --feed {feed} --output json"
    report = cluster.report_of(*words.split(), cwd=tmp_path)
    assert report["samples"] == {"looks": 1, "rows": 2, "misses": {}}
    assert report["offsets_topic"]["commits"] == 2
    assert report["load"]["samples"] == 2 * LOOKS + 4
    assert report["load"]["steps"] > LOOKS / 2
    assert report["feed"]["failed_batches"] == 0
    keys = {record.key for record in all_records(bootstrap, feed)}
    assert keys == {json.dumps([group, tp.topic, tp.partition], separators=(",", ":")).encode() for tp in tps}

    words = f"backtest {root} --strategies range,cooperative-sticky --service-rate 10 --members 2"
    tried = cluster.report_of(*words.split(), "--output", "json", "--out", "results", cwd=tmp_path)
    assert tried["run"]["failed"] == 0
    assert {candidate["strategy"] for candidate in tried["candidates"]} == {"range", "cooperative-sticky"}
    assert tried["report"] == "results/report.html"
    assert (tmp_path / "results" / "results.parquet").exists()
    programs = list((tmp_path / "work").glob("app-*"))
    assert len(programs) == 2, "the work of both was done by the cluster's worker"


def test_submit_without_the_connector_is_an_error_with_a_remedy(
    cluster: Cluster, bootstrap: str, tmp_path: Path
) -> None:
    words = f"record g --from offsets-topic --bootstrap {bootstrap} --out {tmp_path / 'x'} --once"
    done = cluster.submit(*words.split(), cwd=tmp_path, jars=())
    assert done.returncode == 1
    # spark-submit writes a program's stderr to its own stdout.
    errors = [line for line in done.stdout.splitlines() if line.startswith("kafka-assignors: ")]
    assert len(errors) == 1
    assert "this Spark has no Kafka connector" in errors[0]
