"""``python -m bench.pipeline.sampler``: rows/s of the sampler, by groups and partitions of each.

Uses its own development broker.  All groups have a commit in every partition of one topic, and no members.
*asking*: the requests alone, in this process and over one new connection.  *Spark*: the embedded Spark reads
the data source to its end into the ``noop`` sink, with as many tasks as cores.  Figures are medians, but for
Spark's first run, which has a column of its own.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from bench.lag.fetching import more_heap
from bench.machine import machine
from bench.timing import times
from kafka_assignors.broker import development_broker
from kafka_assignors.lag.fetch.group_offsets import fetch_groups
from kafka_assignors.pipeline.record.sampler import NAME, group_samples
from kafka_assignors.pipeline.record.sampling import SamplerOptions
from kafka_assignors.pipeline.session import local_session
from kafka_assignors.plan import TopicPartition
from tests.integration.lagging import commit_by

SIZES = ((10, 100), (100, 100), (10, 1_000), (1_000, 100))
TIMEOUT_S = 600.0
HEAD = ["groups x partitions", "rows", "asking", "rows/s", "Spark, first", "Spark", "rows/s"]


def main(arguments: list[str]) -> None:
    """Measure all sizes and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.sampler", description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most-rows", type=int, default=100_000, help="larger sizes are left out")
    given = parser.parse_args(arguments)
    print("machine:", ", ".join(f"{name} {value}" for name, value in machine().items()))
    print(f"{given.cores} cores for Spark, {given.runs} runs")
    print(" | ".join(HEAD), flush=True)
    with (
        more_heap(),
        development_broker("jars", properties={"num.partitions": 1}) as broker,
        local_session("bench", cores=given.cores) as spark,
    ):
        settings = {"bootstrap_servers": [broker.bootstrap]}
        spark.dataSource.register(group_samples(settings))
        for groups, partitions in SIZES:
            if groups * partitions > given.most_rows:
                continue
            names = _commit_everywhere(broker.bootstrap, groups, partitions)
            print(" | ".join(_row(spark, settings, names, partitions, given)), flush=True)


def _row(
    spark: Any, settings: dict[str, Any], names: tuple[str, ...], partitions: int, given: argparse.Namespace
) -> list[str]:
    rows = len(names) * partitions

    def asking() -> None:
        groups = list(fetch_groups(settings, names, TIMEOUT_S * 1000))
        assert sum(len(group.offsets) for group in groups) == rows

    wanted = SamplerOptions(names, timeout_s=TIMEOUT_S, num_partitions=given.cores)
    source = spark.read.format(NAME).options(**wanted.as_options())

    def reading() -> None:
        source.load().write.format("noop").mode("overwrite").save()

    # The sink discards the rows, so check them once before the measurement.
    assert source.load().where("problem is null and end_offset = 1").count() == rows
    alone = median(times(asking, given.runs))
    first, *later = times(reading, given.runs + 1)
    spark_s = median(later)
    return [
        f"{len(names):,} x {partitions:,}",
        *(f"{rows:,}", f"{alone:.2f} s", f"{rows / alone:,.0f}"),
        *(f"{first:.2f} s", f"{spark_s:.2f} s", f"{rows / spark_s:,.0f}"),
    ]


def _commit_everywhere(bootstrap: str, groups: int, partitions: int) -> tuple[str, ...]:
    topic = f"bench-{groups}-{partitions}"
    with (
        KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=60_000) as admin,
        KafkaProducer(bootstrap_servers=bootstrap) as producer,
    ):
        admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
        for p in range(partitions):
            producer.send(topic, b"x", partition=p)
        producer.flush()
        names = tuple(f"{topic}-{n}" for n in range(groups))
        for name in names:
            commit_by(admin, name, {TopicPartition(topic, p): 0 for p in range(partitions)})
    return names


if __name__ == "__main__":
    main(sys.argv[1:])
