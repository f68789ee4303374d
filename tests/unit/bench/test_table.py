"""The cells of the table."""

from __future__ import annotations

from typing import Any

import pytest

from bench.table import HEAD, SHORT_HEAD, cells, faster, findings, markdown, ms, short_cells, time_cell


def quality(moved: int, squares: int = 100, **more: Any) -> dict[str, Any]:
    """Of a plan."""
    return {"valid": True, "unassigned": 0, "squares": squares, "moved": moved, **more}


def facts(seconds: float, **more: Any) -> dict[str, Any]:
    """Of one that ended."""
    return {"first": 2 * seconds, "assign": seconds, "total": 1.5 * seconds, "runs": 7, **more}


ROW: dict[str, Any] = {
    "problem": "half 100 x 10",
    "phase": "one joins",
    "sticky": facts(0.001, decode=0.0002, memory=1.25, quality=quality(9)),
    "cooperative": facts(0.002, decode=0.0004, memory=12.5, quality=quality(9, unassigned=9)),
    "kafka-python": facts(0.1, quality=quality(9, squares=102)),
    "java sticky": facts(0.004, quality=quality(14)),
    "java cooperative": {"cut": 20.0},
}


def test_a_row_with_everything() -> None:
    assert dict(zip(HEAD, cells(ROW), strict=True)) == {
        "partitions x members": "half 100 x 10",
        "phase": "one joins",
        "decode": "0.20 / 0.40",
        "**sticky**": "1.00 / 1.50 (2.00)",
        "**cooperative**": "2.00 / 3.00 (4.00)",
        "memory": "1.2 / 12",
        "kafka-python sticky": "100 / 150 (200)",
        "Java sticky": "4.00 / 6.00 (8.00)",
        "Java cooperative": "> 20 s",
        "faster than kafka-python": "100",
        "faster than Java": "4.0 / > 6,667",
        "moved": "9 / 9† / 14",
    }
    assert dict(zip(SHORT_HEAD, short_cells(ROW), strict=True)) == {
        "group": "half 100 x 10",
        "phase": "one joins",
        "ours": "1.50 / 3.00",
        "kafka-python": "150",
        "Java": "6.00 / > 20 s",
        "moved": "9 / 9† / 14",
    }


def test_a_row_of_ours_alone() -> None:
    alone = {name: ROW[name] for name in ("problem", "phase", "sticky")}
    assert cells(alone)[4:] == ["-", "1.2 / -", "-", "-", "-", "-", "-", "9 / - / -"]


def test_markdown_has_a_line_a_row() -> None:
    lines = markdown([ROW, ROW]).splitlines()
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {len(HEAD) + 1}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0000123, "0.01"),
        (0.0012345, "1.23"),
        (0.012345, "12.3"),
        (0.09999, "100"),
        (12.3456, "12,346"),
    ],
)
def test_milliseconds(seconds: float | None, text: str) -> None:
    assert ms(seconds) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "-"),
        ({"cut": 20.0}, "> 20 s"),
        ({"skipped": 10.0}, "(> 10 s)"),
        ({"failed": "KeyError"}, "failed"),
        ({"first": 12.0}, "(12,000)"),
        (facts(0.001), "1.00 / 1.50 (2.00)"),
    ],
)
def test_what_somebody_needed(found: dict[str, Any] | None, text: str) -> None:
    assert time_cell(found) == text


@pytest.mark.parametrize(
    ("theirs", "text"),
    [
        (facts(0.001), "1.0"),
        (facts(0.0005), "0.50"),
        (facts(0.0123), "12"),
        ({"first": 3.0}, "2,000"),
        ({"skipped": 3.0}, "> 2,000"),
        ({"failed": "KeyError"}, "-"),
    ],
)
def test_how_many_times_faster(theirs: dict[str, Any], text: str) -> None:
    assert faster(facts(0.001), theirs) == text


def test_what_stands_out_is_said() -> None:
    worse = {
        **ROW,
        "kafka-python": {"failed": "KeyError"},
        "java sticky": facts(1, quality=quality(8, squares=99)),
    }
    assert findings([ROW, worse]) == [
        "kafka-python: 1 plans compared, 1 less fair, 0 fairer, 0 equally fair, moved more, 0 moved less",
        "java sticky: 2 plans compared, 0 less fair, 1 fairer, 1 equally fair, moved more, 0 moved less",
        "half 100 x 10, one joins: kafka-python failed",
    ]
