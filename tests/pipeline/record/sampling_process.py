"""Programs that tests run in other processes, in order to kill them or to read their output."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.maintenance.job import maintain
from kafka_assignors.pipeline.record.offsets import record_offsets
from kafka_assignors.pipeline.record.sampler import NAME, group_samples
from kafka_assignors.pipeline.record.samples import record_samples
from kafka_assignors.pipeline.restarting_query import RestartingQuery
from kafka_assignors.pipeline.session import local_session

LOOK_EVERY_S = 0.2
MERGED_AT_ONCE = 5


def record(settings: dict[str, Any], root: str, group: str) -> None:
    """Sample a group until killed."""
    with local_session("recording", cores=1, memory="512m") as spark:
        _keep(
            lambda: record_samples(spark, settings, root, groups=[group], every_s=LOOK_EVERY_S, timeout_s=30),
            lambda: maintain(spark, root, files=MERGED_AT_ONCE),
        )


def record_commits(settings: dict[str, Any], root: str, groups: str) -> None:
    """Record the commits of some groups (a JSON list) until killed, without pauses between batches."""
    with local_session("recording commits", cores=2, memory="512m") as spark:
        _keep(
            lambda: record_offsets(spark, settings, root, groups=json.loads(groups), every_s=0),
            lambda: maintain(spark, root, files=MERGED_AT_ONCE),
        )


def _keep(start: Callable[[], Any], tidy: Callable[[], Any]) -> None:
    # On a busy machine Spark may fail the stream, because it waits too briefly for a Python worker.
    recording = RestartingQuery("recording", start)
    while True:
        recording.check()
        with contextlib.suppress(PipelineError):  # a list that Spark deletes while it is read
            tidy()
        time.sleep(0.1)


def tell_all(settings: dict[str, Any], root: str, group: str, topic: str) -> None:
    """Read with both sources, as a batch and as a stream, with Spark's log at INFO and its event log."""
    events = Path(root, "events")
    events.mkdir()
    talkative = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",  # so that a test can read it
        "spark.eventLog.dir": events.as_uri(),
    }
    with local_session("talking", cores=2, settings=talkative) as spark:
        spark.sparkContext.setLogLevel("INFO")
        spark.dataSource.register(group_samples(settings))
        kafka = {**connector_options(settings), "subscribe": topic, "startingOffsets": "earliest"}
        for reading, written, name in ((spark.read, False, "batch"), (spark.readStream, True, "stream")):
            sampled = reading.format(NAME).option("groups", json.dumps([group])).load()
            read = reading.format("kafka").options(**kafka).load()
            for number, rows in enumerate((sampled, read)):
                rows.explain(True)
                rows.printSchema()
                if not written:
                    sys.stdout.write(f"{name} {number}: {rows.count()}\n")
                    continue
                query = (
                    rows.writeStream.format("parquet")
                    .option("path", f"{root}/out{number}")
                    .option("checkpointLocation", f"{root}/checkpoint{number}")
                    .trigger(availableNow=True)
                    .start()
                )
                query.awaitTermination()
                query.explain(True)
                sys.stdout.write(f"{query.lastProgress.json}\n")
                landed = spark.read.parquet(f"{root}/out{number}").count()
                sys.stdout.write(f"{name} {number}: {landed}\n")


if __name__ == "__main__":
    what, given, *rest = sys.argv[1:]
    known: dict[str, Callable[..., None]] = {
        task.__name__: task for task in (record, record_commits, tell_all)
    }
    known[what](json.loads(Path(given).read_text(encoding="utf-8")), *rest)
