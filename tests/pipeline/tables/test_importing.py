"""Imports of samples: a repeated import changes nothing, and each bad line is counted."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.tables.importing import ImportReport, import_samples
from kafka_assignors.pipeline.tables.reading import read_samples

COALESCING = "spark.sql.adaptive.coalescePartitions.enabled"


def line(**fields: Any) -> dict[str, Any]:
    return {
        "time": "2026-11-22T23:30:00.250+01:00",
        "group": "g",
        "topic": "t",
        "partition": 0,
        "begin_offset": 0,
        "end_offset": 10,
        "committed_offset": 4,
        **fields,
    }


def test_repeated_import_adds_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Covers a second file that overlaps with the first, and repeated lines."""
    root = str(tmp_path / "pipeline")
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(line(partition=n)) + "\n" for n in (0, 1, 1)) + "\n")
    assert import_samples(spark, file, root) == ImportReport(3, 2, 1, {})
    assert import_samples(spark, file, root) == ImportReport(3, 0, 3, {})
    later = datetime(2026, 11, 22, 22, 30, tzinfo=timezone.utc)
    more = [line(partition=1), line(partition=2, begin_offset=None, time=later)]
    del more[1]["end_offset"]
    assert import_samples(spark, more, root) == ImportReport(2, 1, 1, {})
    imported = {row.partition: row for row in read_samples(spark, root).collect()}
    assert imported.keys() == {0, 1, 2}
    assert (imported[0].begin_offset, imported[0].end_offset, imported[0].committed_offset) == (0, 10, 4)
    assert (imported[2].begin_offset, imported[2].end_offset) == (None, None)
    assert {(row.source, str(row.date)) for row in imported.values()} == {("import", "2026-11-22")}
    assert imported[0].time.timestamp() == pytest.approx(1795386600.25)


def test_import_reads_only_its_own_samples_of_the_same_days(spark: SparkSession, tmp_path: Path) -> None:
    """Files of other writers and days may be many, or damaged."""
    root = tmp_path / "pipeline"
    import_samples(spark, [line()], str(root))
    for folder in ("sampler/date=2026-11-22", "import/date=2026-11-21"):
        damaged = root / "samples" / folder / "part-0.parquet"
        damaged.parent.mkdir(parents=True)
        damaged.write_bytes(b"PAR1")
    of_numpy = line(partition=np.int64(1), end_offset=np.int64(10))
    assert import_samples(spark, [line(), of_numpy], str(root)) == ImportReport(2, 1, 1, {})


@pytest.mark.long
def test_imported_days_are_modelled_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    """The model may read a file at a time, or look while an import writes."""
    spark.conf.set(COALESCING, "false")  # as with a large import: another task writes the 10th than the 8th
    days = [
        line(time=f"2026-11-{day:02}T12:{minute:02}:00Z", end_offset=100 * day + minute)
        for day in (10, 8, 12, 9, 11)
        for minute in range(4)
    ]
    try:
        import_samples(spark, days, str(tmp_path))
    finally:
        spark.conf.unset(COALESCING)
    files = sorted(tmp_path.glob("samples/import/date=*/*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    assert [file.parent.name for file in files] == [f"date=2026-11-{day:02}" for day in range(8, 13)]
    settings = LoadSettings(step_s=60, horizon_s=300, delay_s=60)
    report = run_load_model(spark, str(tmp_path), settings, available_now=True, files_per_batch=1)
    assert (report.samples, report.late) == (20, 0)


BAD = {
    "{": "no JSON object",
    "[1]": "no JSON object",
    json.dumps(line(lag=3)): "unknown field",
    json.dumps(line(partition="one")): "wrong partition",
    json.dumps(line(partition=-1)): "wrong partition",
    json.dumps(line(partition=2**40)): "wrong partition",
    json.dumps(line(committed_offset=1.5)): "wrong committed_offset",
    json.dumps(line(committed_offset=-2)): "wrong committed_offset",
    json.dumps(line(end_offset=-1)): "wrong end_offset",
    json.dumps(line(time="yesterday")): "wrong time",
    json.dumps(line(time="2026-11-22T22:30:00")): "wrong time",
    json.dumps(line(time="0001-01-01T00:00:00Z")): "wrong time",  # Go's zero time
    json.dumps(line(time="9999-12-31T23:59:59Z")): "wrong time",
    json.dumps(line(time="+10000-01-01T00:00:00Z")): "wrong time",
    json.dumps(line(time=None)): "no time",
    json.dumps(line(group=None)): "no group",
    json.dumps(line(topic="")): "no topic",
}


def test_invalid_lines_are_counted_by_problem(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "pipeline")
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join([*BAD, json.dumps(line())]))
    counts = {problem: list(BAD.values()).count(problem) for problem in BAD.values()}
    assert import_samples(spark, file, root) == ImportReport(len(BAD) + 1, 1, 0, counts)
    assert read_samples(spark, root).count() == 1


def test_import_of_only_invalid_lines_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(
        PipelineError, match="none of 2 lines is a sample; most frequent problem: no JSON object"
    ):
        import_samples(spark, file, str(tmp_path / "pipeline"))
    with pytest.raises(PipelineError, match="importing samples: ") as caught:
        import_samples(spark, tmp_path / "nowhere.jsonl", str(tmp_path / "pipeline"))
    assert "nowhere.jsonl" in str(caught.value)
