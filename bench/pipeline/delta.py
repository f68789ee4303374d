"""``python -m bench.pipeline.delta``: the samples of looks, recorded as this package does and in Delta Lake.

A stream reads files of one look each, and writes them with `land_stream`, or to a Delta table with the same
folders of dates.  Then the small files are merged (by the hourly maintenance, by ``OPTIMIZE``), and all
samples are counted before and after.  The two take turns.  Prints the median seconds of a batch, the seconds
of the other steps, and the files and bytes on disk.  The jars of Delta Lake come from Maven Central.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from pyspark.sql import functions as F

from bench.machine import machine
from bench.timing import timed
from kafka_assignors.broker.jars.download import download
from kafka_assignors.broker.jars.lock import Jar
from kafka_assignors.pipeline import read_samples
from kafka_assignors.pipeline.maintenance.job import maintain
from kafka_assignors.pipeline.session import local_session
from kafka_assignors.pipeline.tables.landing import land_stream
from kafka_assignors.pipeline.tables.schemas import SAMPLE_COLUMNS
from tests.pipeline.samples import Look, samples_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WRITER = "sampler"
JARS = (
    "io.delta:delta-kernel-api:4.4.0",
    "io.delta:delta-kernel-defaults:4.4.0",
    "io.delta:delta-kernel-unitycatalog:4.4.0",
    "io.delta:delta-spark_4.2_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
    "io.unitycatalog:unitycatalog-client:0.6.0",
)
SETTINGS = {
    # Local values.  With the defaults each append of a small table takes seconds.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def delta_jars(into: Path) -> str:
    """Download the jars of Delta Lake; return their paths as Spark takes them."""
    get = download(into)
    named = (name.split(":") for name in JARS)
    return ",".join(str(get(Jar(group, artifact, version, sha256=""))) for group, artifact, version in named)


class Ours:
    """Records with this package."""

    name = "this package"

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self._spark, self.root = spark, root

    def land(self, samples: DataFrame) -> StreamingQuery:
        """Start a stream that writes all looks there are."""
        return land_stream(samples, str(self.root), WRITER, available_now=True)

    def merge(self) -> None:
        """Merge the small files."""
        maintain(self._spark, str(self.root), files=2)

    def read(self) -> DataFrame:
        """Return all samples."""
        return read_samples(self._spark, str(self.root))


class Delta:
    """Records in a Delta table."""

    name = "Delta Lake"

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self._spark, self.root = spark, root
        self._table = str(root / "samples")

    def land(self, samples: DataFrame) -> StreamingQuery:
        """Start a stream that writes all looks there are."""
        return (
            samples.select(*SAMPLE_COLUMNS)
            .repartition(1)
            .writeStream.format("delta")
            .partitionBy("date")
            .option("checkpointLocation", str(self.root / "checkpoint"))
            .trigger(availableNow=True)
            .start(self._table)
        )

    def merge(self) -> None:
        """Merge the small files."""
        self._spark.sql(f"OPTIMIZE delta.`{self._table}`")

    def read(self) -> DataFrame:
        """Return all samples."""
        return self._spark.read.format("delta").load(self._table)


def measure(spark: SparkSession, store: Ours | Delta, looks: str, partitions: int) -> list[float]:
    """Return seconds: the median batch, a count, the merge, a count of the merged files."""
    schema = spark.read.parquet(looks).schema
    looks_alone = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(looks)
    samples = looks_alone.withColumn("date", F.to_date("time"))
    query = store.land(samples)
    query.awaitTermination()
    batches = [
        progress["durationMs"]["triggerExecution"] / 1000
        for progress in query.recentProgress
        if progress["numInputRows"] == partitions
    ]
    counts = [timed(lambda: store.read().count())]
    merge = timed(store.merge)
    counts.append(timed(lambda: store.read().count()))
    return [median(batches), counts[0], merge, counts[1]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.delta", description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--looks", type=int, default=90, help="Spark remembers the last hundred batches")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    with (
        tempfile.TemporaryDirectory(prefix="bench-delta-") as place,
        local_session(
            "delta bench", cores=2, settings={**SETTINGS, "spark.jars": delta_jars(Path(place, "jars"))}
        ) as spark,
    ):
        looks = Path(place, "looks")
        looks.mkdir()
        for number in range(options.looks):
            rows = (Look(10 * number, 100 * number, 90, partition=p) for p in range(options.partitions))
            pq.write_table(samples_table(rows), looks / f"{number:05d}.parquet")
        print("| | batch | count | merge | count, merged | files | MB |\n| --- |" + " ---: |" * 6)
        for run in range(options.repeat):
            for make in (Ours, Delta):
                store = make(spark, Path(place, f"{run}-{make.__name__}"))
                seconds = measure(spark, store, str(looks), options.partitions)
                files = [file.stat().st_size for file in store.root.glob("samples/**/*.parquet")]
                cells = [f"{value:.2f} s" for value in seconds]
                print(
                    f"| {store.name} | {' | '.join(cells)} | {len(files)} | {sum(files) / 1e6:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
