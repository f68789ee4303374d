from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafka_assignors.cli import demo as cli_demo
from kafka_assignors.demo.settings import Settings
from kafka_assignors.errors import KafkaAssignorsError


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli_demo.command, arguments)


def test_a_wrong_strategy_is_a_usage_error_that_names_the_right_ones() -> None:
    result = call("--strategy", "rnage")
    assert result.exit_code == 2
    for name in ("'rnage'", "'range'", "'cooperative-sticky'", "'sticky'"):
        assert name in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--churn", "jion@3"), "jion@3"),
        (("--churn", "join@99"), "not within the replay"),
        (("--consumers", "1", "--churn", "kill@3"), "without a member"),
        (("--strategy", "range", "--strategy", "range"), "given twice"),
        (("--speed", "0"), "--speed"),
        (("--consumers", "0"), "--consumers"),
        (("--output", "xml"), "--output"),
    ],
)
def test_wrong_options_are_usage_errors(arguments: tuple[str, ...], says: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert says in result.stderr


def test_help_shows_the_defaults() -> None:
    result = call("--help")
    assert result.exit_code == 0
    assert "join@12,leave@26,kill@40" in result.output


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the demo itself; what it was asked to do is kept."""
    seen: dict[str, Any] = {"lost": 0}
    counts = dict.fromkeys(
        ("moved", "least_moves", "duplicates", "rebalances", "peak_lag", "double_owned"), 0
    )
    times = dict.fromkeys(("pause_p50", "pause_max", "drain"), 0.0)

    def compare(settings: Settings, bootstrap: str, folder: Path, view: object) -> dict[str, Any]:
        seen.update(settings=settings, bootstrap=bootstrap, folder=folder)
        one = {"strategy": "range", "produced": 10, "processed": 10, "lost": seen["lost"], "owned_at_end": 18}
        return {"settings": {"partitions": 18}, "strategies": [one | counts | times]}

    monkeypatch.setattr(cli_demo, "compare", compare)
    return seen


def test_options_reach_the_demo(asked: dict[str, Any], tmp_path: Path) -> None:
    arguments = (
        "--strategy",
        "sticky",
        "--consumers",
        "2",
        "--churn",
        "join@1",
        "--duration",
        "3",
        "--work-ms",
        "1",
    )
    result = call("--bootstrap", "h:1", "--out", str(tmp_path), *arguments)
    assert result.exit_code == 0, result.output
    settings = asked["settings"]
    assert (settings.strategies, settings.consumers, settings.work_ms) == (("sticky",), 2, 1.0)
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
