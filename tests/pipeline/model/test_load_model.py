"""The load model makes a table of load from a table of samples, in one batch and as a stream."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.bucket.codec import VERSION
from kafka_assignors.pipeline.model.job import LoadReport, run_load_model
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import LoadSink, read_load
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.pipeline.tables.schemas import LOAD
from kafka_assignors.pipeline.tables.storage import Storage
from tests.pipeline.samples import START, Look, empty, keep, land, load_rows, restore, samples_df, write_file

SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=120, max_gap_s=600)


def run(spark: SparkSession, root: Path, **more: object) -> LoadReport:
    return run_load_model(spark, str(root), SETTINGS, available_now=True, **more)  # type: ignore[arg-type]


def busy(partitions: int, looks: int, seed: int = 1) -> list[Look]:
    """Return samples of a group every 20 s, with every possible fault of a counter."""
    chance, out = random.Random(seed), []
    for partition in range(partitions):
        end = committed = begin = 0
        for n in range(looks):
            end += chance.randrange(60)
            committed = min(end, max(committed, begin) + chance.randrange(62))
            if partition == 1 and n == looks // 2:
                end, committed, begin = 5, 2, 0  # created again
            if partition == 2 and n == looks // 3:
                committed = begin  # set back
            if partition == 3 and n == looks // 4:
                begin = end - 3  # retention took nearly all
            if partition == 4 and 60 < n < 110:
                continue  # no samples for a quarter of an hour
            out.append(Look(20 * n + chance.randrange(10), end, committed, begin, partition))
    return out


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline's folder whose model has read ten minutes of samples."""
    root = tmp_path_factory.mktemp("learned") / "root"
    land(spark, root, busy(1, 30))
    run(spark, root)
    return keep(root)


@pytest.fixture
def learned(kept: Path) -> Path:
    """The same folder, as it was made."""
    return restore(kept)


def test_columns_are_those_of_the_schema(spark: SparkSession) -> None:
    rows = model_load(samples_df(spark, [Look(0, 0, 0), Look(60, 6, 3)]), SETTINGS)
    contract: Any = StructType.fromDDL(LOAD)
    assert [(f.name, f.dataType) for f in rows.schema] == [(f.name, f.dataType) for f in contract]


def test_step_has_arrived_and_served_records_and_lag(spark: SparkSession) -> None:
    [row] = model_load(samples_df(spark, [Look(0, 0, 0), Look(60, 120, 30)]), SETTINGS).collect()
    assert (row.arrived, row.served, row.lag) == (120, 30, 90)
    assert (row.arrival_rate, row.service_rate, row.time_lag_s) == (2.0, 0.5, 45.0)
    assert (row.step_s, row.horizon_s, row.forecast, row.forecast_error) == (60.0, 300.0, 600.0, None)
    assert (row.time.isoformat(), row.date.isoformat(), row.quality) == (
        "2013-11-09T12:31:00",
        "2013-11-09",
        "ok",
    )


def test_duplicates_and_disorder_change_nothing(spark: SparkSession) -> None:
    looks = busy(3, 60)
    shuffled = [*looks, *looks[::4]]
    random.Random(3).shuffle(shuffled)
    expected = load_rows(model_load(samples_df(spark, looks), SETTINGS))
    assert len(expected) > 50
    assert load_rows(model_load(samples_df(spark, shuffled), SETTINGS)) == expected


def test_stream_gives_the_same_rows_as_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Samples land a few minutes at a time, some of them late by less than the delay."""
    looks = sorted(busy(6, 120), key=lambda look: look.after + random.Random(repr(look)).randrange(110))
    total = LoadReport()
    for first in range(0, len(looks), 400):
        land(spark, tmp_path, looks[first : first + 400])
        total += run(spark, tmp_path)
    expected = load_rows(model_load(read_samples(spark, str(tmp_path)), SETTINGS, flush=False))
    assert load_rows(read_load(spark, str(tmp_path))) == expected
    assert (total.samples, total.late, total.duplicates) == (len(looks), 0, 0)
    assert (total.steps, total.batches) == (len(expected), len(range(0, len(looks), 400)))
    assert total.qualities == Counter(row[-3] for row in expected)
    assert total.qualities.keys() >= {"ok", "gap", "reset"}
    assert (total.refused, total.unread) == (0, ())


def test_late_and_repeated_samples_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    looks = [Look(20 * n, 10 * n, 10 * n) for n in range(60)]
    land(spark, tmp_path, [look for look in looks if look.after not in (200, 400)])
    first = run(spark, tmp_path)
    before = load_rows(read_load(spark, str(tmp_path)))
    land(spark, tmp_path, [looks[10], looks[20], looks[-1], Look(1_200, 600, 600)])
    second = run(spark, tmp_path)
    assert (first.late, second.late, second.duplicates) == (0, 2, 1)
    assert load_rows(read_load(spark, str(tmp_path)))[: len(before)] == before


def test_samples_ahead_are_counted_and_make_no_other_late(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A clock is an hour ahead for ten minutes and is then corrected."""
    until = 60 * (int(time.time()) // 60) - START
    right = [Look(until - 3_600 + 20 * n, 10 * n, 10 * n) for n in range(150)]
    wrong = [look._replace(after=look.after + 3_600) for look in right[60:90]]
    land(spark, tmp_path, [*right[:60], *wrong])
    total = run(spark, tmp_path)
    land(spark, tmp_path, right[90:])
    total += run(spark, tmp_path)
    assert (total.samples, total.ahead, total.late, total.refused) == (150, 30, 0, 0)
    expected = model_load(samples_df(spark, [*right[:60], *right[90:]]), SETTINGS, flush=False)
    assert load_rows(read_load(spark, str(tmp_path))) == load_rows(expected)
    warned = [line for line in caplog.messages if "ahead" in line]
    assert warned == [
        "load model: 30 samples are ahead of this machine's clock, and were dropped; "
        "more are only counted in the report"
    ]


@pytest.mark.long
def test_partition_without_samples_is_flushed_and_dropped(spark: SparkSession, tmp_path: Path) -> None:
    """Later samples from before the flush are dropped and counted."""
    forget = {"forget_s": 3_600.0}
    gone = [Look(60 * n, 5 * n, 0, partition=1) for n in range(10)]
    land(spark, tmp_path, [*gone, Look(0, 0, 0)])
    run(spark, tmp_path, **forget)
    assert len(load_rows(read_load(spark, str(tmp_path)))) == 7  # the last two minutes wait
    for hour in (2, 3):
        land(spark, tmp_path, [Look(3_600 * hour, hour, 0)])
        run(spark, tmp_path, **forget)
    rows = load_rows(read_load(spark, str(tmp_path)))
    assert [row[4] for row in rows if row[2] == 1] == [5] * 9
    land(spark, tmp_path, [Look(540, 45, 0, partition=1), Look(3_600 * 4, 5, 0)])
    assert run(spark, tmp_path, **forget).refused == 1


def test_repeated_batch_replaces_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    """The callback fails after the rows have landed.  The batch runs again, and each row is there once."""
    land(spark, tmp_path, busy(3, 60))

    def fail(*_: object) -> None:
        raise PipelineError("no room for it")

    with pytest.raises(PipelineError, match=r"^the load model of [^\n]*: no room for it$"):
        run(spark, tmp_path, on_batch=fail)
    landed = load_rows(read_load(spark, str(tmp_path)))
    seen: list[int] = []
    report = run(spark, tmp_path, on_batch=lambda rows, _: seen.append(rows.count()))
    assert load_rows(read_load(spark, str(tmp_path))) == landed
    assert (seen, report.steps) == ([len(landed)], len(landed))


@pytest.mark.long
def test_writers_of_a_backlog_are_read_in_step(spark: SparkSession, tmp_path: Path) -> None:
    """The sampler's files have hours each; the commits are in more files than one batch reads."""
    files = 1_100
    write_file(tmp_path, "sampler", 0, [Look(20 * n, 10 * n) for n in range(files)])
    for n in range(files):
        write_file(tmp_path, "offsets-topic", n, [Look(20 * n + 5, None, 10 * n, None)])
    report = run(spark, tmp_path)
    assert (report.samples, report.late, report.batches) == (2 * files, 0, 1)


def test_file_with_a_time_far_ahead_hides_no_later_files(spark: SparkSession, tmp_path: Path) -> None:
    """The clock of the machine that wrote it was twenty years ahead."""
    for number in range(2):
        file = write_file(tmp_path, "import", number, [Look(60 * number, number, number)])
        if number == 0:
            ahead = time.time() + 20 * 365 * 86_400
            os.utime(file, (ahead, ahead))
        assert run(spark, tmp_path).samples == 1


@pytest.mark.parametrize("text", ["", '{"token": "a', "[]", '{"token": 1}', "null", "\x00\xff"])
@pytest.mark.parametrize("name", ["load/_model.json", "checkpoints/load/_model.json"])
def test_damaged_file_of_the_model_is_an_error_of_one_line(
    spark: SparkSession, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "samples" / "import").mkdir(parents=True)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text, encoding="latin-1")
    storage = Storage(spark, str(tmp_path))
    with pytest.raises(
        PipelineError, match=f"{name} is damaged, or of another program: to learn again"
    ) as caught:
        LoadSink(storage, SETTINGS, ("import",)).bind()
    assert "\n" not in str(caught.value)


class Stuck:
    """A file system that moves no file, and returns success or failure."""

    def __init__(self, files: Any, notifies: bool) -> None:
        self._files = files
        self._notifies = notifies

    def __getattr__(self, name: str) -> Any:
        return (lambda *_: self._notifies) if name == "rename" else getattr(self._files, name)


@pytest.mark.parametrize("notifies", [False, True])
def test_rows_that_do_not_land_are_an_error_and_stay_staged(
    spark: SparkSession, tmp_path: Path, notifies: bool
) -> None:
    storage = Storage(spark, str(tmp_path))
    sink = LoadSink(storage, SETTINGS, ("import",))
    sink.bind()
    rows = model_load(samples_df(spark, [Look(0, 0, 0), Look(60, 6, 3)]), SETTINGS)
    files = storage._files
    storage._files = Stuck(files, notifies)
    with pytest.raises(PipelineError, match=r"did not land|could not be moved"):
        sink.land(rows, 7)
    [staged] = (tmp_path / "load").glob("_staged-000000007-*")
    assert len(list(staged.rglob("*.parquet"))) == 1
    storage._files = files
    LoadSink(storage, SETTINGS, ("import",)).bind()
    assert not staged.exists(), "the next run cleans up"
    sink.land(rows, 7)
    assert read_load(spark, str(tmp_path)).count() == 1
    assert not list((tmp_path / "load").glob("_staged*"))


@pytest.mark.parametrize("still_writing", [False, True])
def test_batch_whose_staged_rows_another_run_has_removed_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, still_writing: bool
) -> None:
    """Otherwise the batch would end without its rows, and Spark would not repeat it.

    Spark makes the folder again if it is still writing, and then the first days are missing.
    """
    storage = Storage(spark, str(tmp_path))
    sink = LoadSink(storage, SETTINGS, ("import",))
    sink.bind()
    list_files = storage.files

    def files(pattern: str) -> list[str]:
        [staged] = (tmp_path / "load").glob("_staged-*")
        LoadSink(Storage(spark, str(tmp_path)), SETTINGS, ("import",)).bind()  # another run starts
        if still_writing:
            day = staged / "rows" / "date=2024-01-02"
            day.mkdir(parents=True)
            (day / "part-1.parquet").touch()
        return list_files(pattern)

    monkeypatch.setattr(storage, "files", files)
    rows = model_load(samples_df(spark, [Look(0, 0, 0), Look(60, 6, 3)]), SETTINGS)
    with pytest.raises(PipelineError, match=r"another run has removed load/_staged-000000007-"):
        sink.land(rows, 7)


def test_samples_dropped_by_spark_are_counted_once_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Covers batches that follow each other faster than the report is read."""
    write_file(tmp_path, "import", 0, [Look(0, 0, 0)])
    write_file(tmp_path, "import", 1, [Look(9_000, 1, 0)])
    write_file(tmp_path, "import", 2, [Look(18_000, 2, 0)])
    for n in range(3, 5):
        write_file(tmp_path, "import", n, [Look(60 * n, 45, 0, partition=1), Look(18_000 + n, 5, 0)])
    report = run(spark, tmp_path, forget_s=3_600.0, files_per_batch=1)
    assert (report.batches, report.refused) == (5, 2)


def test_model_without_samples_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"no samples in .*: record some first"):
        run(spark, tmp_path)


def test_lost_checkpoint_is_an_error(spark: SparkSession, learned: Path) -> None:
    (learned / "checkpoints").rename(learned / "lost")
    with pytest.raises(PipelineError, match="was written with a checkpoint that is gone"):
        run(spark, learned)


def test_damaged_checkpoint_is_an_error_with_a_remedy_that_keeps_the_samples(
    spark: SparkSession, learned: Path
) -> None:
    for file in (learned / "checkpoints" / "load" / "offsets").glob("[0-9]*"):
        empty(file)
    with pytest.raises(PipelineError, match=r"remove load/ and checkpoints/load \(samples are kept\)"):
        run(spark, learned)


def test_restored_older_checkpoint_is_an_error(spark: SparkSession, learned: Path, tmp_path: Path) -> None:
    checkpoint = learned / "checkpoints" / "load"
    shutil.copytree(checkpoint, tmp_path / "backup")
    land(spark, learned, [Look(60 * n, 10 * n, 9 * n) for n in range(10, 20)])
    run(spark, learned)
    shutil.rmtree(checkpoint)
    shutil.copytree(tmp_path / "backup", checkpoint)
    with pytest.raises(PipelineError, match=r"is older \(batch 0\), but load/ has batch 1, .*: restore its"):
        run(spark, learned)


def test_rows_of_another_model_are_an_error(spark: SparkSession, learned: Path, tmp_path: Path) -> None:
    land(spark, tmp_path, busy(1, 30))
    run(spark, tmp_path)
    shutil.rmtree(learned / "load")
    (tmp_path / "load").rename(learned / "load")
    with pytest.raises(PipelineError, match="are of two models"):
        run(spark, learned)


def test_changed_settings_are_an_error(spark: SparkSession, learned: Path) -> None:
    other = dataclasses.replace(SETTINGS, horizon_s=600, zone="Europe/Berlin")
    changes = "was made with horizon_s 300, not 600, zone UTC, not Europe/Berlin"
    with pytest.raises(PipelineError, match=f"{changes}.*remove load/ and checkpoints/load"):
        run_load_model(spark, str(learned), other, available_now=True)


def test_writer_added_later_is_reported_as_unread(spark: SparkSession, learned: Path) -> None:
    """A checkpoint covers the writers of its start.  The new writer is not read, and the report names it."""
    land(spark, learned, busy(1, 30), writer="second")
    report = run(spark, learned)
    assert (report.samples, report.unread) == (0, ("second",))


def test_checkpoint_with_states_of_another_version_is_an_error(spark: SparkSession, learned: Path) -> None:
    storage, name = Storage(spark, str(learned)), "checkpoints/load/_model.json"
    bound = json.loads(storage.read(name) or "")
    assert bound["settings"].pop("state_version") == VERSION
    storage.write(name, json.dumps(bound))
    with pytest.raises(
        PipelineError, match=f"state_version None, not {VERSION}: .*to learn again from all samples, remove"
    ):
        run(spark, learned)
