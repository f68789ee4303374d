"""Samples land exactly once.  A damaged file is an error or is left out whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.tables.landing import land_stream, write_samples
from kafka_assignors.pipeline.tables.reading import Damage, read_samples, stream_samples, writers
from kafka_assignors.pipeline.tables.schemas import SAMPLE_COLUMNS
from tests.pipeline.samples import START, Look, cut, empty, overwrite, samples_stream
from tests.pipeline.samples import samples_df as samples
from tests.support.quick import quick

ABOUT = {"topic": "t", "cluster": "c"}
NOON = datetime.fromtimestamp(START, timezone.utc)  # about


def row(hours: float, committed: int) -> Look:
    """Return a sample this many hours after noon."""
    return Look(3600 * hours, 100, committed)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "date=2001-01-01" / "pipeline")  # a date that is not of the samples


def source(spark: SparkSession, folder: Path, *batches: DataFrame) -> DataFrame:
    """Return a stream of these samples, which reads a folder of files."""
    for batch in batches:
        batch.drop("date").coalesce(1).write.mode("append").parquet(str(folder))
    return samples_stream(spark, str(folder))


def land(
    spark: SparkSession, root: str, folder: Path, *batches: DataFrame, about: dict[str, str] = ABOUT
) -> None:
    query = land_stream(source(spark, folder, *batches), root, "sampler", about=about, available_now=True)
    assert query.awaitTermination(240)


def committed(frame: DataFrame) -> list[int]:
    return sorted(row.committed_offset for row in frame.collect())


def files(root: str, writer: str) -> list[Path]:
    return sorted(Path(root, "samples", writer).glob("date=*/*.parquet"))


def test_stream_lands_each_sample_once_and_goes_on(spark: SparkSession, root: str, tmp_path: Path) -> None:
    """Covers files left by a crash, which are in no list."""
    land(spark, root, tmp_path / "in", samples(spark, [row(0, 1), row(13, 2)]))
    stray = files(root, "sampler")[0]
    shutil.copy(stray, stray.with_name("part-99999-half.parquet"))
    land(spark, root, tmp_path / "in", samples(spark, [row(14, 3)]))
    landed = read_samples(spark, root)
    assert landed.columns == list(SAMPLE_COLUMNS)
    assert committed(landed) == [1, 2, 3]
    assert {str(row.date) for row in landed.select("date").collect()} == {"2013-11-09", "2013-11-10"}
    assert committed(read_samples(spark, root, since=NOON + timedelta(hours=13))) == [2, 3]
    assert committed(read_samples(spark, root, until=NOON + timedelta(hours=13))) == [1]


def test_batch_of_many_partitions_is_one_file_a_day(spark: SparkSession, root: str, tmp_path: Path) -> None:
    many = [samples(spark, [row(hours, n)]) for n, hours in enumerate((0, 0, 13, 0, 13))]
    land(spark, root, tmp_path / "in", *many)
    assert [file.parent.name for file in files(root, "sampler")] == ["date=2013-11-09", "date=2013-11-10"]
    assert committed(read_samples(spark, root)) == [0, 1, 2, 3, 4]


def test_two_folders_of_one_session_have_streams_with_names_and_metrics_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = source(spark, tmp_path / "in", samples(spark, [row(0, 1)]))
    roots = [str(tmp_path / name) for name in ("one", "two")]
    queries = []
    try:
        for root in roots:
            queries.append(land_stream(stream, root, "w", every_s=0.1))
            queries[-1].processAllAvailable()
        names = [query.name for query in queries]
        assert names == [f"{root}/samples/w" for root in roots]
        jvm: Any = spark.sparkContext._jvm
        metrics = jvm.org.apache.spark.SparkEnv.get().metricsSystem()
        assert [metrics.getSourcesByName(f"spark.streaming.{name}").size() for name in names] == [1, 1]
        with pytest.raises(PipelineError, match="another run writes to this folder"):
            land_stream(stream, roots[0], "w")
    finally:
        for query in queries:
            query.stop()
    assert [committed(read_samples(spark, root)) for root in roots] == [[1], [1]]


@pytest.mark.parametrize("name", ["team[a]", "{a,b}", "a*"])
def test_folder_that_spark_would_read_as_a_pattern_is_refused(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Spark would write to it, and find no samples in it."""
    root = str(tmp_path / name)
    with pytest.raises(PipelineError, match="as a pattern"):
        write_samples(samples(spark, [row(0, 1)]), root, "one")
    assert not (tmp_path / name).exists()
    for names in ((), ("one",)):
        with pytest.raises(PipelineError, match="as a pattern"):
            read_samples(spark, root, names=names)


def test_samples_of_all_writers_are_read_as_batch_and_as_stream(
    spark: SparkSession, root: str, tmp_path: Path
) -> None:
    write_samples(samples(spark, [row(0, 1)]), root, "one")
    write_samples(samples(spark, [row(1, 2), row(2, 3)]), root, "two")
    assert writers(spark, root) == ("one", "two")
    assert committed(read_samples(spark, root)) == [1, 2, 3]
    query = (
        stream_samples(spark, root, writers(spark, root), "model")
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240)
    assert committed(spark.read.parquet(str(tmp_path / "out"))) == [1, 2, 3]


def test_folder_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "50 % of it")
    write_samples(samples(spark, [row(0, 1)]), root, "one")
    assert committed(read_samples(spark, root)) == [1]
    (damaged,) = files(root, "one")
    cut(damaged)
    seen: list[Damage] = []
    assert committed(read_samples(spark, root, on_damage=seen.append)) == []
    assert [damage.file.endswith(damaged.name) for damage in seen] == [True]


def test_folder_without_samples_is_an_error(spark: SparkSession, root: str) -> None:
    with pytest.raises(PipelineError, match="record some first"):
        read_samples(spark, root)


def text(file: Path) -> None:
    overwrite(file, b"time,group\n")


@pytest.mark.parametrize("damage", quick([cut, empty, text], cut))
def test_damaged_file_is_named_or_skipped_and_counted(
    spark: SparkSession, root: str, damage: Callable[[Path], None]
) -> None:
    write_samples(samples(spark, [row(0, 1)]), root, "one")
    write_samples(samples(spark, [row(24, 2)]), root, "one")
    victim = files(root, "one")[0]
    damage(victim)
    with pytest.raises(PipelineError, match=victim.name) as caught:
        read_samples(spark, root)
    assert "\n" not in str(caught.value)
    lost: list[Damage] = []
    assert committed(read_samples(spark, root, on_damage=lost.append)) == [2]
    assert [Path(damage.file).name for damage in lost] == [victim.name]
    # A reader of another date does not open the damaged file.
    assert committed(read_samples(spark, root, since=NOON + timedelta(hours=20))) == [2]


def test_flipped_byte_is_found_when_the_file_is_read(spark: SparkSession, root: str) -> None:
    """The footer is whole, so only reading the rows can tell."""
    write_samples(samples(spark, [row(0, n) for n in range(500)]).coalesce(1), root, "one")
    write_samples(samples(spark, [row(24, 1000)]), root, "one")
    victim = files(root, "one")[0]
    data = bytearray(victim.read_bytes())
    for position in range(40, 400):
        data[position] ^= 0xFF
    victim.write_bytes(bytes(data))
    rows = read_samples(spark, root)
    with pytest.raises(PipelineError) as caught, as_pipeline_error("counting"):
        rows.collect()
    assert victim.name in str(caught.value)
    lost: list[Damage] = []
    assert committed(read_samples(spark, root, on_damage=lost.append)) == [1000]
    assert [Path(damage.file).name for damage in lost] == [victim.name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.withColumn("lag", F.lit(1)), "has a column 'lag'"),
        (lambda s: s.withColumn("committed_offset", F.lit("7")), "'committed_offset' is string, not bigint"),
        (
            lambda s: s.withColumn("partition", F.col("partition").cast("bigint")),
            "'partition' is bigint, not",
        ),
    ],
)
def test_files_with_other_columns_are_named(
    spark: SparkSession, root: str, change: Callable[[DataFrame], DataFrame], message: str
) -> None:
    write_samples(samples(spark, [row(0, 1)]), root, "one")
    change(samples(spark, [row(0, 2)])).coalesce(1).write.mode("append").partitionBy("date").parquet(
        f"{root}/samples/one"
    )
    with pytest.raises(PipelineError, match=message):
        read_samples(spark, root)


def test_file_without_a_required_column_is_named_or_skipped_and_counted(
    spark: SparkSession, root: str
) -> None:
    write_samples(samples(spark, [row(0, 1)]), root, "one")
    before = set(files(root, "one"))
    samples(spark, [row(0, 2)]).drop("group").coalesce(1).write.mode("append").partitionBy("date").parquet(
        f"{root}/samples/one"
    )
    (victim,) = set(files(root, "one")) - before
    landed = read_samples(spark, root)
    with (
        pytest.raises(PipelineError, match=f"there is no 'group' in a row of .*{victim.name}"),
        as_pipeline_error("x"),
    ):
        landed.collect()
    lost: list[Damage] = []
    assert committed(read_samples(spark, root, on_damage=lost.append)) == [1]
    assert [(Path(damage.file).name, "no 'group'" in damage.what) for damage in lost] == [(victim.name, True)]


def test_columns_that_may_be_null_may_be_absent(spark: SparkSession, root: str) -> None:
    samples(spark, [row(0, 2)]).drop("begin_offset").write.partitionBy("date").parquet(f"{root}/samples/one")
    (found,) = read_samples(spark, root).collect()
    assert (found.begin_offset, found.end_offset, found.committed_offset) == (None, 100, 2)


def test_writer_with_a_wrong_name_is_refused(spark: SparkSession, root: str) -> None:
    with pytest.raises(PipelineError, match="a name must begin with a letter"):
        write_samples(samples(spark, [row(0, 1)]), root, "../one")
    assert not Path(root).exists()


def test_checkpoint_of_another_recording_is_refused(spark: SparkSession, root: str, tmp_path: Path) -> None:
    """Covers other topics, clusters and columns, and damaged or missing files of the checkpoint."""
    land(spark, root, tmp_path / "in", samples(spark, [row(0, 1)]))
    again = source(spark, tmp_path / "in")
    checkpoint, landed = Path(root, "checkpoints/sampler"), Path(root, "samples/sampler")

    def refused(match: str, **about: str) -> None:
        with pytest.raises(PipelineError, match=match) as caught:
            land_stream(again, root, "sampler", about={**ABOUT, **about}, available_now=True)
        assert "\n" not in str(caught.value)

    refused("was made with topic t, not u: take another folder", topic="u")
    refused("was made with cluster c, not d", cluster="d")
    about = json.loads((checkpoint / "about.json").read_text())
    (checkpoint / ".about.json.crc").unlink(missing_ok=True)
    (checkpoint / "about.json").write_text(json.dumps({**about, "columns": {"time": "int"}}))
    refused("is of samples with other columns")
    for damaged in ("{", "[]"):
        (checkpoint / "about.json").write_text(damaged)
        refused("about.json is damaged, or of another program: take another folder")
    (checkpoint / "about.json").unlink()
    refused("belongs to another program")
    (checkpoint / "about.json").write_text(json.dumps(about))
    with pytest.raises(PipelineError, match="belongs to a stream: name another writer"):
        write_samples(samples(spark, [row(0, 1)]), root, "sampler")
    landed.rename(tmp_path / "landed")
    refused("has lost its samples")
    (tmp_path / "landed").rename(landed)
    checkpoint.rename(tmp_path / "moved")
    refused("checkpoints/sampler in .* is gone, but samples/sampler has batch 0, so going on would lose")
    (tmp_path / "moved").rename(checkpoint)
    land(spark, root, tmp_path / "in", samples(spark, [row(1, 2)]))
    assert committed(read_samples(spark, root)) == [1, 2]


def test_restored_older_checkpoint_is_refused(spark: SparkSession, root: str, tmp_path: Path) -> None:
    """Spark would skip the batches that the list of files has, with new samples in them."""
    checkpoint = Path(root, "checkpoints/sampler")
    land(spark, root, tmp_path / "in", samples(spark, [row(0, 1)]))
    shutil.copytree(checkpoint, tmp_path / "backup")
    land(spark, root, tmp_path / "in", samples(spark, [row(1, 2)]))
    checkpoint.rename(tmp_path / "newest")
    (tmp_path / "backup").rename(checkpoint)
    with pytest.raises(
        PipelineError, match=r"sampler in .* is older \(batch 0\), but samples/sampler has batch 1"
    ):
        land(spark, root, tmp_path / "in", samples(spark, [row(2, 3)]))
    shutil.rmtree(checkpoint)
    (tmp_path / "newest").rename(checkpoint)
    land(spark, root, tmp_path / "in")
    assert committed(read_samples(spark, root)) == [1, 2, 3]


def test_recording_goes_on_with_a_new_nullable_column(spark: SparkSession, root: str, tmp_path: Path) -> None:
    """Recordings of an earlier version lack the column.  Without a required one they are refused."""
    land(spark, root, tmp_path / "in", samples(spark, [row(0, 1)]))
    file = Path(root, "checkpoints/sampler/about.json")
    whole = json.loads(file.read_text())

    def without(name: str) -> None:
        columns = {column: kind for column, kind in whole["columns"].items() if column != name}
        file.with_name(".about.json.crc").unlink(missing_ok=True)
        file.write_text(json.dumps({**whole, "columns": columns}))

    without("begin_offset")
    land(spark, root, tmp_path / "in", samples(spark, [row(1, 2)]))
    assert json.loads(file.read_text()) == whole
    assert committed(read_samples(spark, root)) == [1, 2]
    without("group")
    with pytest.raises(PipelineError, match="is of samples with other columns"):
        land(spark, root, tmp_path / "in", samples(spark, [row(2, 3)]))


def test_stream_killed_at_its_start_can_be_restarted(spark: SparkSession, root: str, tmp_path: Path) -> None:
    """Spark creates the folder of the list of files before the folder of the checkpoint."""
    Path(root, "samples/sampler/_spark_metadata").mkdir(parents=True)
    land(spark, root, tmp_path / "in", samples(spark, [row(0, 1)]))
    assert committed(read_samples(spark, root)) == [1]
