"""What must not be, and what is said of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from demo.failover.counts import differences
from demo.failover.results import failover_faults
from tests.unit.demo.failover.story import failover


def test_counts_that_agree_less_their_doubles_are_no_difference() -> None:
    assert list(differences("carrier", {"AA": (5, 0), "UA": (7, 2)}, Counter(AA=5, UA=5))) == []


def test_each_count_that_differs_is_named() -> None:
    stored = {"AA": (5, 0), "UA": (1_007, 2), "ZZ": (1, 0)}
    assert list(differences("carrier", stored, Counter(AA=6, UA=1_004, DL=3))) == [
        "carrier AA: 5 counted, 6 in the topic",
        "carrier DL: 0 counted, 3 in the topic",
        "carrier UA: 1,007 less 2 doubles counted, 1,004 in the topic",
        "carrier ZZ: 1 counted, 0 in the topic",
    ]


def test_a_scene_that_went_well_has_no_fault() -> None:
    result = failover()
    result["events"][-1]["fault"] = ""
    assert failover_faults(result) == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"fault": "not drained within 9 s"}, "failover: not drained within 9 s"),
        ({"lost": 3}, "failover: 3 of 121 records were not processed"),
    ],
)
def test_what_went_wrong_is_a_fault(wrong: dict[str, Any], says: str) -> None:
    result: Any = {**failover(), **wrong}
    assert failover_faults(result) == [says, "failover, warm, kill m3: not settled within 10 s"]


def test_counts_that_differ_or_were_not_compared_are_faults() -> None:
    result = failover()
    result["events"].clear()
    result["counts"]["fault"] = "no Java"
    result["counts"]["differences"] = ["carrier AA: 5 counted, 6 in the topic"]
    assert failover_faults(result) == [
        "failover, the counts: no Java",
        "failover, carrier AA: 5 counted, 6 in the topic",
    ]
