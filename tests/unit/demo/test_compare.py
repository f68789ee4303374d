"""What a comparison leaves behind, whatever happens to one of its runs; the runs themselves are faked."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
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
from tests.unit.demo.story import at, eager_join, uneven_backlog

SETTINGS = Settings(
    scenes=("replay",),
    strategies=("range", "cooperative-sticky"),
    partitions=2,
    consumers=1,
    churn=(),
    pipeline=False,
)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> dict[str, RunLogs]:
    """Logs by strategy; a run of one that is not there fails."""
    found: dict[str, RunLogs] = {}

    def run(_settings: Settings, _flights: object, place: Place, *_: object) -> RunLogs:
        assert place.folder.is_dir()
        name = place.strategy if place.scene == "replay" else f"{place.strategy}, backlog"
        if name not in found:
            raise BrokerError("no broker answers")
        return found[name]

    monkeypatch.setattr(demo_compare, "run", run)
    monkeypatch.setattr(demo_compare, "read_flights", lambda *_: [])
    monkeypatch.setattr(
        demo_compare, "render", lambda results: f"{len(results['strategies'] + results['backlog'])} drawn"
    )
    return found


def call(
    folder: Path, settings: Settings = SETTINGS, check_broker: Callable[[], None] = lambda: None
) -> Results:
    with (folder / "progress").open("w") as stream:
        return compare(settings, "h:1", folder, View(Console(file=stream)), check_broker)


def test_measurements_before_a_failure_are_kept(runs: dict[str, RunLogs], tmp_path: Path) -> None:
    runs["range"] = eager_join()
    with pytest.raises(BrokerError):
        call(tmp_path)
    kept = json.loads((tmp_path / "results.json").read_text())
    assert [one["strategy"] for one in kept["strategies"]] == ["range"]
    assert (tmp_path / "report.html").read_text() == "1 drawn"


def test_both_scenes_are_measured_and_their_faults_told_apart(
    runs: dict[str, RunLogs], tmp_path: Path
) -> None:
    logs = uneven_backlog()
    driver = [*logs.driver[:-1], at(14, "end", note="not drained within 4 s")]
    runs["range"], runs["range, backlog"] = eager_join(), dataclasses.replace(logs, driver=driver)
    settings = Settings(
        scenes=("replay", "backlog"),
        partitions=2,
        consumers=2,
        churn=(),
        strategies=("range",),
        pipeline=False,
    )
    results = call(tmp_path, settings)
    assert [one["strategy"] for one in results["strategies"]] == ["range"]
    assert [one["strategy"] for one in results["backlog"]] == ["range"]
    assert results["settings"]["scenes"] == list(results["seconds"]) == ["replay", "backlog"]
    assert faults(results)[:2] == [
        "range, backlog: not drained within 4 s",
        "range, backlog: 20 of 50 records not processed",
    ]
    assert json.loads((tmp_path / "results.json").read_text()) == results
    assert (tmp_path / "report.html").read_text() == "2 drawn"


def test_only_the_scene_that_was_asked_for_runs(runs: dict[str, RunLogs], tmp_path: Path) -> None:
    runs["range, backlog"] = uneven_backlog()
    settings = Settings(scenes=("backlog",), partitions=3, consumers=2, strategies=("range",), pipeline=False)
    results = call(tmp_path, settings)
    assert (len(results["strategies"]), len(results["backlog"])) == (0, 1)
    assert faults(results) == []


# --- the failover, which is faked, too ----------------------------------------------------------------------

FAILOVER = Settings(scenes=("failover",), flights=900, pipeline=False)


@pytest.fixture
def failed_over(monkeypatch: pytest.MonkeyPatch, runs: dict[str, RunLogs]) -> Mock:
    run_failover = Mock(return_value=failover())
    monkeypatch.setattr(demo_compare, "run_failover", run_failover)
    return run_failover


@pytest.mark.parametrize("spark", [True, False])
def test_the_failover_is_a_part_of_the_results_and_needs_no_pipeline(
    failed_over: Mock, tmp_path: Path, *, spark: bool
) -> None:
    results = call(tmp_path, dataclasses.replace(FAILOVER, pipeline=spark))
    place, _, first, _ = failed_over.call_args.args
    assert (place.folder, first) == (tmp_path / "failover", 900)
    assert place.folder.is_dir()
    assert place.topic.startswith("demo-failover-")
    assert results["failover"] == failover()
    assert results["pipeline"] is None  # it has no strategies' runs to work on
    assert json.loads((tmp_path / "results.json").read_text()) == results


@pytest.mark.usefixtures("failed_over")
def test_enough_flights_are_read_for_those_that_follow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = Mock(return_value=[])
    monkeypatch.setattr(demo_compare, "read_flights", read)
    call(tmp_path, dataclasses.replace(FAILOVER, flights=30_000))
    assert read.call_args.args[1:] == (0.0, 40_000)


@needs_full_device
@pytest.mark.parametrize("name", ["results.json", "report.html"])
def test_a_full_disk_is_one_line_that_names_the_file(
    runs: dict[str, RunLogs], tmp_path: Path, name: str
) -> None:
    runs["range"] = eager_join()
    (tmp_path / f"{name}.new").symlink_to(FULL)
    with pytest.raises(KafkaAssignorsError, match=f"cannot write .*{name}: No space left on device"):
        call(tmp_path)


# --- the pipeline, which is faked, too ----------------------------------------------------------------------

WITH_PIPELINE = dataclasses.replace(SETTINGS, strategies=("range",), pipeline=True)


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, runs: dict[str, RunLogs]) -> Mock:
    runs["range"] = eager_join()
    result = pipeline() | {"recorded": [recorded("replay", produced=40)], "backtest": None}
    run_pipeline = Mock(return_value=result)
    monkeypatch.setattr(demo_compare, "run_pipeline", run_pipeline)
    return run_pipeline


def test_pipeline_gets_every_run_and_its_results_are_kept(piped: Mock, tmp_path: Path) -> None:
    results = call(tmp_path, WITH_PIPELINE)
    [run] = piped.call_args.args[0]
    assert (run.scene, run.strategy, run.logs) == ("replay", "range", eager_join())
    assert run.group.startswith("demo-replay-range-")
    assert piped.call_args.kwargs["folder"] == tmp_path / "pipeline"
    assert results["pipeline"] == piped.return_value
    assert json.loads((tmp_path / "results.json").read_text()) == results
    assert faults(results) == []


def test_failed_pipeline_is_a_fault_and_keeps_the_other_results(piped: Mock, tmp_path: Path) -> None:
    piped.return_value |= {"fault": "start Spark: no Java", "recorded": []}
    results = call(tmp_path, WITH_PIPELINE)
    assert len(results["strategies"]) == 1
    assert faults(results) == ["the pipeline: start Spark: no Java"]
    assert json.loads((tmp_path / "results.json").read_text()) == results


def test_a_broker_that_ends_under_the_pipeline_is_named(piped: Mock, tmp_path: Path) -> None:
    ended = Mock(side_effect=BrokerError("the broker ended during the demo: killed"))
    piped.return_value["fault"] = "record: no broker answers"
    assert faults(call(tmp_path, WITH_PIPELINE, ended))[0] == (
        "the pipeline: the broker ended during the demo: killed"
    )
