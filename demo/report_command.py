"""``python -m demo.report_command FOLDER``: renders the page of a recorded demo or back-test again."""

from __future__ import annotations

import json
from pathlib import Path

import click

from demo.report import EXTRA
from demo.report import render as render_demo
from demo.results import VERSION as DEMO_VERSION
from kafka_assignors.cli import run
from kafka_assignors.errors import HistoryError, KafkaAssignorsError
from kafka_assignors.pipeline.backtest.page import render as render_backtest
from kafka_assignors.pipeline.backtest.results import KIND, VERSION
from kafka_assignors.report.page import require_plotly


@click.command("report")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page.  [default: report.html beside the results]",
)
def command(*, folder: Path, out: Path | None) -> None:
    """Render the HTML report of a recorded run again.

    FOLDER is the folder of a demo or a back-test, which contains results.json; or that file itself.
    """
    path = folder / "results.json" if folder.is_dir() else folder
    page = _render(path)
    target = out or path.with_name("report.html")
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise KafkaAssignorsError(f"cannot write {target}: {error.strerror}") from error
    click.echo(f"report: {target}")


def _render(path: Path) -> str:
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise HistoryError(f"{path}: not whole JSON: half-written, or damaged") from error
    if not isinstance(results, dict):
        raise HistoryError(f"{path}: not the results of a demo or a back-test")
    known, render = (VERSION, render_backtest) if results.get("kind") == KIND else (DEMO_VERSION, render_demo)
    if results.get("version") != known:
        raise HistoryError(f"{path}: version {results.get('version')}, this one reads {known}")
    pipeline = results.get("pipeline")  # of a demo, with a back-test in it that has a version of its own
    inner = pipeline.get("backtest") if isinstance(pipeline, dict) else None
    if isinstance(inner, dict) and inner.get("version") != VERSION:
        raise HistoryError(
            f"{path}: its back-test has version {inner.get('version')}, this one reads {VERSION}"
        )
    require_plotly(EXTRA)
    from jinja2 import UndefinedError

    try:
        return render(results)  # type: ignore[arg-type]  # the version stands for the shape
    except (KeyError, TypeError, IndexError, UndefinedError) as error:
        raise HistoryError(f"{path}: not the results of a demo or a back-test: no {error}") from error


if __name__ == "__main__":
    run(command, "report")
