"""Samples as tables, and folders of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_assignors.pipeline.feed.feed import Feed, newest_records
from kafka_assignors.pipeline.tables.schemas import SAMPLE_COLUMNS, SAMPLES

START = 1_384_000_200  # s; 2013-11-09 12:30:00 UTC


class Look(NamedTuple):
    """One sample; ``after`` in seconds after the start."""

    after: float
    end: int | None = None
    committed: int | None = None
    begin: int | None = 0
    partition: int = 0
    group: str = "g"
    topic: str = "t"


def samples_df(spark: SparkSession, looks: Iterable[Look]) -> DataFrame:
    """A table of samples."""
    rows = []
    for look in looks:
        time = datetime.fromtimestamp(START + look.after, timezone.utc)
        where = (look.group, look.topic, look.partition)
        rows.append((time, *where, look.begin, look.end, look.committed, "import", time.date()))
    return spark.createDataFrame(rows, SAMPLES)


def land(spark: SparkSession, root: Path, looks: Iterable[Look], writer: str = "import") -> None:
    """Add samples to a pipeline's folder."""
    rows = samples_df(spark, looks).coalesce(1)
    rows.write.mode("append").partitionBy("date").parquet(str(root / "samples" / writer))


def samples_table(looks: Iterable[Look], source: str = "import") -> pa.Table:
    """Write samples without Spark and without folders for dates."""
    rows = [(datetime.fromtimestamp(START + look.after, timezone.utc), look) for look in looks]
    columns: dict[str, pa.Array] = {
        "time": pa.array([time for time, _ in rows], pa.timestamp("us", "UTC")),
        "group": pa.array([look.group for _, look in rows]),
        "topic": pa.array([look.topic for _, look in rows]),
        "partition": pa.array([look.partition for _, look in rows], pa.int32()),
        "begin_offset": pa.array([look.begin for _, look in rows], pa.int64()),
        "end_offset": pa.array([look.end for _, look in rows], pa.int64()),
        "committed_offset": pa.array([look.committed for _, look in rows], pa.int64()),
        "source": pa.array([source] * len(rows)),
    }
    return pa.table(columns)


def samples_stream(spark: SparkSession, files: str, **options: Any) -> DataFrame:
    """Return a stream of the samples in these files, which have no column ``date``."""
    types = ", ".join(f"`{name}` {kind}" for name, kind in SAMPLE_COLUMNS.items() if name != "date")
    stream = spark.readStream.schema(types).options(**options).parquet(files)
    return stream.withColumn("date", F.to_date("time"))


def write_file(root: Path, writer: str, number: int, looks: Iterable[Look]) -> Path:
    """Land a whole file of samples of the first day.  A lower number makes it older."""
    folder = root / "samples" / writer / "date=2013-11-09"
    folder.mkdir(parents=True, exist_ok=True)
    hidden, file = folder / f".{number}", folder / f"part-{number:05d}.parquet"
    pq.write_table(samples_table(looks, writer), hidden)
    os.utime(hidden, (START + number, START + number))
    return hidden.rename(file)


def cut(file: Path) -> None:
    """Cut a file to its first half, as an interrupted copy does."""
    data = file.read_bytes()
    overwrite(file, data[: len(data) // 2])


def empty(file: Path) -> None:
    """Empty a file."""
    overwrite(file, b"")


def overwrite(file: Path, data: bytes) -> None:
    """Replace the content of a file without its checksum, which would reveal the change."""
    file.write_bytes(data)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def keep(root: Path) -> Path:
    """Copy a folder, so that each test can `restore` it instead of making it."""
    shutil.copytree(root, _kept(root))
    return root


def restore(root: Path) -> Path:
    """Replace a folder by its copy.  It keeps its path, because checkpoints have absolute paths."""
    shutil.rmtree(root)
    shutil.copytree(_kept(root), root)
    return root


def _kept(root: Path) -> Path:
    return root.with_name(f"{root.name}-kept")


def publish(feed: Feed, load: DataFrame) -> int:
    """Write the newest forecasts among rows of load; return the number of records."""
    return feed.write(newest_records(load))


def load_rows(load: DataFrame) -> list[tuple[Any, ...]]:
    """All rows in a fixed order, times in seconds after the start."""
    seconds = (F.unix_micros("time") / 1e6 - START).alias("time")
    names: list[Any] = ["group", "topic", "partition", seconds, *load.columns[5:], "step_s"]
    return sorted(tuple(row) for row in load.select(*names).collect())
