"""``python -m bench.pipeline.record``: rows/s of decoding and of recording ``__consumer_offsets``.

The records are synthetic, in the broker's format (versions 3 and 4, one in 50 a tombstone, one in 50 a
group's state), in Parquet files with the columns of Spark's Kafka source.  *reading* reads them and sums up
the lengths of key and value.  *decoding* decodes them, counts problems, and sums up the decoded values, so
that Spark cannot skip any.  Both are medians of several runs after a first one.  The size grows tenfold
twice.  The cost is linear if the last column stays the same.

*recording* runs once a size: a stream with a checkpoint reads the same records from a topic of a development
broker, decodes and counts them, and lands them as Parquet, as ``kafka-assignors record`` does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.machine import machine
from bench.timing import times
from kafka_assignors.broker import development_broker
from kafka_assignors.pipeline.record.offsets import decode, record_offsets_once
from kafka_assignors.pipeline.record.offsets_decoder import Groups
from kafka_assignors.pipeline.session import local_session
from tests.support.offsets.records import commit_key, commit_value, text

SIZES = (100_000, 1_000_000, 10_000_000)
_GROUP = b"\x00\x02" + text("group-1")
PARTITIONS = 8
HEAD = ["records", "cores", "reading", "decoding", "records/s and core"]
RECORDED = ["records", "cores", "recording", "records/s"]


def main(arguments: list[str]) -> None:
    """Measure all sizes and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.record", description=__doc__)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="records; larger sizes are left out")
    parser.add_argument("--most-recorded", type=int, default=SIZES[1], help="likewise for recordings")
    given = parser.parse_args(arguments)
    print("machine:", ", ".join(f"{name} {value}" for name, value in machine().items()))
    print(" | ".join(HEAD), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sizes = [size for size in SIZES if size <= given.most]
        for cores in given.cores:
            with local_session("bench", cores=cores) as spark:
                for size in sizes:
                    path = str(Path(folder, str(size)))
                    if not Path(path).exists():
                        records(spark, size).write.parquet(path)
                    print(" | ".join(_row(spark, path, size, cores, given.runs)), flush=True)
    print(" | ".join(RECORDED), flush=True)
    for cores in given.cores:
        with (
            tempfile.TemporaryDirectory() as folder,
            development_broker(properties={"num.partitions": PARTITIONS}) as broker,
            local_session("bench", cores=cores) as spark,
        ):
            for size in [size for size in SIZES if size <= given.most_recorded]:
                seconds = recorded(spark, broker.bootstrap, folder, size)
                print(f"{size:,} | {cores} | {seconds:.2f} s | {size / seconds:,.0f}", flush=True)


def recorded(spark: Any, bootstrap: str, folder: str, size: int) -> float:
    """Return the seconds of a recording, with this many records in the topic."""
    topic, settings = f"offsets-{size}", {"bootstrap_servers": [bootstrap]}
    kafka = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    records(spark, size).select("key", "value").write.format("kafka").options(**kafka).save()
    began = time.perf_counter()
    report = record_offsets_once(spark, settings, f"{folder}/{size}", groups_like=".*", topic=topic)
    seconds = time.perf_counter() - began
    assert (report.records, dict(report.problems)) == (size, {})
    return seconds


def records(spark: Any, size: int) -> Any:
    """Return records of 100 groups with 20 partitions of 5 topics each."""
    from pyspark.sql import functions as F

    names = [(group, topic, p) for group in range(100) for topic in range(5) for p in range(20)]
    keys = spark.createDataFrame(
        [
            (n, bytearray(commit_key(f"group-{group}", f"topic-{topic}", p)))
            for n, (group, topic, p) in enumerate(names)
        ],
        "k long, key binary",
    )
    values = spark.createDataFrame(
        [(n, bytearray(commit_value(1_000_000 + n, version=3 + n % 2))) for n in range(1000)],
        "v long, value binary",
    )
    kind = F.col("id") % 50
    return (
        spark.range(size)
        .withColumn("k", F.col("id") % len(names))
        .withColumn("v", F.col("id") % 1000)
        .join(F.broadcast(keys), "k")
        .join(F.broadcast(values), "v")
        .select(
            F.when(kind == 1, F.lit(bytearray(_GROUP))).otherwise(F.col("key")).alias("key"),
            F.when(kind != 0, F.col("value")).alias("value"),
            F.lit("__consumer_offsets").alias("topic"),
            (F.col("id") % 50).cast("int").alias("partition"),
            F.col("id").alias("offset"),
            F.timestamp_millis(F.lit(1_760_000_000_000) + F.col("id")).alias("timestamp"),
        )
    )


def _row(spark: Any, path: str, size: int, cores: int, runs: int) -> list[str]:
    from pyspark.sql import functions as F

    whole = spark.read.parquet(path)

    def reading() -> None:
        totals = whole.agg(F.sum(F.length("key")), F.sum(F.length("value")), F.count("*")).first()
        assert totals[2] == size

    def decoding() -> None:
        totals = (
            decode(whole, Groups(frozenset()))
            .agg(
                F.count("*"),
                F.count("problem"),
                F.sum("committed_offset"),
                F.sum(F.length("group") + F.length("topic") + F.col("partition")),
                F.max("time"),
            )
            .first()
        )
        assert (totals[0], totals[1]) == (size, 0)

    read_s, decode_s = (median(times(call, runs + 1)[1:]) for call in (reading, decoding))
    rate = size / (decode_s * cores)
    return [f"{size:,}", str(cores), f"{read_s:.2f} s", f"{decode_s:.2f} s", f"{rate:,.0f}"]


if __name__ == "__main__":
    main(sys.argv[1:])
