"""Plans for stateful members: what is measured, and the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import options_of, repeatable
from bench.report import BEGIN, PAGE, STATEFUL_MARKERS, Report, between_markers
from bench.stateful.problems import EVENTS, GROWTH, STANDBYS, Size, group_of, least_copies, measure
from bench.stateful.table import cells, growth_cells, markdown, short_cells
from tests.support import stateful_oracle

OURS = {
    "first": 0.2, "warm": 0.1, "runs": 5, "rounds": 92, "settled": True, "built": 182, "least": 181,
    "bound": 92, "moved": 90, "handed": 91,
}  # fmt: skip
STREAMS = {
    "first": 1.5, "warm": 0.25, "runs": 5, "rounds": 900, "settled": False, "built": 1_800, "moved": 8,
    "handed": 50_000, "seconds": 60.0,
}  # fmt: skip
ROW: dict[str, Any] = {"tasks": 1_000, "members": 10, "event": "join", "ours": OURS, "streams": STREAMS}


@pytest.mark.parametrize("event", EVENTS)
def test_the_least_is_what_the_solver_finds(event: str) -> None:
    group = group_of(Size(12, 4), event)
    assert least_copies(group) == stateful_oracle.least(group.group(), STANDBYS).copies


@pytest.mark.parametrize(("event", "least", "moved"), [("new", 40, 0), ("join", 10, 5), ("leave", 14, 0)])
def test_a_group_is_played_to_the_end(event: str, least: int, moved: int) -> None:
    """20 tasks, each with a standby, on 3 members."""
    facts = {name: value for said in measure(Size(20, 3), event, play=True) for name, value in said.items()}
    assert facts["settled"]
    assert facts["built"] == facts["least"] == least
    assert facts["rounds"] <= facts["bound"] == -(-least // 2) + 1
    assert facts["moved"] == facts["handed"] == moved
    assert facts["warm"] > 0


def test_only_plans_are_timed_where_growth_is_shown() -> None:
    names = [name for said in measure(Size(20, 3), "join", play=False) for name in said]
    assert names == ["first", "warm", "runs"]


def test_a_line_of_the_table() -> None:
    ours = ["1,000 x 10", "one joins", "100 (200)", "92 (92)", "182 (181)", "90", "91"]
    assert cells(ROW) == [*ours, "250 (1,500)", "> 900", "> 1,800", "-", "> 50,000", "2.5"]
    settled = ROW | {"streams": STREAMS | {"settled": True}}
    assert cells(settled)[8:12] == ["900", "1,800", "8", "50,000"]
    assert cells(ROW | {"streams": {"java": "17", "cut": 300.0}})[7:] == ["> 300 s", *"----", "> 3,000"]
    assert cells(ROW | {"streams": {"failed": "no memory"}})[7:12] == ["failed", *"----"]
    alone = {name: value for name, value in ROW.items() if name != "streams"}
    assert cells(alone) == [*ours, *["-"] * 6]
    assert short_cells(alone)[2:] == ["100 (200)", "92, 182", "-", "-, -"]


def test_the_text_says_when_rounds_were_cut_off_and_how_time_grows() -> None:
    bigger = {"tasks": 10_000, "members": 100, "event": "new", "ours": {"first": 2.0, "warm": 1.0}}
    smaller = bigger | {"tasks": 1_000, "ours": {"first": 0.3, "warm": 0.15}}
    text = markdown([ROW, bigger, smaller])
    assert "after 60 s of rounds" in text
    assert "least copies / 2 + 1" in text
    assert text.endswith("| 1,000 x 100 | 150 | - | - |\n| 10,000 x 100 | 1,000 | - | - |\n")
    assert text.count("| 10,000 x 100 |") == 1
    assert "rounds;" not in markdown([{name: ROW[name] for name in ("tasks", "members", "event", "ours")}])


def test_one_thing_grows_and_the_other_does_not() -> None:
    rows = [{"tasks": size.tasks, "members": size.members, "event": "new", "ours": OURS} for size in GROWTH]
    lines = [line[0] for line in growth_cells([*rows, ROW])]
    assert lines == [
        "1,000 x 100", "10,000 x 100", "100,000 x 100", "10,000 x 10", "10,000 x 1,000",
    ]  # fmt: skip
    assert growth_cells([ROW]) == []


def test_it_may_be_measured_alone_and_has_a_place(tmp_path: Path) -> None:
    options = options_of(["--problems", "stateful"])
    assert (options.table, options.growth) == ([], [])
    assert repeatable(options) == ["--problems", "stateful"]
    report = Report({"cores": "2"}, ["--problems", "stateful"], stateful=[ROW])
    report.save(tmp_path / "bench.json")
    assert Report.load(tmp_path / "bench.json") == report
    assert [path.name for path in report.render(tmp_path / "bench.json")] == ["bench-stateful.md"]
    page = PAGE.read_text(encoding="utf-8")
    new = between_markers(page, report.stateful_markdown(), STATEFUL_MARKERS)
    assert "| 1,000 x 10 | one joins | 100 (200) |" in new
    assert new.partition(BEGIN)[0] == page.partition(BEGIN)[0]
