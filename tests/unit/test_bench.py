"""The benchmark starts, and the figures that integration tests take from it are right."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.pauses.figures import Delivery, Ownership, missing, owned_twice
from tests.support.examples import ROOT

PROGRAMS = (
    "bench",
    "bench.lag.capacity",
    "bench.lag.forecasts",
    "bench.lag.lags",
    "bench.lag.live",
    "bench.lag.record",
    "bench.pauses",
    "bench.pipeline",
    "bench.rebalance_cost",
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_shows_its_options(program: str) -> None:
    """So each module it starts with can be imported."""
    command = [sys.executable, "-m", program, "--help"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout


def test_records_that_no_member_delivered() -> None:
    deliveries = [Delivery(0, "a", 0, 0, 0), Delivery(1, "b", 0, 3, 3), Delivery(2, "b", 0, 2, 2)]
    assert missing(deliveries, {0: 6, 1: 1}) == 4


def test_partition_that_is_assigned_while_another_member_owns_it() -> None:
    first = [
        Ownership(0, "a", frozenset({0, 1}), gained=True),
        Ownership(1, "a", frozenset({0}), gained=False),
    ]
    assert owned_twice([*first, Ownership(2, "b", frozenset({0, 1}), gained=True)]) == [1]
