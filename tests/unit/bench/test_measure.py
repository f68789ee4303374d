"""How often something is run."""

from __future__ import annotations

import time

import pytest

from bench import measure


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only runs when told."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("seconds", "longest", "runs"),
    [
        (0.001, 5, 101),  # no more, however short
        (0.125, 5, 4),  # until there is enough
        (1.5, 5, 3),  # three in any case
        (4, 5, 2),  # but none begins after the longest
        (4, 0, 0),
    ],
)
def test_runs_within_bounds(clock: list[float], seconds: float, longest: float, runs: int) -> None:
    def run() -> None:
        clock[0] += seconds

    assert len(measure.repeated(run, longest)) == runs
