"""The files of a demo whose runs are faked, also of one that fails."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console

from demo import compare as demo_compare
from demo.compare import compare, faults
from demo.group.logs import RunLogs
from demo.results import Results
from demo.scenes.stage import Place
from demo.settings import Settings
from demo.view.live import View
from kafka_assignors.errors import BrokerError, KafkaAssignorsError
from tests.support.full_disk import FULL, needs_full_device
from tests.unit.demo.failover.story import failover
from tests.unit.demo.pipeline.runs import pipeline, recorded
from tests.unit.demo.story import eager_join, uneven_backlog

SETTINGS = Settings(scenes=("replay",), partitions=2, consumers=1, churn=(), pipeline=False)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> dict[str, RunLogs]:
    """Logs by scene and strategy; a run that is not there fails."""
    logs: dict[str, RunLogs] = {}

    def run(_settings: Settings, _flights: object, place: Place, *_: object) -> RunLogs:
        assert place.folder.is_dir()
        name = f"{place.scene} {place.strategy}"
        if name not in logs:
            raise BrokerError("no broker answers")
        return logs[name]

    def render(results: Results) -> str:
        return f"{len(results['strategies'] + results['backlog'])} drawn"

    monkeypatch.setattr(demo_compare, "run", run)
    monkeypatch.setattr(demo_compare, "read_flights", lambda *_: [])
    monkeypatch.setattr(demo_compare, "render", render)
    return logs


def call(folder: Path, check_broker: Callable[[], None] = lambda: None, **settings: Any) -> Results:
    with (folder / "progress").open("w") as stream:
        view = View(Console(file=stream))
        return compare(dataclasses.replace(SETTINGS, **settings), "h:1", folder, view, check_broker)


def kept(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text())


def test_measurements_before_a_failure_are_kept(runs: dict[str, RunLogs], tmp_path: Path) -> None:
    runs["replay range"] = eager_join()
    with pytest.raises(BrokerError):
        call(tmp_path, strategies=("range", "cooperative-sticky"))
    assert [run["strategy"] for run in kept(tmp_path)["strategies"]] == ["range"]
    assert (tmp_path / "report.html").read_text() == "1 drawn"


def test_each_scene_that_was_asked_for_is_measured_and_saved(
    runs: dict[str, RunLogs], tmp_path: Path
) -> None:
    runs["replay range"], runs["backlog range"] = eager_join(), uneven_backlog()
    results = call(tmp_path, scenes=("replay", "backlog"), strategies=("range",))
    assert (len(results["strategies"]), len(results["backlog"])) == (1, 1)
    assert results["settings"]["scenes"] == list(results["seconds"]) == ["replay", "backlog"]
    assert kept(tmp_path) == results
    assert (tmp_path / "report.html").read_text() == "2 drawn"


@needs_full_device
@pytest.mark.parametrize("name", ["results.json", "report.html"])
def test_full_disk_is_one_line_that_names_the_file(
    runs: dict[str, RunLogs], tmp_path: Path, name: str
) -> None:
    runs["replay range"] = eager_join()
    (tmp_path / f"{name}.new").symlink_to(FULL)
    with pytest.raises(KafkaAssignorsError, match=f"cannot write .*{name}: No space left on device"):
        call(tmp_path, strategies=("range",))


@pytest.mark.usefixtures("runs")
def test_failover_is_a_part_of_the_results_and_needs_no_pipeline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A third as many flights as are counted follow."""
    read, run_failover = Mock(return_value=[]), Mock(return_value=failover())
    monkeypatch.setattr(demo_compare, "read_flights", read)
    monkeypatch.setattr(demo_compare, "run_failover", run_failover)
    results = call(tmp_path, scenes=("failover",), flights=30_000, pipeline=True)
    place, _, first, _ = run_failover.call_args.args
    assert (place.folder, first) == (tmp_path / "failover", 30_000)
    assert place.folder.is_dir()
    assert read.call_args.args[1:] == (0.0, 40_000)
    assert (results["failover"], results["pipeline"]) == (failover(), None)
    assert kept(tmp_path) == results


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, runs: dict[str, RunLogs]) -> Mock:
    runs["replay range"] = eager_join()
    result = pipeline() | {"recorded": [recorded("replay", produced=40)], "backtest": None}
    run_pipeline = Mock(return_value=result)
    monkeypatch.setattr(demo_compare, "run_pipeline", run_pipeline)
    return run_pipeline


def test_pipeline_gets_every_run_and_its_results_are_kept(piped: Mock, tmp_path: Path) -> None:
    results = call(tmp_path, strategies=("range",), pipeline=True)
    [run] = piped.call_args.args[0]
    assert (run.scene, run.strategy, run.logs) == ("replay", "range", eager_join())
    assert run.group.startswith("demo-replay-range-")
    assert piped.call_args.kwargs["folder"] == tmp_path / "pipeline"
    assert results["pipeline"] == piped.return_value
    assert kept(tmp_path) == results


@pytest.mark.parametrize(
    ("end", "fault"),
    [(None, "start Spark: no Java"), (BrokerError("the broker ended: killed"), "the broker ended: killed")],
)
def test_failed_pipeline_is_a_fault_and_keeps_the_other_results(
    piped: Mock, tmp_path: Path, end: BrokerError | None, fault: str
) -> None:
    piped.return_value |= {"fault": "start Spark: no Java", "recorded": []}
    results = call(tmp_path, Mock(side_effect=end), strategies=("range",), pipeline=True)
    assert len(results["strategies"]) == 1
    assert faults(results) == [f"the pipeline: {fault}"]
    assert kept(tmp_path) == results
