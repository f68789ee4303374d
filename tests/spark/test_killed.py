"""The load model is killed in the middle of batches, and goes on where it was: no sample lost, none twice."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_assignors.spark.load_job import run_load_model
from kafka_assignors.spark.load_sink import read_load
from tests.spark.killing import done, kill_at, program, under_way
from tests.spark.model_process import SETTINGS
from tests.spark.samples import START, load_rows

MODEL = "load"  # the name of its stream
PARTITIONS = 6
FILES = 60
LOOKS_PER_FILE = 6
EVERY = 20  # s of the samples' time between two looks


def files_of_samples() -> list[pa.Table]:
    """Two hours of a group, cut into files; each look is in one of them, a few of them in two."""
    chance = random.Random(11)
    ends, committed = [0] * PARTITIONS, [0] * PARTITIONS
    files = []
    for n in range(FILES):
        rows = []
        for k in range(LOOKS_PER_FILE):
            for p in range(PARTITIONS):
                ends[p] += chance.randrange(50)
                committed[p] = min(ends[p], committed[p] + chance.randrange(52))
                after = EVERY * (n * LOOKS_PER_FILE + k) + p
                when = datetime.fromtimestamp(START + after, timezone.utc)
                rows.append((when, "g", "t", p, 0, ends[p], committed[p], "import"))
        rows += chance.sample(rows, 3)
        names = ["time", "group", "topic", "partition", "begin_offset", "end_offset", "committed_offset"]
        table = pa.table(dict(zip([*names, "source"], map(list, zip(*rows, strict=True)), strict=True)))
        files.append(table.set_column(3, "partition", table["partition"].cast(pa.int32())))
    return files


def land(root: Path, number: int, table: pa.Table) -> None:
    """Put a file where the model looks, whole at once, as a sink does."""
    folder = root / "samples" / "import" / "date=2013-11-09"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / f".{number}")
    (folder / f".{number}").rename(folder / f"part-{number:05d}.parquet")


def planned(root: Path) -> bool:
    """A batch has begun."""
    return bool(under_way(root, MODEL))


def staged(root: Path) -> bool:
    """Its rows are being written, aside."""
    return any((root / "load").glob("_staged-*/**/*.parquet")) and planned(root)


def moved(root: Path) -> bool:
    """Its rows have landed, and Spark does not know it yet."""
    return any(
        any((root / "load").glob(f"date=*/part-{batch:09d}-*.parquet")) for batch in under_way(root, MODEL)
    )


@contextlib.contextmanager
def landing(root: Path, files: list[pa.Table]) -> Iterator[list[int]]:
    """Land the next file whenever the model is done with those before it; gives those that have landed."""
    landed, enough = [0], threading.Event()

    def go_on() -> None:
        while len(landed) < len(files) and not enough.wait(0.05):
            if len(landed) <= done(root, MODEL):
                land(root, len(landed), files[len(landed)])
                landed.append(len(landed))

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        yield landed
    finally:
        enough.set()
        writer.join()


def test_killed_at_any_time_it_loses_no_sample_and_counts_none_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Killed with -9 as a batch began, while its rows were written, and before Spark knew they had landed."""
    files = files_of_samples()
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    for number, table in enumerate(files):
        land(calm, number, table)
    undisturbed = run_load_model(spark, str(calm), SETTINGS, available_now=True)
    expected = load_rows(read_load(spark, str(calm)))
    assert len(expected) > 600

    land(rough, 0, files[0])
    with landing(rough, files) as landed:
        points = [planned, staged, moved]
        random.Random(4).shuffle(points)
        for point in points:
            kill_at(point, rough, MODEL, lambda: program(rough, "tests.spark.model_process", str(rough)))
    for number in range(len(landed), len(files)):
        land(rough, number, files[number])
    run_load_model(spark, str(rough), SETTINGS, available_now=True)

    assert load_rows(read_load(spark, str(rough))) == expected
    assert undisturbed.late == 0


@pytest.mark.parametrize("point", [planned, staged, moved])
def test_the_points_are_false_of_a_folder_without_a_batch(
    point: Callable[[Path], bool], tmp_path: Path
) -> None:
    assert not point(tmp_path)
