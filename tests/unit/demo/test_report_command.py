"""The page of a recorded demo or back-test, rendered again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from demo import report_command as cli_report
from demo.figures.measure import measure
from demo.results import VERSION, Results
from kafka_assignors.errors import HistoryError, KafkaAssignorsError
from kafka_assignors.report import page as report_page
from tests.unit.demo.failover.story import failover
from tests.unit.demo.story import SMALL_REPLAY, eager_join
from tests.unit.pipeline.backtest.trials import small_results


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "plotly_js", lambda: "/* plotly */")


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli_report.command, list(map(str, arguments)))


def test_back_test_is_rendered_again_beside_its_results(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(small_results()))
    result = call(tmp_path)
    assert (result.exit_code, result.output) == (0, f"report: {tmp_path / 'report.html'}\n")
    assert "<title>Back-test: g, h</title>" in (tmp_path / "report.html").read_text()


def test_demo_is_rendered_again(tmp_path: Path) -> None:
    results: Results = {
        "version": VERSION,
        "started": "2026-01-02T03:04:05+00:00",
        "dataset": "by hand",
        "settings": {**SMALL_REPLAY, "scenes": ["replay"], "pipeline": False},
        "seconds": {"replay": 100.0},
        "strategies": [measure("range", eager_join())],
        "backlog": [],
        "failover": failover(),
        "pipeline": None,
    }
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert call(tmp_path).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert "What a rebalance costs: range" in page
    assert "How long a stateful group stands still: 6.8 s with standbys, 8.5 s without" in page


def test_file_may_be_named_and_the_page_go_elsewhere(tmp_path: Path) -> None:
    results, page = tmp_path / "mine.json", tmp_path / "page.html"
    results.write_text(json.dumps(small_results()))
    assert call(results, "--out", page).exit_code == 0
    assert "Back-test" in page.read_text()
    result = call(results, "--out", tmp_path / "no" / "page.html")
    assert isinstance(result.exception, KafkaAssignorsError)
    assert "cannot write" in str(result.exception)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ('{"kind": "back', "not whole JSON"),
        ("[]", "not the results of a demo or a back-test"),
        ('{"kind": "backtest", "version": 99}', "version 99, this one reads 2"),
        ('{"kind": "backtest", "version": 2}', "not the results of a demo or a back-test: no 'plots'"),
        ('{"version": 2}', f"version 2, this one reads {VERSION}"),
        (
            f'{{"version": {VERSION}, "pipeline": {{"backtest": {{"version": 1}}}}}}',
            "its back-test has version 1, this one reads 2",
        ),
    ],
)
def test_file_without_a_recorded_run_is_an_error_in_one_line(
    tmp_path: Path, text: str | None, says: str
) -> None:
    if text is not None:
        (tmp_path / "results.json").write_text(text)
    result = call(tmp_path)
    assert isinstance(result.exception, HistoryError)
    assert says in str(result.exception)
    assert not (tmp_path / "report.html").exists()


def test_results_that_lack_a_field_of_the_template_are_an_error(tmp_path: Path) -> None:
    results = small_results()
    del results["run"]["cores"]  # type: ignore[misc]
    (tmp_path / "results.json").write_text(json.dumps(results))
    result = call(tmp_path)
    assert isinstance(result.exception, HistoryError)
    assert "'cores'" in str(result.exception)


def test_missing_folder_is_a_usage_error(tmp_path: Path) -> None:
    assert call(tmp_path / "nothing").exit_code == 2
