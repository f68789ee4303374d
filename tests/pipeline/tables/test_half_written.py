"""Files of samples that are not whole, or not there: an error that names them, or a count; never silence.

A machine that goes down leaves such files of what was not on its disk yet: also of files that are in a
stream's list of finished ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import HistoryError, PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline import session
from kafka_assignors.pipeline.history import read_history
from kafka_assignors.pipeline.model.job import LoadReport, run_load_model
from kafka_assignors.pipeline.model.sink import read_load
from kafka_assignors.pipeline.session import STREAMING
from kafka_assignors.pipeline.tables.landing import land_stream
from kafka_assignors.pipeline.tables.reading import read_samples
from tests.pipeline.samples import Look, cut, empty, load_rows, overwrite, samples_stream, write_file
from tests.support.quick import long, quick

SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=0)
MINUTES = 5  # of looks in a file
INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"
Damage = Callable[[Path], None]


def zeros(file: Path) -> None:
    """Fill a file with zeros; it keeps its length."""
    overwrite(file, bytes(file.stat().st_size))


def looks(number: int) -> list[Look]:
    """Return the samples of a file: a few minutes, after those of the file before."""
    return [Look(60 * n, 10 * n, 9 * n) for n in range(number * MINUTES, (number + 1) * MINUTES)]


def dropped(_: SparkSession, root: Path, number: int) -> Path:
    """Write a file of a writer that keeps no list."""
    return write_file(root, "import", number, looks(number))


def landed(spark: SparkSession, root: Path, number: int) -> Path:
    """Write a file of a stream, which lists it."""
    write_file(root / "given", "import", number, looks(number))
    before = set(files(root))
    stream = samples_stream(spark, str(root / "given" / "samples" / "import" / "date=*"))
    assert land_stream(stream, str(root), "sampler", available_now=True).awaitTermination(240)
    (file,) = set(files(root)) - before
    return file


def files(root: Path) -> list[Path]:
    return sorted((root / "samples").glob("*/date=*/*.parquet"))


def harm(file: Path, damage: Damage) -> None:
    """Damage a file and keep its modification time, which decides its batch."""
    age = file.stat().st_mtime
    damage(file)
    if file.exists():
        os.utime(file, (age, age))


def run(spark: SparkSession, root: Path, files_per_batch: int | None = None) -> LoadReport:
    return run_load_model(spark, str(root), SETTINGS, available_now=True, files_per_batch=files_per_batch)


def refused(spark: SparkSession, root: Path, file: Path) -> None:
    with pytest.raises(PipelineError, match="is not a complete Parquet file") as caught:
        run(spark, root)
    assert file.name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "damage"),
    [(dropped, cut), long(dropped, empty), long(landed, empty), long(landed, zeros)],
)
def test_model_stops_at_an_incomplete_file_and_continues_once_it_is_complete(
    spark: SparkSession, tmp_path: Path, make: Callable[[SparkSession, Path, int], Path], damage: Damage
) -> None:
    make(spark, tmp_path, 0)
    first = run(spark, tmp_path)
    assert (first.samples, first.gone) == (MINUTES, 0)
    before = load_rows(read_load(spark, str(tmp_path)))
    victim = make(spark, tmp_path, 1)
    make(spark, tmp_path, 2)
    whole = victim.read_bytes()
    harm(victim, damage)
    refused(spark, tmp_path, victim)
    assert load_rows(read_load(spark, str(tmp_path))) == before
    victim.write_bytes(whole)
    again = run(spark, tmp_path)
    assert (again.samples, again.gone, again.late) == (2 * MINUTES, 0, 0)
    rows = load_rows(read_load(spark, str(tmp_path)))
    assert rows[: len(before)] == before
    assert [row[-3] for row in rows] == ["ok"] * (3 * MINUTES - 1)


@pytest.mark.long
def test_deleted_file_is_counted_once_and_others_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Two writers have deleted files.  A file that was read before is no loss."""
    read = [write_file(tmp_path, "import", 0, looks(0)), landed(spark, tmp_path, 1)]
    assert run(spark, tmp_path).gone == 0
    victim = landed(spark, tmp_path, 2)
    harm(victim, empty)
    refused(spark, tmp_path, victim)
    for file in (victim, *read):
        file.unlink()
    write_file(tmp_path, "import", 3, looks(3))
    report = run(spark, tmp_path)
    assert (report.gone, report.samples) == (1, MINUTES)
    assert run(spark, tmp_path).gone == 0
    landed(spark, tmp_path, 4)
    assert run(spark, tmp_path).gone == 0


@pytest.mark.long
def test_incomplete_file_is_found_in_any_batch_of_a_long_run(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Covers batches whose records Spark has compacted."""
    spark.conf.set(INTERVAL, "10")
    request.addfinalizer(lambda: spark.conf.set(INTERVAL, STREAMING[INTERVAL]))
    for number in range(12):
        write_file(tmp_path, "import", number, looks(number))
    for batch in (9, 10):
        victim = files(tmp_path)[batch]
        whole = victim.read_bytes()
        harm(victim, empty)
        with pytest.raises(PipelineError, match=victim.name):
            run(spark, tmp_path, files_per_batch=1)
        victim.write_bytes(whole)
    assert run(spark, tmp_path, files_per_batch=1).gone == 0
    assert len(load_rows(read_load(spark, str(tmp_path)))) == 12 * MINUTES - 1


def test_settings_of_spark_submit_do_not_replace_those_of_the_jobs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ``spark-defaults.conf`` may be for other jobs; such values would lose or misread samples."""
    monkeypatch.setattr(session, "submitted", lambda: True)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    changed = {
        "spark.sql.files.ignoreCorruptFiles": "true",
        "spark.sql.files.ignoreMissingFiles": "true",
        "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
        "spark.sql.streaming.minBatchesToRetain": "1",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.streaming.offsetLog.formatVersion": "2",
    }
    for name, value in changed.items():
        spark.conf.set(name, value)
    with session.session("job") as of_submit:
        for name, value in changed.items():
            assert value != of_submit.conf.get(name) == STREAMING[name]


@pytest.mark.parametrize("damage", quick([cut, empty, zeros, Path.unlink], Path.unlink))
def test_history_of_samples_names_the_incomplete_file(
    spark: SparkSession, tmp_path: Path, damage: Damage
) -> None:
    """The list of files names it, so its loss is noticed."""
    victim = landed(spark, tmp_path, 0)
    landed(spark, tmp_path, 1)
    harm(victim, damage)
    with pytest.raises(PipelineError, match=victim.name) as caught:
        read_samples(spark, str(tmp_path))
    assert "\n" not in str(caught.value)
    with pytest.raises(HistoryError, match=victim.name):
        read_history(spark, str(tmp_path))
