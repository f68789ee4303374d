"""The cells of docs/guides/notebook.md, one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.pipeline.tables.importing import import_samples
from tests.support.examples import ROOT, Example, examples

START = datetime(2026, 11, 2, 8, tzinfo=timezone.utc)


@pytest.fixture
def history(spark: SparkSession, tmp_path: Path) -> Path:
    """Two partitions receive 10 and 30 records a minute for three hours, and are read at once."""
    rows = [
        {
            "time": (START + timedelta(seconds=30 * look)).isoformat(),
            "group": "billing",
            "topic": "orders",
            "partition": partition,
            "begin_offset": 0,
            "end_offset": rate * look,
            "committed_offset": rate * look,
        }
        for look in range(360)
        for partition, rate in enumerate((5, 15))
    ]
    import_samples(spark, rows, str(tmp_path / "history"))
    return tmp_path / "history"


def ten_cells() -> list[str]:
    cells = [example.code for example in examples("python notebook")]
    assert len(cells) == 10
    return cells


def assert_shown(output: str) -> None:
    assert "|billing|orders|  720|" in output
    assert "billing (179, 2) 7160" in output
    assert "1; cooperative-lag-aware" in output or "1; range" in output


def test_cells_run_in_a_session_of_ones_own(
    spark: SparkSession, history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the first and the last cell, as the page says."""
    code = "\n".join(["from kafka_assignors import pipeline", *ten_cells()[1:-1]])
    code = code.replace('"history"', repr(str(history)))  # the JVM has a folder of its own
    Example("notebook.md", code).run(spark=spark)
    assert_shown(capsys.readouterr().out)


@pytest.mark.long
def test_ten_cells_run_in_a_process(history: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(ten_cells())],
        capture_output=True,
        text=True,
        check=False,
        cwd=history.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert_shown(done.stdout)
