"""A load model killed in the middle of batches continues: no sample is lost or counted twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import read_load
from kafka_assignors.pipeline.tables.reading import read_samples
from tests.pipeline.killing import Point, kill_at, program, under_way
from tests.pipeline.model.points import MODEL, WRITER, landing, moved
from tests.pipeline.model.process import SETTINGS
from tests.pipeline.samples import Look, load_rows, write_file

PARTITIONS = 6
FILES = 60
LOOKS_PER_FILE = 6
EVERY = 20  # s of the samples' time between two looks


def files_of_samples() -> list[list[Look]]:
    """Return two hours of a group, cut into files.  Each sample is in one file, a few are in two."""
    chance = random.Random(11)
    ends, committed = [0] * PARTITIONS, [0] * PARTITIONS
    files = []
    for n in range(FILES):
        looks = []
        for k in range(LOOKS_PER_FILE):
            for p in range(PARTITIONS):
                ends[p] += chance.randrange(50)
                committed[p] = min(ends[p], committed[p] + chance.randrange(52))
                after = EVERY * (n * LOOKS_PER_FILE + k) + p
                looks.append(Look(after, ends[p], committed[p], partition=p))
        files.append([*looks, *chance.sample(looks, 3)])
    return files


def planned(root: Path) -> bool:
    """Return whether a batch has begun."""
    return bool(under_way(root, MODEL))


def staged(root: Path) -> bool:
    """Return whether its rows are being written to the staging folder."""
    return any((root / "load").glob("_staged-*/**/*.parquet")) and planned(root)


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([moved], id="landed"),
        pytest.param([planned, staged, moved], id="anywhere", marks=pytest.mark.long),
    ],
)
def test_killed_model_loses_no_sample_and_counts_none_twice(
    spark: SparkSession, tmp_path: Path, points: list[Point]
) -> None:
    """Kill the model as a batch begins, while its rows are written, and before Spark records the batch."""
    files, root = files_of_samples(), str(tmp_path)
    write_file(tmp_path, WRITER, 0, files[0])
    with landing(tmp_path, files) as landed:
        for point in random.Random(4).sample(points, len(points)):
            kill_at(point, tmp_path, MODEL, lambda: program(tmp_path, "tests.pipeline.model.process", root))
    for number in range(len(landed), len(files)):
        write_file(tmp_path, WRITER, number, files[number])
    assert run_load_model(spark, root, SETTINGS, available_now=True).late == 0

    expected = load_rows(model_load(read_samples(spark, root), SETTINGS, flush=False))
    assert len(expected) > 600
    assert load_rows(read_load(spark, root)) == expected


@pytest.mark.parametrize("point", [planned, staged, moved])
def test_points_are_false_for_a_folder_without_a_batch(point: Callable[[Path], bool], tmp_path: Path) -> None:
    assert not point(tmp_path)
