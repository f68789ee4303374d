"""The faults that fail a demo, each in one line."""

from __future__ import annotations

from typing import Any

import pytest

from demo.compare import faults
from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from tests.unit.demo.failover.story import failover
from tests.unit.demo.pipeline.runs import pipeline
from tests.unit.demo.story import eager_join, results_of, uneven_backlog


def whole() -> Any:
    """Results of a demo in which all went well."""
    replay, drain = measure("range", eager_join()), measure_drain("range", uneven_backlog(), work_ms=100)
    results = results_of([replay], [drain], pipeline())
    results["failover"] = stateful = failover()
    stateful["events"][-1]["fault"] = ""
    return results


def test_demo_that_went_well_has_no_fault() -> None:
    assert faults(whole()) == []


@pytest.mark.parametrize(
    ("where", "wrong", "messages"),
    [
        (("strategies", 0), {"lost": 20}, ["range: 20 of 40 records lost"]),
        (
            ("backlog", 0),
            {"lost": 20, "fault": "not drained within 1 s"},
            ["range, backlog: not drained within 1 s", "range, backlog: 20 of 50 records not processed"],
        ),
        (("strategies", 0), {"owned_at_end": 1}, ["range: 1 partitions without an owner at the end"]),
        (("backlog", 0), {"double_owned": 3}, ["range, backlog: 3 times a partition had two owners at once"]),
        (("failover",), {"fault": "not drained within 9 s"}, ["failover: not drained within 9 s"]),
        (
            ("failover", "events", 3),
            {"fault": "not settled within 10 s"},
            ["failover, warm, kill m3: not settled within 10 s"],
        ),
        (("failover",), {"lost": 3}, ["failover: 3 of 121 records were not processed"]),
        (
            ("failover", "counts"),
            {"differences": ["line AA ORD: 5 counted, 6 in the topic"]},
            ["failover, line AA ORD: 5 counted, 6 in the topic"],
        ),
        (("pipeline",), {"fault": "record: no broker answers"}, ["the pipeline: record: no broker answers"]),
        (
            ("pipeline", "recorded", 0),
            {"produced": 48, "committed": 49, "arrived": 47},
            [
                "the pipeline, backlog of range: 48 of 50 records recorded",
                "the pipeline, backlog of range: 49 of 50 records committed",
                "the pipeline, backlog of range: 47 of 50 records in the load model",
            ],
        ),
        (
            ("pipeline", "backtest"),
            {"failures": ["1 of 9: no such thing"]},
            ["the pipeline, back-test: 1 of 9: no such thing"],
        ),
    ],
)
def test_each_fault_is_a_line(
    where: tuple[str | int, ...], wrong: dict[str, Any], messages: list[str]
) -> None:
    results = part = whole()
    for key in where:
        part = part[key]
    part.update(wrong)
    assert faults(results) == messages


def test_unfinished_run_may_have_uncommitted_records() -> None:
    results = whole()
    results["pipeline"]["recorded"][0]["committed"] = 49
    results["backlog"][0]["fault"] = "not drained within 1 s"
    assert not [fault for fault in faults(results) if fault.startswith("the pipeline")]
