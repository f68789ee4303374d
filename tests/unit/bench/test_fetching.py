"""The table about fetching lag."""

from __future__ import annotations

from pathlib import Path

from bench.__main__ import options_of, repeatable
from bench.lag.fetching import cells, markdown
from bench.report import BEGIN, LAG_MARKERS, PAGE, Report, between_markers

ROW = {
    "partitions": 10_000,
    "runs": 3,
    "cold": [0.5, 0.7, 0.6],
    "warm": [0.2, 0.3, 0.25],
    "admin": [1.5, 1.0, 2.0],
    "batched": 20.0,
    "one by one": 60.0,
    "asked one by one": 200,
}


def test_medians_and_the_longest() -> None:
    assert cells(ROW) == ["10,000", "600 (700)", "250 (300)", "1,500 (2,000)", "~ 20,000", "~ 60,000"]


def test_the_table_says_how_many_runs_and_what_is_extrapolated() -> None:
    text = markdown([ROW])
    assert "medians of 3 runs" in text
    assert "200 partitions" in text
    assert text.endswith("| 10,000 | 600 (700) | 250 (300) | 1,500 (2,000) | ~ 20,000 | ~ 60,000 |\n")


def test_lag_alone_leaves_the_other_table_alone(tmp_path: Path) -> None:
    report = Report({"cores": "2"}, ["--problems", "lag"], lag=[ROW])
    report.save(tmp_path / "bench.json")
    assert Report.load(tmp_path / "bench.json") == report
    assert [path.name for path in report.render(tmp_path / "bench.json")] == ["bench-lag.md"]
    assert "`python -m bench --problems lag`: cores 2." in report.lag_markdown()


def test_the_page_has_a_place_for_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    new = between_markers(page, "the table\n", LAG_MARKERS)
    assert f"{LAG_MARKERS[0]}\nthe table\n" in new
    assert new.partition(BEGIN)[0] == page.partition(BEGIN)[0]


def test_it_may_be_measured_alone() -> None:
    options = options_of(["--problems", "lag"])
    assert (options.table, options.growth) == ([], [])
    assert repeatable(options) == ["--problems", "lag"]
