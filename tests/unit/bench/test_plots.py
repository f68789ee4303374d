"""The lines of the pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from bench.plots import series, slope_one
from bench.problems import GROWTH, Problem


def row(problem: Problem, phase: str) -> dict[str, Any]:
    """A row in which time goes with the size."""
    seconds = problem.total * problem.members / 1e9
    facts = {"total": seconds, "decode": 2 * seconds}
    return {"problem": problem.name, **asdict(problem), "phase": phase, "sticky": facts}


ROWS = [
    row(problem, phase)
    for problem in [*reversed(GROWTH["half"]), Problem("half", 10, 10, 10)]
    for phase in ("fresh", "stable", "one joins")
]


@pytest.mark.parametrize(
    ("axis", "sizes"),
    [("partitions", [1_000, 10_000, 100_000, 1_000_000]), ("members", [10, 100, 1_000, 4_000])],
)
def test_one_thing_grows_and_the_other_does_not(axis: str, sizes: list[int]) -> None:
    lines = series(ROWS, "half", axis)
    assert list(lines) == ["fresh", "kafka-python decodes", "one joins"]
    for points in lines.values():
        assert [size for size, _ in points] == sizes
    assert lines["kafka-python decodes"] == [(size, 2 * seconds) for size, seconds in lines["one joins"]]


def test_nothing_of_another_kind() -> None:
    assert series(ROWS, "uniform", "members") == {}


def test_the_reference_ends_where_the_slowest_does() -> None:
    assert slope_one([[(10, 1.0), (1000, 3.0)], [(100, 2.0), (1000, 20.0)], []]) == [(10, 0.2), (1000, 20.0)]
