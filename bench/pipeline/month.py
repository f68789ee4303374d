"""``python -m bench.pipeline.month``: the files of a month of looks, with merging and ``--keep``.

Time is simulated.  Each look writes a file of few partitions and a list that names it, as Spark's file sink
does: every tenth list also names all earlier files, and only the last hundred lists stay.  The hourly
maintenance is the real one, at the simulated time.  The table has for each day: files of the day before that
readers open, files listed, files and bytes on disk, bytes of lists written that day, and the median seconds
of an hourly maintenance.

``--load 10000`` instead merges the load of one day of so many partitions, with steps of a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.machine import machine
from kafka_assignors.pipeline.maintenance.job import FILES, maintain
from kafka_assignors.pipeline.model.sink import read_load
from kafka_assignors.pipeline.session import local_session
from kafka_assignors.pipeline.tables.reading import MERGED
from kafka_assignors.pipeline.tables.schemas import LOAD
from tests.pipeline.samples import Look, samples_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
EVERY, KEPT = 10, 100
"""Every ``EVERY``-th list names all files; the last ``KEPT`` lists stay."""
HEAD = (
    "| day | files of the day before | listed | on disk | MB | MB of lists | maintenance |\n"
    + "|---:" * 7
    + "|"
)


class Writer:
    """Writes looks as Spark's file sink does, one a batch.

    Attributes:
        lists_bytes: bytes of all lists written, including those of the maintenance.
    """

    def __init__(self, root: Path, partitions: int) -> None:
        self.folder = root / "samples" / "sampler"
        self._lists = self.folder / "_spark_metadata"
        self._lists.mkdir(parents=True)
        one_look = samples_table(Look(0, 100, 90, partition=number) for number in range(partitions))
        pq.write_table(one_look, root / "look")
        self._look = (root / "look").read_bytes()
        self._batch = 0
        self.lists_bytes = 0

    def look(self, at: datetime) -> None:
        """Write the file of a look and the list that names it; remove the oldest list."""
        day = self.folder / f"date={at.date()}"
        day.mkdir(exist_ok=True)
        file = day / f"part-{self._batch:08d}.parquet"
        file.write_bytes(self._look)
        os.utime(file, (at.timestamp(), at.timestamp()))
        entry = {
            "path": file.as_uri(), "size": len(self._look), "isDir": False,
            "modificationTime": int(at.timestamp() * 1000), "blockReplication": 1, "blockSize": 33554432,
            "action": "add",
        }  # fmt: skip
        lines, name = [json.dumps(entry, separators=(",", ":"))], str(self._batch)
        if (self._batch + 1) % EVERY == 0:
            earlier = range(self._batch - EVERY + 1, self._batch)
            before = self._lists / f"{self._batch - EVERY}.compact"
            lists = [before, *(self._lists / str(batch) for batch in earlier)]
            earlier_lines = [path.read_text().split("\n")[1:] for path in lists if path.exists()]
            lines = [*chain.from_iterable(earlier_lines), *lines]
            name += ".compact"
        self.lists_bytes += (self._lists / name).write_text("\n".join(["v1", *lines]))
        old = self._batch - KEPT
        (self._lists / (f"{old}.compact" if (old + 1) % EVERY == 0 else str(old))).unlink(missing_ok=True)
        self._batch += 1

    def newest(self) -> str:
        """Return the text of the newest list of all files; empty if there is no list yet."""
        place = self._lists / f"{self._batch // EVERY * EVERY - 1}.compact"
        return place.read_text() if place.exists() else ""

    def maintain(self, spark: SparkSession, keep_days: int, files: int, now: datetime) -> None:
        """Run the maintenance of an hour until nothing is left to merge; date its files at ``now``."""
        has_more, root = True, str(self.folder.parent.parent)
        while has_more:
            before = self.newest()
            has_more = maintain(spark, root, keep_days=keep_days, files=files, now=now)
            if (text := self.newest()) != before:
                self.lists_bytes += len(text)
        for file in self.folder.glob(f"date=*/{MERGED}*"):
            if file.stat().st_mtime > now.timestamp():
                os.utime(file, (now.timestamp(), now.timestamp()))

    def listed(self) -> list[str]:
        """Return the paths in the newest list of all files."""
        return [unquote(json.loads(line)["path"]) for line in self.newest().split("\n")[1:]]


def merge_load(spark: SparkSession, root: Path, partitions: int) -> None:
    """Merge the load of one day, a file a minute; print the time, and files, bytes and time of a read."""
    draw = np.random.default_rng(1)
    day = root / "load" / f"date={START.date()}"
    day.mkdir(parents=True)
    (root / "checkpoints" / "load" / "commits").mkdir(parents=True)
    (root / "checkpoints" / "load" / "commits" / "1440").touch()
    schema = spark.createDataFrame([], LOAD).drop("date").toArrow().schema
    wholes, reals = ("arrived", "served", "lag"), ("arrival_rate", "service_rate", "level", "forecast")
    for minute in range(1440):
        given = {
            "time": [START + timedelta(minutes=minute)] * partitions,
            "group": ["a group"] * partitions,
            "topic": ["a topic"] * partitions,
            "partition": range(partitions),
            "quality": ["ok"] * partitions,
            **{name: draw.integers(0, 10_000, partitions) for name in wholes},
            **{name: draw.random(partitions) for name in reals},
        }
        columns = [pa.array(given.get(field.name, [60.0] * partitions), field.type) for field in schema]
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), day / f"part-{minute:09d}-0.parquet")
    print("| | files | MB | sum of a column |\n|---|---:|---:|---:|")
    for state in ("small files", "merged"):
        files = list(day.glob("*.parquet"))
        began = time.perf_counter()
        read_load(spark, str(root)).agg({"arrived": "sum"}).collect()
        seconds = time.perf_counter() - began
        megabytes = sum(file.stat().st_size for file in files) / 1e6
        print(f"| {state} | {len(files):,} | {megabytes:,.1f} | {seconds:.1f} s |")
        began = time.perf_counter()
        while maintain(spark, str(root), now=START + timedelta(days=2)):
            pass  # the run after a merge deletes the small files
        if state == "small files":
            print(f"merged in {time.perf_counter() - began:.1f} s", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.month", description=__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--keep", type=int, default=14, help="days")
    parser.add_argument("--every", type=int, default=10, help="seconds from look to look")
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--load", type=int, metavar="PARTITIONS", help="merge a day of the load instead")
    options = parser.parse_args(arguments)
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    files = min(FILES, 3600 // options.every)
    with (
        tempfile.TemporaryDirectory(prefix="bench-month-") as place,
        local_session("month bench", cores=1) as spark,
    ):
        if options.load:
            merge_load(spark, Path(place), options.load)
            return
        writer = Writer(Path(place), options.partitions)
        print(HEAD)
        for day in range(options.days):
            seconds, lists_before = [], writer.lists_bytes
            for hour in range(24):
                since = START + timedelta(days=day, hours=hour)
                for second in range(0, 3600, options.every):
                    writer.look(since + timedelta(seconds=second))
                began = time.perf_counter()
                writer.maintain(spark, options.keep, files, since + timedelta(hours=1))
                seconds.append(time.perf_counter() - began)
            paths = writer.listed()
            yesterday = f"date={(START + timedelta(days=day - 1)).date()}/"
            disk = [file.stat().st_size for file in writer.folder.glob("date=*/*.parquet")]
            print(
                f"| {day + 1} | {sum(yesterday in path for path in paths)} | {len(paths)} | {len(disk):,} "
                f"| {sum(disk) / 1e6:.1f} | {(writer.lists_bytes - lists_before) / 1e6:.1f} "
                f"| {median(seconds):.2f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
