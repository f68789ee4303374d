"""``kafka-assignors backtest``: what is given, what is shown.  tests/pipeline runs it."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kafka_assignors.broker import Progress
from kafka_assignors.cli import cli
from kafka_assignors.cli.backtest import command as cli_backtest
from kafka_assignors.cli.backtest.options import parse_moment, read_parameters
from kafka_assignors.cli.backtest.view import backtest_lines, progress_line, show_scenarios
from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.errors import MissingExtraError
from kafka_assignors.pipeline.backtest.phrases import for_each_group, verdict
from kafka_assignors.strategies import STRATEGIES
from tests.unit.cli.printed import printed
from tests.unit.pipeline.backtest.trials import small_results

CONTEXT = click.Context(cli_backtest.command)
PARAM = click.Option(["--param"])


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli_backtest.command, arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--strategies", "rnage"),
            f"unknown 'rnage', expected one of {', '.join(STRATEGIES)}, or your own as MODULE:CLASS",
        ),
        (("--strategies", "range,,sticky"), "--strategies: a value is missing"),
        (("--param", "min_improvement"), "--param min_improvement: expected NAME=VALUE,VALUE"),
        (
            ("--param", "min_improvment=1"),
            "--param min_improvment: unknown, expected one of max_partition_skew",
        ),
        (("--param", "rack=a"), "--param rack: an option of one consumer"),
        (("--param", "min_improvement=2"), "--param min_improvement: expected a number from 0 to below 1"),
        (("--param", "load=all"), "--param load: expected one of lag, forecast, got 'all'"),
        (("--param", "warm_up_s=true"), "--param warm_up_s: expected a number of seconds from 0, got True"),
        (("--param", "warm_up_s=-1"), "--param warm_up_s: expected a number of seconds from 0, got -1"),
        (
            ("--param", f"warm_up_s=1{'0' * 309}"),
            "--param warm_up_s: expected a number of seconds from 0, got 10000",
        ),
        (("--param", "load=lag", "--param", "load=forecast"), "--param load: given twice"),
        (("--param", "replan_s=" + ",".join("1" * 501)), "501 values given, at most 500"),
        (("--strategies", "range", "--param", "min_improvement=0.1"), "none of range has it"),
        (("--members", "2,x"), "'x' is not a whole number above 0"),
        (("--service-rate", "nan"), "'nan' is not a number above 0"),
        (("--churn", "jion@3"), "'jion@3'"),
        (("--since", "yesterday"), "'yesterday' is not like 2026-11-22"),
        (("--since", "2026-11-22", "--until", "2026-11-22"), "--until must be after --since"),
        (
            ("--service-rate", "5", "--recorded-members", "2"),
            "--recorded-members has no effect with --service-rate",
        ),
        (("--replicates", "20", "--churn", ""), "--replicates draws the times of --churn, and there is none"),
        (("--replicates", "0"), "--replicates"),
        (("--output", "xml"), "--output"),
        (("--cores", "0"), "--cores"),
    ],
)
def test_wrong_options_are_usage_errors(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = call(str(tmp_path), *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", "").split())


def test_missing_history_is_a_usage_error() -> None:
    result = call("no/such/folder")
    assert result.exit_code == 2
    assert "HISTORY: no folder 'no/such/folder'" in result.stderr


@pytest.mark.parametrize("module", ["plotly", "pyspark", "pyarrow"])
def test_missing_extra_is_reported_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else object())
    result = call(str(tmp_path), "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, MissingExtraError)
    assert module in str(result.exception)
    assert "kafka-assignors[spark]" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_command_is_listed() -> None:
    assert "backtest" in CliRunner().invoke(cli, ["--help"]).output


def test_parameters_are_choices_or_surroundings_and_their_values_json_or_text() -> None:
    given = ["max_partition_skew=1,null", "rebalance_on_skew=true,false", "load=lag", "warm_up_s=0,2.5"]
    parsed = read_parameters(CONTEXT, PARAM, given)
    choices = {"max_partition_skew": [1, None], "rebalance_on_skew": [True, False], "load": ["lag"]}
    assert parsed.choices == choices
    assert parsed.surroundings == {"warm_up_s": [0.0, 2.5]}


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ("2026-11-22", "2026-11-22T00:00:00+00:00"),
        ("2026-11-22T10:30", "2026-11-22T10:30:00+00:00"),
        ("2026-11-22T10:30Z", "2026-11-22T10:30:00+00:00"),
        ("2026-11-22T10:30+02:00", "2026-11-22T10:30:00+02:00"),
    ],
)
def test_time_without_a_zone_is_utc(given: str, means: str) -> None:
    assert parse_moment(given).isoformat() == means


# --- progress ----------------------------------------------------------------------------------------------


def test_progress_lines_are_5_s_apart_and_one_is_at_the_end() -> None:
    now = 0.0
    stream = io.StringIO()
    with ProgressView(console=Console(file=stream), clock=lambda: now) as view:
        view.step(Progress("starting Spark"))
        view.step(Progress("starting Spark"))
        for done, now in ((1, 1.0), (2, 5.5), (3, 6.0), (4, 6.5)):  # the clock reads it
            show_scenarios(view, done, 4, now)
    assert stream.getvalue().splitlines() == [
        "starting Spark",
        "scenario 2 of 4, 0.4/s, 6 s left",
        "scenario 4 of 4, 0.6/s",
    ]
    assert progress_line(0, 1000, 0.0) == "scenario 0 of 1,000"


def test_terminal_shows_a_bar_with_the_rate() -> None:
    out = io.StringIO()
    with ProgressView(console=Console(file=out, force_terminal=True, width=100)) as view:
        view.step(Progress("reading the history"))
        show_scenarios(view, 50, 1000, 25.0)
    assert "scenarios" in out.getvalue()
    assert "50/1000" in out.getvalue()
    assert "2.0/s" in out.getvalue()


# --- the table ---------------------------------------------------------------------------------------------


def shown(width: int) -> str:
    return "\n".join(printed(backtest_lines(small_results()), width=width))


def test_table_fits_100_columns_uncut() -> None:
    text = shown(100)
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    for candidate in small_results()["candidates"]:
        assert candidate["candidate"] in text
        assert f"{candidate['largest_lag']:,.0f}" in text
        assert f"{candidate['r_score']:,.2f}" in text


def test_recommendation_follows_the_table() -> None:
    text, results = shown(200), small_results()
    assert f"\n{verdict(results)}\n" in text
    assert for_each_group(results)
    for line in for_each_group(results):
        assert line in text
    assert "24 scenarios" in text
    assert "2.5% of the steps of its partitions have unknown arrivals" in text
    for note in results["notes"]:
        assert f"note: {note}" in text


def test_left_out_groups_are_listed() -> None:
    results = small_results()
    results["left_out"] = [{"group": "idle", "why": "it never had a backlog"}]
    assert "left out: idle (it never had a backlog)" in printed(backtest_lines(results), width=100)
