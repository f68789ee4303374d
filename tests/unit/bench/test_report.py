"""What a run leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import options_of, repeatable
from bench.report import BEGIN, END, PAGE, Report, between_markers
from tests.unit.bench.test_table import ROW


def test_facts_survive_their_file(tmp_path: Path) -> None:
    report = Report({"cores": "2"}, ["--no-java"], rows=[ROW], notes=["Java was not measured: --no-java"])
    report.save(tmp_path / "out" / "bench.json")
    assert Report.load(tmp_path / "out" / "bench.json") == report


def test_the_text_says_how_to_repeat_it() -> None:
    text = Report({"cores": "2", "Python": "3.11"}, ["--phases", "one joins"], [ROW]).markdown()
    assert text.endswith("\n`python -m bench --phases 'one joins'`: cores 2, Python 3.11.\n")
    assert "`make bench`: " in Report({}, [], [ROW]).markdown()


def test_the_page_shows_a_selection_of_a_whole_run() -> None:
    rows = [ROW | {"problem": f"half {size}"} for size in ("100 x 10", "10,000 x 100", "1,000,000 x 2,000")]
    report = Report({}, [], [*rows, ROW | {"problem": "half 10,000 x 100", "phase": "stable"}])
    page, everything = report.markdown(selected=True), report.markdown()
    assert [
        page.count(f"\n| half {size} |") for size in ("100 x 10", "10,000 x 100", "1,000,000 x 2,000")
    ] == [0, 1, 1]
    assert everything.count("\n| half ") == 4
    assert page.count("4 plans compared") == everything.count("4 plans compared") == 2


def test_a_run_of_small_problems_is_shown_whole() -> None:
    report = Report({}, [], [ROW])
    assert report.markdown(selected=True) == report.markdown()


def test_only_arguments_that_decide_what_is_measured_are_repeated() -> None:
    assert repeatable(options_of(["--out", "elsewhere.json", "--docs"])) == []
    chosen = ["--patience", "2", "--problems", "small", "half", "--phases", "fresh", "--no-java"]
    assert repeatable(options_of([*chosen, "--out", "elsewhere.json"])) == chosen


@pytest.mark.parametrize(
    "wrong", [["--patience", "0"], ["--problems", "huge"], ["--phases", "two join"], ["--patience", "nan"]]
)
def test_wrong_arguments_are_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        options_of(wrong)


def test_the_page_has_a_place_for_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    new = between_markers(page, "the table\n")
    assert f"{BEGIN}\nthe table\n\n{END}" in new
    assert new.partition(BEGIN)[0] == page.partition(BEGIN)[0]
    assert new.partition(END)[2] == page.partition(END)[2]
    assert between_markers(new, "the table\n") == new


@pytest.mark.parametrize("page", ["", BEGIN, f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_page_without_a_place_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        between_markers(page, "")


def test_the_benchmark_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of phases have a percent sign in them, which argparse takes for its own."""
    with pytest.raises(SystemExit) as ended:
        options_of(["--help"])
    assert ended.value.code == 0
    assert "10 % leave" in " ".join(capsys.readouterr().out.split())
