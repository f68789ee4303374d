"""What must not be, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from demo.failover.results import failover_faults
from tests.unit.demo.failover.story import failover


def test_a_scene_that_went_well_has_no_fault() -> None:
    result = failover()
    result["events"][-1]["fault"] = ""
    assert failover_faults(result) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fault": "not drained within 9 s"}, "failover: not drained within 9 s"),
        ({"lost": 3}, "failover: 3 of 121 records were not processed"),
    ],
)
def test_failure_of_a_scene_is_a_fault(wrong: dict[str, Any], message: str) -> None:
    result: Any = {**failover(), **wrong}
    assert failover_faults(result) == [message, "failover, warm, kill m3: not settled within 10 s"]


def test_counts_that_differ_are_faults() -> None:
    result = failover()
    result["events"].clear()
    result["counts"]["differences"] = ["line AA ORD: 5 counted, 6 in the topic"]
    assert failover_faults(result) == ["failover, line AA ORD: 5 counted, 6 in the topic"]
