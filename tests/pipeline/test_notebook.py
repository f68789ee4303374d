"""The cells of docs/guides/notebook.md, one after the other, in a process as a notebook's."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_assignors.pipeline.tables.importing import import_samples
from tests.support.examples import ROOT, examples

START = datetime(2026, 11, 2, 8, tzinfo=timezone.utc)


def test_ten_cells_run(spark: SparkSession, tmp_path: Path) -> None:
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
    cells = [example.code for example in examples("python notebook")]
    assert len(cells) == 10
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(cells)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|billing|orders|  720|" in done.stdout
    assert "billing (179, 2) 7160" in done.stdout
    assert "1; cooperative-lag-aware" in done.stdout or "1; range" in done.stdout
