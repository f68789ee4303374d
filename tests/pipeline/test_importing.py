"""Imports of samples: a repeated import changes nothing, and each bad line is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.tables.importing import ImportReport, import_samples
from kafka_assignors.pipeline.tables.landing import read_samples


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
    more = [line(partition=1), line(partition=2, begin_offset=None, time="2026-11-22T22:30:00Z")]
    del more[1]["end_offset"]
    assert import_samples(spark, more, root) == ImportReport(2, 1, 1, {})
    imported = {row.partition: row for row in read_samples(spark, root).collect()}
    assert imported.keys() == {0, 1, 2}
    assert (imported[0].begin_offset, imported[0].end_offset, imported[0].committed_offset) == (0, 10, 4)
    assert (imported[2].begin_offset, imported[2].end_offset) == (None, None)
    assert {(row.source, str(row.date)) for row in imported.values()} == {("import", "2026-11-22")}
    assert imported[0].time.timestamp() == pytest.approx(1795386600.25)


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
    with pytest.raises(PipelineError, match="none of 2 lines is a sample: no JSON object"):
        import_samples(spark, file, str(tmp_path / "pipeline"))
    with pytest.raises(PipelineError, match="importing samples: ") as caught:
        import_samples(spark, tmp_path / "nowhere.jsonl", str(tmp_path / "pipeline"))
    assert "nowhere.jsonl" in str(caught.value)
