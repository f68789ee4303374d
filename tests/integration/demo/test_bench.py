"""The benchmark, on its smallest problem: everybody is measured, and what it leaves behind is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.javapeer import NoJavaError, java_peer
from bench.plots import draw
from bench.programs import ROOT
from bench.report import Report
from bench.run import JAVA, JUDGED, KAFKA_PYTHON, OURS
from bench.stateful.streams_peer import streams_peer
from tests.unit.bench.test_plots import ROWS

pytestmark = pytest.mark.long

LONGEST_S = 600


def bench(*arguments: str) -> str:
    """The benchmark's output."""
    command = [sys.executable, "-m", "bench", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode:
        pytest.fail(f"ended with {done.returncode}: {done.stderr[-4000:]}", pytrace=False)
    return done.stdout


def why_no_java(folder: Path) -> str | None:
    """Without a JDK, the reason is printed."""
    try:
        java_peer(folder)
    except NoJavaError as reason:
        return str(reason)
    return None


def test_every_planner_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    bench("--problems", "half 100 x", "--phases", "fresh", "one joins", "--patience", "60", "--out", str(out))
    report = Report.load(out)
    assert [row["phase"] for row in report.rows] == ["fresh", "one joins"]
    no_java = why_no_java(tmp_path)
    there = [*OURS, KAFKA_PYTHON, *(JAVA if no_java is None else ())]
    assert report.notes == ([] if no_java is None else [f"Java was not measured: {no_java}"])
    for row in report.rows:
        for planner in there:
            assert 0 < row[planner]["assign"] < row[planner]["total"]
        for planner in filter(there.__contains__, JUDGED):
            assert row[planner]["quality"]["valid"]
            assert row[planner]["quality"]["unassigned"] == 0
            assert row[planner]["quality"]["squares"] >= row["sticky"]["quality"]["squares"]
    text = out.with_suffix(".md").read_text(encoding="utf-8")
    assert text.count("| half 100 x 10 |") == 2
    out.with_suffix(".md").unlink()
    assert "written: " in bench("--render", "--out", str(out))
    assert out.with_suffix(".md").read_text(encoding="utf-8") == text


def test_missing_java_is_reported(tmp_path: Path) -> None:
    arguments = ["--problems", "uniform 100 x", "--phases", "fresh", "--no-java"]
    assert "Java was not measured: --no-java" in bench(*arguments, "--out", str(tmp_path / "bench.json"))


@pytest.mark.parametrize("event", ["new", "join", "leave"])
def test_kafka_streams_rounds_are_measured(tmp_path: Path, event: str) -> None:
    """To the end, in a group this small."""
    try:
        streams = streams_peer(tmp_path)
    except NoJavaError as reason:
        pytest.skip(str(reason))
    facts = streams.play(20, 3, event, standbys=1, warmups=2, patience=10)
    assert facts["settled"]
    assert facts["warm"] > 0
    assert facts["built"] >= {"new": 40, "join": 10, "leave": 13}[event]
    assert (facts["rounds"] == 1) == (event == "new")
    assert (facts["moved"] > 0) == (event != "new")
    assert facts["handed"] >= facts["moved"]


def test_pictures_are_reproducible(tmp_path: Path) -> None:
    first, second = (draw(ROWS, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == ["bench-growth-half.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
