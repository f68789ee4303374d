"""``size --recording`` on a real Spark."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from kafka_assignors.cli.size import command as cli_size
from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.history import read_history
from tests.support.forecast.loads import START, busy_group, write_load

pytestmark = pytest.mark.usefixtures("_this_session")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pipeline's folder with ten minutes of the load of two groups."""
    write_load(tmp_path, busy_group("g") + busy_group("h", forecasts=False))
    return tmp_path


def size(folder: Path, group: str, *words: str) -> tuple[int, Any]:
    """Return the exit code and the JSON."""
    target = ["--max-time-lag", "30s", "--headroom", "0", "--output", "json"]
    result = CliRunner().invoke(cli_size.command, [group, "--recording", str(folder), *target, *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, json.loads(result.stdout)


def test_size_is_that_of_the_end_of_the_recording(folder: Path) -> None:
    """Partition p gets 2 * (p + 1) records/s, in the busy part three times that; 24 were measured."""
    code, report = size(folder, "g")
    assert (code, report["rate"], report["rate_measured"]) == (0, 24, True)
    assert report["time"] == "2026-11-22T10:10:00.000+00:00"
    assert [step["arriving"] for step in report["steps"]] == [42]
    assert (report["members"], report["advised"], report["forecasts"]) == (None, 2, None)
    assert report["notes"][0].startswith("the recording is too short for forecasts")
    busy = (START + timedelta(seconds=300)).isoformat()
    code, report = size(folder, "g", "--until", busy, "--recorded-members", "2", "--rate", "40")
    assert [step["arriving"] for step in report["steps"]] == [126]
    assert (code, report["members"], report["advised"]) == (1, 2, 6)


def test_later_steps_are_forecast_from_the_recording(folder: Path) -> None:
    """Also of one without forecasts of the pipeline."""
    _, report = size(folder, "h", "--strategy", "range", "--horizon", "2m")
    assert [step["starts_s"] for step in report["steps"]] == [0, 30, 60, 90]
    assert report["steps"][0]["arriving"] == 42
    assert report["forecasts"] == {
        "source": "the load model", "partitions": 6, "period_s": 120, "age_s": 0, "mean_from_s": None,
    }  # fmt: skip
    assert report["notes"] == []


def test_only_the_last_weeks_of_a_recording_are_read(folder: Path, spark: SparkSession) -> None:
    """Here the last two minutes, with steps of 10 s."""
    span, until = timedelta(minutes=2), START + timedelta(seconds=300)
    for end in (START + timedelta(seconds=600), until):
        [recorded] = read_history(spark, str(folder), groups=["g"], since=span, until=end)
        assert recorded.history.steps == 12
        assert recorded.history.starts_at == (end - span).timestamp()


def test_recording_without_the_group(folder: Path) -> None:
    with pytest.raises(HistoryError, match="no rows of group 'x' in the requested time"):
        size(folder, "x")
