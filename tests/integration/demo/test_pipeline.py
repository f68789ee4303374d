"""The pipeline on what a small demo recorded, for real: the broker's own topic, Spark, model, back-test."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from demo.pipeline.results import PipelineResult
from demo.results import MeasuredRun, runs_of
from kafka_assignors.strategies import STRATEGIES
from tests.integration.demo.small_demo import BACKLOG, SMALL_BACKLOG, Demo, command
from tests.integration.demo.small_demo import STRATEGIES as RAN

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pipeline(whole: Demo) -> PipelineResult:
    pipeline_result = whole.results["pipeline"]
    assert pipeline_result is not None
    assert pipeline_result["fault"] == ""
    return pipeline_result


@pytest.fixture(scope="module")
def measured(whole: Demo) -> dict[tuple[str, str], MeasuredRun]:
    return runs_of(whole.results)


def rows(whole: Demo, where: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (
        ds.dataset(whole.out / "pipeline" / where, format="parquet", partitioning="hive")
        .to_table()
        .to_pylist()
    )
    return found


def test_every_run_is_recorded_completely(
    pipeline: PipelineResult, measured: dict[tuple[str, str], MeasuredRun]
) -> None:
    runs = [(scene, name) for scene in ("replay", "backlog") for name in RAN]
    assert [(entry["scene"], entry["strategy"]) for entry in pipeline["recorded"]] == runs
    for entry in pipeline["recorded"]:
        run = measured[entry["scene"], entry["strategy"]]
        assert entry["produced"] == entry["arrived"] == run["produced"]
        assert entry["committed"] == run["processed"]
        assert entry["commits"] > 20
    assert pipeline["read"] >= sum(entry["commits"] for entry in pipeline["recorded"])


def test_counts_match_the_files(whole: Demo, pipeline: PipelineResult) -> None:
    commits, ends, load = (
        rows(whole, "samples/offsets-topic"),
        rows(whole, "samples/import"),
        rows(whole, "load"),
    )
    for entry in pipeline["recorded"]:
        group = entry["group"]
        mine = [row["committed_offset"] for row in commits if row["group"] == group]
        # The tombstones of the deleted group are recorded, too, but are no commits.
        assert entry["commits"] == sum(offset != -1 for offset in mine) < len(mine)
        assert entry["ends"] == sum(row["group"] == group for row in ends)
        assert entry["steps"] == sum(row["group"] == group for row in load)


def test_back_test_tries_all_strategies_but_failover(whole: Demo, pipeline: PipelineResult) -> None:
    backtest = pipeline["backtest"]
    assert backtest is not None
    names = {entry["candidate"] for entry in backtest["candidates"]}
    assert names == STRATEGIES.keys() - {"failover"} | {"cooperative-lag-aware (load=forecast)"}
    assert (backtest["judged_by"], backtest["failures"]) == (2, [])
    replay, backlog = backtest["groups"]
    assert replay["records"] == whole.results["strategies"][0]["produced"]
    assert backlog["records"] == BACKLOG
    assert {row["churn"] for row in backtest["scenarios"] if row["group"] == "backlog"} == {""}
    [churn] = {row["churn"] for row in backtest["scenarios"] if row["group"] == "replay"}
    assert [step.partition("@")[0] for step in churn.split(",")] == ["join", "leave", "kill"]
    assert {entry["place"] for entry in backtest["candidates"]} >= {1}


def test_back_test_has_its_own_folder(whole: Demo, pipeline: PipelineResult) -> None:
    folder = whole.out / "pipeline" / "backtest"
    assert json.loads((folder / "results.json").read_text()) == pipeline["backtest"]
    assert (folder / "report.html").stat().st_size > 1_000_000


def test_failing_pipeline_is_reported_and_leaves_the_other_results(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    """Spark's jars are neither here nor to be had."""
    out = tmp_path / "out"
    alone = ("--scene", "backlog", "--strategy", "range", "--pipeline")
    ended = subprocess.run(
        command(out, "--bootstrap", kafka_bootstrap, *SMALL_BACKLOG, *alone),
        env=os.environ
        | {
            "KAFKA_ASSIGNORS_CACHE": str(tmp_path / "cache"),
            "KAFKA_ASSIGNORS_MAVEN_URL": "http://127.0.0.1:1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    last_line = ended.stderr.splitlines()[-1]
    assert last_line.startswith("demo: the pipeline: start Spark: cannot fetch ")
    assert "Traceback" not in ended.stderr
    assert "drain" in ended.stdout
    results = json.loads((out / "results.json").read_text())
    assert results["backlog"][0]["processed"] == BACKLOG
    assert last_line.endswith(results["pipeline"]["fault"])
    assert "the pipeline: " in (out / "report.html").read_text(encoding="utf-8")
